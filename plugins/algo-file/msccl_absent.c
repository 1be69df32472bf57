/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Takes the place of msccl_parse.c where expat was not found at build time. */
#include "msccl.h"
#include "msccl_parse.h"

weft_status_t msccl_parse(msccl_program_t *program, const char *text, size_t bytes)
{
    (void)text, (void)bytes;
    return program->host->set_error(program->host, WEFT_ERR_UNSUPPORTED, 0,
                                    "%s: is XML, and this algo-file was built without expat; "
                                    "install libexpat1-dev and build again",
                                    program->path);
}
