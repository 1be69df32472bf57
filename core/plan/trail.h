/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the values of an abstract run come from: which MOVE folded each of them last, and how
 * often each rank is in it. Only a proof that has failed is made again with a trail, so a proof
 * that holds pays nothing for it. Private to core/plan. */
#ifndef WEFT_PLAN_TRAIL_H
#define WEFT_PLAN_TRAIL_H

#include "core/plan/run_state.h"

/* Inputs that a value is made of, as pass and chunk of IN. */
#define WEFT_TRAIL_NOTHING UINT64_MAX
#define WEFT_TRAIL_MIXED (UINT64_MAX - 1)

typedef struct weft_trail_value {
    weft_plan_place_t made; /* folded there last; if it never was, read from IN there */
    uint32_t writer;        /* lane that put it where it is */
    uint32_t finals;        /* most FINAL moves that a part of it has passed */
    uint64_t input;         /* see weft_trail_input(); NOTHING, MIXED: of several chunks */
    bool folded;
} weft_trail_value_t;

/* Values are numbered: cells of the run, then slots of its queues, then the MOVE in progress. */
struct weft_run_trail {
    weft_trail_value_t *values;
    /* For each value three sets of ranks, of `words` each: in it once at least, twice, three times.
     * NULL: too many to be counted. */
    uint64_t *ranks;
    uint32_t words;
    uint64_t now; /* number of the MOVE in progress */
};

/* Begins the trail run->trail, after queues have been paired. False: no memory. */
bool weft_trail_init(weft_run_t *run);
void weft_trail_fini(weft_run_t *run);

/* A slice is about to move; it has moved. */
void weft_trail_read(weft_run_t *run, const weft_run_lane_t *lane, const weft_run_member_t *member);
void weft_trail_write(weft_run_t *run, const weft_run_lane_t *lane,
                      const weft_run_member_t *member);

/* Returns where the value of a cell comes from; valid until the next slice moves. */
const weft_trail_value_t *weft_trail_of(const weft_run_t *run, uint64_t cell);
/* Names a chunk of IN in a pass. */
uint64_t weft_trail_input(const weft_run_t *run, uint32_t chunk, uint32_t pass);
/* Says which ranks are missing in the value of a cell, and which are in it more than once. Returns
 * the bytes written, less than `bytes`; 0: each rank is in it once, or nobody counted. */
size_t weft_trail_word_ranks(const weft_run_t *run, uint64_t cell, char *text, size_t bytes);

#endif
