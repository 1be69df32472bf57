/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads a program as a whole, part by part, and destroys it. */
#ifndef WEFT_ALGO_FILE_MSCCL_READ_H
#define WEFT_ALGO_FILE_MSCCL_READ_H

#include "msccl.h"

/* Reads a whole file. `path` must live as long as the program. ERR_PLAN with path and line. */
weft_status_t msccl_read(const weft_host_t *host, const char *path, const char *text, size_t bytes,
                         msccl_program_t **program_p);
void msccl_destroy(msccl_program_t *program);

#endif
