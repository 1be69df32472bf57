/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranges of sizes that are served alike. */
#ifndef WEFT_TOOLS_WHY_ROWS_H
#define WEFT_TOOLS_WHY_ROWS_H

#include "core/comm/why.h"

#define WHY_ROWS_MAX 512

/* One range, with the choice at both of its ends. */
typedef struct why_row {
    uint64_t counts[2];
    weft_select_choice_t choices[2];
} why_row_t;

typedef struct why_rows {
    why_row_t *list; /* room for WHY_ROWS_MAX */
    uint32_t count;
} why_rows_t;

/* The sizes of one block in bytes: first, last, and how many times as large the next one is. */
typedef struct why_sizes {
    uint64_t first, last;
    double factor;
} why_sizes_t;

/* Fills the rows for the call, of which the count is not read. Where two sizes differ, the border
 * is sought between them. */
weft_status_t why_rows_make(weft_comm_t *comm, const weft_args_t *call, const why_sizes_t *sizes,
                            why_rows_t *rows);

/* Returns a number that tells two tables apart. */
uint64_t why_rows_hash(const why_rows_t *rows);

#endif
