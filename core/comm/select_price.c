/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From the figures of a plan to the seconds of a call. */
#include "core/comm/select_price.h"

#include <math.h>

#include "core/base/coll.h"
#include "core/comm/vectors.h"

/* Plans that fit the pool of slots together. */
#define POOL_PLANS 4u

/* Smaller slices than a page save no memory. */
#define SLICE_LEAST 4096u

uint64_t weft_price_slice(const weft_cost_t *cost, uint64_t bytes)
{
    uint64_t lines = cost->packed > 1 ? bytes / cost->packed / WEFT_LINE : 0;
    return cost->packed <= 1 ? bytes : lines > 0 ? lines * WEFT_LINE : WEFT_LINE;
}

/* Each channel carries its part at the speed that the device or the wire gives to one alone. */
double weft_price_call(const weft_tuner_call_t *call, const weft_tuner_candidate_t *candidate,
                       uint32_t slices, uint64_t slice_bytes)
{
    const weft_priced_t *p = candidate->core;
    uint32_t channels = candidate->channels > 0 ? candidate->channels : 1;
    uint64_t part = (call->bytes + channels - 1) / channels;
    if (slice_bytes > p->slice_most || slices > p->slices_most) {
        return INFINITY;
    }
    slice_bytes = weft_price_slice(&p->cost, slice_bytes);
    weft_cost_model_t model = p->model;
    model.gamma = weft_cost_gamma(&p->cost, &p->model, &p->crowd, call->bytes, p->k);
    weft_cost_share(&model, channels);
    double alone = weft_cost_time(&p->cost, &model, part, p->k, slices, slice_bytes);
    double crowd =
        weft_cost_crowd_time(&p->cost, &model, &p->crowd, part, p->k, slices, slice_bytes);
    double wire = weft_cost_wire_time(&p->cost, &model, call->bytes, p->k);
    double least = crowd > wire ? crowd : wire;
    return model.launch + (alone > least ? alone : least) + weft_cost_links(&p->cost, &p->crowd);
}

/* One copy into slots and one out of them, which overlap but for a slice; stripes beside each other. */
double weft_price_message(const weft_comm_state_t *state, uint32_t peer, uint64_t bytes)
{
    const weft_family_t *family = state->self.family;
    const weft_stripes_t cut = weft_comm_stripes(state, bytes);
    weft_cost_model_t model = family->model;
    weft_cost_share(&model, cut.count);
    const weft_cost_edge_t *edge =
        &model.level[weft_cost_level(weft_identity_hosts(&state->self), state->self.rank, peer)];
    double copy = family->gamma[WEFT_FIGURES_COPY];
    uint64_t part = (bytes + cut.count - 1) / cut.count;
    uint64_t slices = part / cut.slice + (part % cut.slice != 0);
    uint64_t slice = part < cut.slice ? part : cut.slice;
    double more = slices > 1 ? (double)(slices - 1) * edge->overhead : 0;
    return model.launch + edge->alpha + more + (double)part * (edge->beta + copy) +
           (double)slice * copy;
}

static weft_cost_crowd_t price_crowd(const weft_comm_state_t *state)
{
    const weft_comm_identity_t *self = &state->self;
    return (weft_cost_crowd_t){.ranks = self->crowd,
                               .cores = self->family->cores,
                               .part = (double)self->crowd / self->nranks};
}

/* The rank with most peers holds slots for all of them. One plan takes a part of the pool, so that
 * a few that alternate do not take it from each other. */
static uint64_t price_slice_most(const weft_comm_state_t *state, const weft_cost_t *cost)
{
    const weft_family_t *family = state->self.family;
    uint64_t pool = family->settings.exec.pool_bytes;
    uint64_t slots = (uint64_t)family->slots * (cost->fan > 0 ? cost->fan : 1);
    uint64_t most =
        pool == 0 ? family->slot_bytes : pool / POOL_PLANS / slots / WEFT_LINE * WEFT_LINE;
    most = most < SLICE_LEAST ? SLICE_LEAST : most;
    return most < family->slot_bytes ? most : family->slot_bytes;
}

/* One slice is never ruled out: that there are too few slots even for that is what the proof says. */
static uint32_t price_slices_most(const weft_comm_state_t *state, const weft_algo_loaded_t *algo)
{
    uint32_t depth = algo->depth, slots = state->self.family->slots;
    return depth >= slots ? 1 : slots / depth;
}

uint32_t weft_price_channels(const weft_comm_state_t *state, const weft_args_t *args,
                             uint32_t lanes)
{
    uint64_t bytes = args->count * weft_dtype_size(args->dtype);
    uint64_t worth = bytes / state->self.family->settings.plan.channel_bytes;
    uint64_t most = lanes > 1 ? weft_comm_channels(state) / lanes : weft_comm_channels(state);
    if (weft_vectors_need(args->coll) != WEFT_VECTOR_PAIRS && worth < most) {
        most = worth;
    }
    return most > 0 ? (uint32_t)most : 1;
}

void weft_price_make(const weft_comm_state_t *state, const weft_args_t *args,
                     const weft_algo_variant_t *variant, const weft_plan_entry_t *entry,
                     weft_priced_t *priced)
{
    bool once = entry->report.vector == WEFT_VECTOR_PASSED && weft_coll_has_vectors(args->coll);
    *priced =
        (weft_priced_t){.variant = variant,
                        .cost = entry->cost,
                        .model = state->self.family->model,
                        .crowd = price_crowd(state),
                        .slice_most = price_slice_most(state, &entry->cost),
                        .slices_most = price_slices_most(state, variant->algo),
                        .k = entry->plan->k,
                        .channels = once ? 1 : weft_price_channels(state, args, entry->cost.lanes),
                        .fingerprint = entry->report.fingerprint};
    priced->model.gamma =
        state->self.family
            ->gamma[weft_coll_reduces(args->coll) ? (uint32_t)args->dtype : WEFT_FIGURES_COPY];
}
