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

/* What a call and the tuner's answer say of its cut. */
typedef struct weft_price_parts {
    weft_coll_t coll;
    weft_dtype_t dtype;
    uint64_t count; /* elements of a block; not read for vector collectives */
    uint32_t k, slices;
    uint64_t slice_bytes; /* of a message, which the chunks that a MOVE packs share */
    uint32_t channels;
} weft_price_parts_t;

/* Stores how a run is cut: for its price as for its program. */
void weft_price_segment(const weft_cost_t *cost, const weft_price_parts_t *parts,
                        weft_segmentation_t *cut);

/* Returns the bytes of the longest slice of the call, if its run is not whole. */
uint64_t weft_price_longest(const weft_tuner_call_t *call, const weft_tuner_candidate_t *candidate,
                            uint32_t slices, uint64_t slice_bytes);

/* Returns the seconds of a message to rank `peer`. */
double weft_price_message(const weft_comm_state_t *state, uint32_t peer, uint64_t bytes);

/* Returns as many channels as the size is `worth`, of `most`. A plan with several lanes brings some
 * of the parallelism itself. */
uint32_t weft_price_channels_of(uint32_t most, uint32_t lanes, uint64_t worth);

#endif
