/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The files of this plugin and what they hold. */
#ifndef ALGO_FILE_FILE_H
#define ALGO_FILE_FILE_H

#include "msccl.h"

#define FILE_BYTES_MAX (64u << 20)

/* One listed file. */
typedef struct file_source {
    struct file_source *next;
    char *path;
    char *text;
    size_t bytes;
    uint64_t hash;            /* of the contents */
    msccl_program_t *program; /* NULL: weft's own text */
} file_source_t;

/* The plans of all ranks of one shape. */
typedef struct file_plans {
    struct file_plans *next;
    weft_coll_t coll;
    uint32_t nranks, root;
    const file_source_t *source;
    weft_plan_text_entry_t *heads; /* of each rank; NULL for XML */
} file_plans_t;

/* Reads a whole file. ERR_CONFIG with the path: not readable, no file, empty, too large. */
weft_status_t file_source_open(const weft_host_t *host, const char *path, size_t length,
                               file_source_t **source_p);
void file_source_close(const weft_host_t *host, file_source_t *source);

/* Puts the plans of a text in front of the list. ERR_PLAN with path and line. */
weft_status_t file_text_read(const weft_host_t *host, const weft_plan_text_service_t *service,
                             const file_source_t *source, file_plans_t **list_p);
/* The only XML program of a file. */
weft_status_t file_msccl_read(const weft_host_t *host, file_source_t *source,
                              file_plans_t **list_p);

/* Puts plans in front, unless the list has some of the same shape. */
weft_status_t file_plans_add(const weft_host_t *host, file_plans_t *plans, file_plans_t **list_p);
void file_plans_destroy(const weft_host_t *host, file_plans_t *plans);

weft_plan_text_t file_text_of(const file_source_t *source);

#endif
