/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The price of a call: what the cost model says of a plan on the channels of this communicator.
 * Everything that enters is equal on all ranks. */
#ifndef WEFT_COMM_SELECT_PRICE_H
#define WEFT_COMM_SELECT_PRICE_H

#include "core/comm/comm.h"
#include "core/plan/plan_cache.h"

/* A candidate with all that its price depends on. */
typedef struct weft_priced {
    const weft_algo_variant_t *variant;
    weft_cost_t cost;
    weft_cost_model_t model;
    weft_cost_crowd_t crowd;
    uint64_t slice_most;  /* bytes, so that the plan's slots fit the pool */
    uint32_t slices_most; /* of a chunk, so that the plan has the slots that it needs for each */
    uint32_t k;
    uint32_t channels;
    bool whole; /* runs are whole if all buffers lie in windows, of which there are some */
    uint64_t fingerprint;
} weft_priced_t;

/* Returns whether runs of the call can be whole, if the plan lets the ranks meet. */
bool weft_price_may_be_whole(const weft_comm_state_t *state, const weft_args_t *args);

/* Gathers what the price of the call by this plan depends on. */
void weft_price_make(const weft_comm_state_t *state, const weft_args_t *args,
                     const weft_algo_variant_t *variant, const weft_plan_entry_t *entry,
                     weft_priced_t *priced);

/* Returns the seconds of the call: the tuner's cost function. candidate->core is a weft_priced_t.
 * INFINITY: the slots would not fit the pool, or not be enough for so many slices. */
double weft_price_call(const weft_tuner_call_t *call, const weft_tuner_candidate_t *candidate,
                       uint32_t slices, uint64_t slice_bytes);

/* Returns the protocol between devices by which weft_price_call() is least. */
weft_kernel_protocol_t weft_price_protocol(const weft_tuner_call_t *call,
                                           const weft_tuner_candidate_t *candidate, uint32_t slices,
                                           uint64_t slice_bytes);

/* Returns the bytes of the longest slice of such a call. */
uint64_t weft_price_longest(uint64_t bytes, uint32_t parts, uint64_t slice_bytes);

/* Returns the bytes of a slice of a plan whose messages have at most `bytes`: the chunks that a
 * MOVE packs share them. */
uint64_t weft_price_slice(const weft_cost_t *cost, uint64_t bytes);

/* Returns the seconds of a message to rank `peer`. */
double weft_price_message(const weft_comm_state_t *state, uint32_t peer, uint64_t bytes);

/* Returns as many channels as the size is worth. A plan with several lanes brings some of the
 * parallelism itself. */
uint32_t weft_price_channels(const weft_comm_state_t *state, const weft_args_t *args,
                             uint32_t lanes);

#endif
