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

#endif
