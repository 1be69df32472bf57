/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files hold: the plans of all ranks of some shapes, each shape once. */
#ifndef WEFT_ALGO_FILE_FILE_PLANS_H
#define WEFT_ALGO_FILE_FILE_PLANS_H

#include "file.h"

/* Puts the plans of a text in front of the list. ERR_PLAN with path and line. */
weft_status_t file_text_read(const weft_host_t *host, const weft_plan_text_service_t *service,
                             const file_source_t *source, file_plans_t **list_p);
/* The only XML program of a file. */
weft_status_t file_msccl_read(const weft_host_t *host, file_source_t *source,
                              file_plans_t **list_p);
void file_plans_destroy(const weft_host_t *host, file_plans_t *plans);
weft_plan_text_t file_text_of(const file_source_t *source);

#endif
