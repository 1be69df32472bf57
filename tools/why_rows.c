/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See why_rows.h. */
#include "tools/why_rows.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/error.h"
#include "core/plan/hash.h"

#define BORDER 64u /* a border is found to one in so many */

static bool why_rows_are_alike(const weft_select_choice_t *a, const weft_select_choice_t *b)
{
    return strcmp(a->algo, b->algo) == 0 && a->tuner.slices == b->tuner.slices &&
           a->tuner.channels == b->tuner.channels && strcmp(a->travel, b->travel) == 0 &&
           strcmp(a->tuner.rule, b->tuner.rule) == 0;
}

static weft_status_t why_rows_ask(weft_comm_t *comm, const weft_args_t *call, uint64_t count,
                                  weft_select_choice_t *choice)
{
    weft_args_t args = *call;
    args.count = count;
    return weft_comm_why(comm, &args, choice);
}

/* Moves the end of the row up as far as it holds, below a count where it does not; *next is the
 * choice right behind it, for *count_p elements. */
static weft_status_t why_rows_find_border(weft_comm_t *comm, const weft_args_t *call,
                                          why_row_t *row, uint64_t *count_p,
                                          weft_select_choice_t *next)
{
    while (*count_p - row->counts[1] > 1 + row->counts[1] / BORDER) {
        weft_select_choice_t middle;
        uint64_t count = row->counts[1] + (*count_p - row->counts[1]) / 2;
        weft_status_t status = why_rows_ask(comm, call, count, &middle);
        if (status != WEFT_OK) {
            return status;
        }
        if (why_rows_are_alike(&middle, &row->choices[1])) {
            row->counts[1] = count;
            row->choices[1] = middle;
        } else {
            *count_p = count;
            *next = middle;
        }
    }
    return WEFT_OK;
}

static uint64_t why_rows_next(uint64_t count, const why_sizes_t *sizes, uint64_t last)
{
    uint64_t next = (uint64_t)((double)count * sizes->factor);
    next = next > count ? next : count + 1;
    return count < last && next > last ? last : next;
}

/* Takes the choice for `count` in: it extends the last row, or begins others. */
static weft_status_t why_rows_add(weft_comm_t *comm, const weft_args_t *call, why_rows_t *rows,
                                  uint64_t count, weft_select_choice_t choice)
{
    for (;;) {
        why_row_t *row = rows->count > 0 ? &rows->list[rows->count - 1] : NULL;
        if (row != NULL && why_rows_are_alike(&choice, &row->choices[1])) {
            row->counts[1] = count;
            row->choices[1] = choice;
            return WEFT_OK;
        }
        uint64_t border = count;
        weft_select_choice_t behind = choice;
        if (row != NULL) {
            weft_status_t status = why_rows_find_border(comm, call, row, &border, &behind);
            if (status != WEFT_OK) {
                return status;
            }
        }
        if (rows->count == WHY_ROWS_MAX) {
            return weft_fail(WEFT_ERR_RESOURCE, 0, "more than %d ranges of sizes", WHY_ROWS_MAX);
        }
        rows->list[rows->count++] =
            (why_row_t){.counts = {border, border}, .choices = {behind, behind}};
    }
}

weft_status_t why_rows_make(weft_comm_t *comm, const weft_args_t *call, const why_sizes_t *sizes,
                            why_rows_t *rows)
{
    uint64_t element = weft_dtype_size(call->dtype);
    uint64_t last = sizes->last / element, count = sizes->first / element;
    rows->count = 0;
    count = count > 0 ? count : 1;
    last = last > count ? last : count;
    for (; count <= last; count = why_rows_next(count, sizes, last)) {
        weft_select_choice_t choice;
        weft_status_t status = why_rows_ask(comm, call, count, &choice);
        if (status == WEFT_OK) {
            status = why_rows_add(comm, call, rows, count, choice);
        }
        if (status != WEFT_OK) {
            return status;
        }
    }
    return WEFT_OK;
}

uint64_t why_rows_hash(const why_rows_t *rows)
{
    uint64_t hash = WEFT_HASH_START;
    for (uint32_t i = 0; i < rows->count; i++) {
        const why_row_t *row = &rows->list[i];
        const weft_tuner_choice_t *tuner = &row->choices[0].tuner;
        hash = weft_hash_add(weft_hash_add(hash, row->counts[0]), row->counts[1]);
        hash = weft_hash_text(hash, row->choices[0].algo);
        hash = weft_hash_add(weft_hash_add(hash, tuner->slices), tuner->channels);
        hash = weft_hash_add(hash, tuner->slice_bytes);
        hash = weft_hash_text(hash, row->choices[0].travel);
    }
    return hash;
}
