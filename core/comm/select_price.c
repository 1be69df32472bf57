/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From the figures of a plan to the seconds of a call. */
#include "core/comm/select_price.h"

#include <math.h>

#include "core/base/coll.h"
#include "core/comm/vectors.h"
#include "core/plan/meeting.h"

/* Plans that fit the pool of slots together. */
#define POOL_PLANS 4u

/* Smaller slices than a page save no memory. */
#define SLICE_LEAST 4096u

/* Makes the better of two cuts win where whole runs cost the same by both. */
#define WHOLE_TIE 1e-6

static uint64_t price_slice(const weft_cost_t *cost, uint64_t bytes)
{
    uint64_t lines = cost->packed > 1 ? bytes / cost->packed / WEFT_LINE : 0;
    return cost->packed <= 1 ? bytes : lines > 0 ? lines * WEFT_LINE : WEFT_LINE;
}

void weft_price_segment(const weft_cost_t *cost, const weft_price_parts_t *parts,
                        weft_segmentation_t *cut)
{
    const size_t elem = weft_dtype_size(parts->dtype);
    const weft_segmentation_params_t params = {.k = parts->k,
                                               .slices = parts->slices,
                                               .slice_bytes = price_slice(cost, parts->slice_bytes),
                                               .channels = parts->channels};
    if (weft_coll_has_vectors(parts->coll)) {
        weft_segmentation_set_largest(cut, elem, &params);
    } else {
        weft_segmentation_set(cut, parts->count, elem, &params);
    }
}

/* How the blocks of a call are cut, and how slices travel. */
typedef struct price_cut {
    uint64_t bytes, part; /* of a block, and of it on one channel */
    uint32_t channels, slices;
    uint64_t slice_bytes;
    uint64_t longest; /* bytes of a slice */
    weft_kernel_protocol_t protocol;
} price_cut_t;

static uint32_t price_candidate_channels(const weft_tuner_candidate_t *candidate)
{
    return candidate->channels > 0 ? candidate->channels : 1;
}

uint64_t weft_price_longest(const weft_tuner_call_t *call, const weft_tuner_candidate_t *candidate,
                            uint32_t slices, uint64_t slice_bytes)
{
    const weft_priced_t *p = candidate->core;
    const size_t elem = weft_dtype_size(call->dtype);
    const weft_price_parts_t parts = {.coll = call->coll,
                                      .dtype = call->dtype,
                                      .count = call->bytes / elem,
                                      .k = p->k,
                                      .slices = slices,
                                      .slice_bytes = slice_bytes,
                                      .channels = price_candidate_channels(candidate)};
    weft_segmentation_t cut;
    weft_price_segment(&p->cost, &parts, &cut);
    return weft_segmentation_longest(&cut) * elem;
}

static price_cut_t price_cut(const weft_tuner_call_t *call, const weft_tuner_candidate_t *candidate,
                             uint32_t slices, uint64_t slice_bytes)
{
    const weft_priced_t *p = candidate->core;
    const uint32_t channels = price_candidate_channels(candidate);
    return (price_cut_t){.bytes = call->bytes,
                         .part = (call->bytes + channels - 1) / channels,
                         .channels = channels,
                         .slices = slices,
                         .slice_bytes = price_slice(&p->cost, slice_bytes),
                         .longest = weft_price_longest(call, candidate, slices, slice_bytes)};
}

/* A whole run does one pass, in which a chunk is a slice. */
static price_cut_t price_cut_by(const price_cut_t *sliced, weft_kernel_protocol_t protocol,
                                uint32_t k)
{
    price_cut_t cut = *sliced;
    cut.protocol = protocol;
    if (protocol == WEFT_KERNEL_PROTOCOL_WHOLE) {
        cut.slices = 1;
        cut.slice_bytes = cut.longest = (cut.part + k - 1) / k;
    }
    return cut;
}

static bool price_may(const weft_priced_t *p, const price_cut_t *cut)
{
    return (cut->protocol != WEFT_KERNEL_PROTOCOL_WHOLE || p->whole) &&
           weft_cost_may_travel(&p->model, cut->protocol, cut->longest);
}

/* What a whole run sends is not copied into slots: only who reads it touches it. */
static void price_leave_slots_out(weft_cost_work_t *work)
{
    double read = work->touched - work->edges[WEFT_LEVEL_INSIDE], half = work->touched / 2;
    work->touched = read > half ? read : half;
}

/* Each channel carries its part at the speed that the device or the wire gives to one alone. */
static double price_by(const weft_priced_t *p, const price_cut_t *cut)
{
    weft_cost_model_t model = p->model;
    weft_cost_t cost = p->cost;
    if (!price_may(p, cut)) {
        return INFINITY;
    }
    if (cut->protocol == WEFT_KERNEL_PROTOCOL_WHOLE) {
        price_leave_slots_out(&cost.fill);
        price_leave_slots_out(&cost.steady);
    }
    model.gamma = weft_cost_gamma(&p->cost, &p->model, &p->crowd, cut->bytes, p->k);
    weft_cost_travel(&model, cut->protocol);
    weft_cost_share(&model, cut->channels);
    double alone = weft_cost_time(&cost, &model, cut->part, p->k, cut->slices, cut->slice_bytes);
    double crowd = weft_cost_crowd_time(&p->cost, &model, &p->crowd, cut->part, p->k, cut->slices,
                                        cut->slice_bytes);
    double wire = weft_cost_wire_time(&p->cost, &model, cut->bytes, p->k);
    double least = crowd > wire ? crowd : wire;
    return model.launch + (alone > least ? alone : least) + weft_cost_links(&p->cost, &p->crowd);
}

/* Returns whether slices of the call shall travel by the protocol. What fits a header is in it. */
static bool price_is_wanted(const weft_tuner_call_t *call, const price_cut_t *cut)
{
    _Static_assert(WEFT_TUNER_PROTOCOL_WHOLE == WEFT_KERNEL_PROTOCOL_WHOLE + 1, "one more each");
    const bool header =
        cut->protocol == WEFT_KERNEL_PROTOCOL_LL && cut->longest <= WEFT_SLOT_INLINE;
    return call->protocol == WEFT_TUNER_PROTOCOL_BEST || header ||
           call->protocol == (uint32_t)cut->protocol + 1;
}

/* The least seconds, and by which protocol. Where a run may be whole its slices count a little: it
 * goes on in them if a buffer is in no window. */
static double price_least(const weft_tuner_call_t *call, const weft_tuner_candidate_t *candidate,
                          uint32_t slices, uint64_t slice_bytes, weft_kernel_protocol_t *protocol_p)
{
    const weft_priced_t *p = candidate->core;
    double least = INFINITY;
    *protocol_p = WEFT_KERNEL_PROTOCOL_SIMPLE;
    if (slices < 1 || slices > p->slices_most || slice_bytes < WEFT_LINE ||
        slice_bytes > p->slice_most) {
        return INFINITY;
    }
    const price_cut_t sliced = price_cut(call, candidate, slices, slice_bytes);
    for (uint32_t i = 0; i < WEFT_KERNEL_PROTOCOL_COUNT; i++) {
        const weft_kernel_protocol_t protocol = (weft_kernel_protocol_t)i;
        const price_cut_t cut = price_cut_by(&sliced, protocol, p->k);
        double seconds = price_is_wanted(call, &cut) ? price_by(p, &cut) : INFINITY;
        if (protocol == WEFT_KERNEL_PROTOCOL_WHOLE && least < INFINITY) {
            seconds += least * WHOLE_TIE;
        }
        if (seconds < least) {
            least = seconds;
            *protocol_p = protocol;
        }
    }
    return least;
}

double weft_price_call(const weft_tuner_call_t *call, const weft_tuner_candidate_t *candidate,
                       uint32_t slices, uint64_t slice_bytes)
{
    weft_kernel_protocol_t protocol;
    return price_least(call, candidate, slices, slice_bytes, &protocol);
}

weft_kernel_protocol_t weft_price_protocol(const weft_tuner_call_t *call,
                                           const weft_tuner_candidate_t *candidate, uint32_t slices,
                                           uint64_t slice_bytes)
{
    weft_kernel_protocol_t protocol;
    (void)price_least(call, candidate, slices, slice_bytes, &protocol);
    return protocol;
}

/* One copy into slots and one out of them, which overlap but for a slice; stripes beside each
 * other. */
double weft_price_message(const weft_comm_state_t *state, uint32_t peer, uint64_t bytes)
{
    const weft_family_t *family = state->self.family;
    const weft_stripes_t cut = weft_comm_stripes(state, bytes);
    weft_cost_model_t model = family->model;
    uint64_t part = (bytes + cut.count - 1) / cut.count;
    weft_cost_travel(&model, weft_cost_protocol(&model, weft_stripes_longest(&cut, bytes)));
    weft_cost_share(&model, cut.count);
    const weft_cost_edge_t *edge =
        &model.level[weft_cost_level(weft_identity_hosts(&state->self), state->self.rank, peer)];
    double copy = family->gamma[WEFT_FIGURES_COPY];
    uint64_t slices = part / cut.slice + (part % cut.slice != 0);
    uint64_t slice = part < cut.slice ? part : cut.slice;
    double more = slices > 1 ? (double)(slices - 1) * edge->overhead : 0;
    return model.launch + edge->alpha + more + (double)part * (edge->beta + copy) +
           (double)slice * copy;
}

/* Devices read windows of their own host only. */
bool weft_price_may_be_whole(const weft_comm_state_t *state, const weft_args_t *args)
{
    return state->programs.whole && state->self.nhosts == 1 &&
           state->self.nranks <= WEFT_MEETING_RANKS && args->op != WEFT_PREMULSUM &&
           !weft_coll_has_vectors(args->coll);
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

/* One slice is never ruled out: that there are too few slots even for that is what the proof
 * says. */
static uint32_t price_slices_most(const weft_comm_state_t *state, const weft_algo_loaded_t *algo)
{
    uint32_t depth = algo->depth, slots = state->self.family->slots;
    return depth >= slots ? 1 : slots / depth;
}

uint32_t weft_price_channels_of(uint32_t most, uint32_t lanes, uint64_t worth)
{
    uint64_t channels = lanes > 1 ? most / lanes : most;
    channels = worth < channels ? worth : channels;
    return channels > 0 ? (uint32_t)channels : 1;
}

static uint32_t price_channels(const weft_comm_state_t *state, const weft_args_t *args,
                               uint32_t lanes)
{
    uint64_t bytes = args->count * weft_dtype_size(args->dtype);
    bool known = weft_vectors_need(args->coll) != WEFT_VECTOR_PAIRS;
    return weft_price_channels_of(weft_comm_channels(state), lanes,
                                  known ? bytes / state->self.family->kernel.channel_bytes
                                        : UINT64_MAX);
}

void weft_price_make(const weft_comm_state_t *state, const weft_args_t *args,
                     const weft_algo_variant_t *variant, const weft_plan_entry_t *entry,
                     weft_priced_t *priced)
{
    bool once = entry->report.vector == WEFT_VECTOR_PASSED && weft_coll_has_vectors(args->coll);
    *priced = (weft_priced_t){.variant = variant,
                              .cost = entry->cost,
                              .model = state->self.family->model,
                              .crowd = price_crowd(state),
                              .slice_most = price_slice_most(state, &entry->cost),
                              .slices_most = price_slices_most(state, variant->algo),
                              .k = entry->plan->k,
                              .channels = once ? 1 : price_channels(state, args, entry->cost.lanes),
                              .whole = entry->report.meets && weft_price_may_be_whole(state, args),
                              .fingerprint = entry->report.fingerprint};
    priced->model.gamma =
        state->self.family
            ->gamma[weft_coll_reduces(args->coll) ? (uint32_t)args->dtype : WEFT_FIGURES_COPY];
}
