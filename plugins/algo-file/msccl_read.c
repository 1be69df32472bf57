/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads a program as a whole, part by part, and destroys it. */
#include "msccl_read.h"

#include "msccl.h"
#include "msccl_check.h"
#include "msccl_emit.h"
#include "msccl_parse.h"
#include "msccl_run.h"

void msccl_destroy(msccl_program_t *program)
{
    if (program == NULL) {
        return;
    }
    const weft_host_t *host = program->host;
    host->free(host, program->gpus);
    host->free(host, program->tbs);
    host->free(host, program->steps);
    host->free(host, program->marks);
    host->free(host, program->cells);
    host->free(host, program);
}

weft_status_t msccl_read(const weft_host_t *host, const char *path, const char *text, size_t bytes,
                         msccl_program_t **program_p)
{
    msccl_program_t *program = host->alloc(host, sizeof *program, 0);
    if (program == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    program->host = host;
    program->path = path;
    weft_status_t status = msccl_parse(program, text, bytes);
    status = status != WEFT_OK ? status : msccl_check(program);
    status = status != WEFT_OK ? status : msccl_run(program);
    status = status != WEFT_OK ? status : msccl_layout(program);
    if (status != WEFT_OK) {
        msccl_destroy(program);
        return status;
    }
    *program_p = program;
    return WEFT_OK;
}
