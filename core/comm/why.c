/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See why.h. */
#include "core/comm/why.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "core/base/coll.h"
#include "core/base/error.h"
#include "core/comm/family_figures.h"
#include "core/comm/handle.h"
#include "core/comm/select_price.h"
#include "core/comm/vectors.h"
#include "core/exec/slot_store.h"

/* Slices lie beside their header, in small slots, or in slots of the whole size: slot.h. Between
 * devices they have a protocol. */
static const char *why_travel(const weft_comm_state_t *state, weft_kernel_protocol_t protocol,
                              uint64_t slice)
{
    const weft_family_t *family = state->self.family;
    uint64_t small = family->small_bytes;
    uint64_t near = small > 0 ? WEFT_SLOT_NEAR : WEFT_SLOT_INLINE;
    if (slice <= near) {
        return "header";
    }
    if (family->model.protocol[WEFT_KERNEL_PROTOCOL_LL].edge.beta > 0) {
        return weft_figures_protocol_name(protocol);
    }
    return slice <= small ? "small" : "slot";
}

static weft_status_t why_message(const weft_comm_state_t *state, const weft_args_t *args,
                                 weft_select_choice_t *chosen)
{
    uint64_t bytes = args->count * weft_dtype_size(args->dtype);
    if (args->root >= state->self.nranks) {
        return weft_fail(WEFT_ERR_ARG, 0, "send_recv with rank %u of %u", args->root,
                         state->self.nranks);
    }
    *chosen = (weft_select_choice_t){.algo = "message",
                                     .seconds = weft_price_message(state, args->root, bytes)};
    chosen->tuner.slices = 1;
    chosen->tuner.channels = 1;
    chosen->tuner.slice_bytes = state->self.family->slot_bytes;
    const weft_stripes_t cut = weft_comm_stripes(state, bytes);
    chosen->longest = weft_stripes_longest(&cut, bytes);
    chosen->protocol = weft_cost_protocol(&state->self.family->model, chosen->longest);
    chosen->travel = why_travel(state, chosen->protocol, chosen->longest);
    return WEFT_OK;
}

weft_status_t weft_comm_why(weft_comm_t *comm, const weft_args_t *args,
                            weft_select_choice_t *chosen)
{
    weft_comm_state_t *state;
    weft_args_t call = *args;
    weft_status_t status = weft_comm_enter(comm, "weft_comm_why", &state);
    if (status != WEFT_OK) {
        return status;
    }
    if (weft_coll_has_vectors(args->coll)) {
        call.count = weft_vectors_class(args->coll, args->count);
    }
    if (state->self.nranks == 1) {
        status = weft_fail(WEFT_ERR_UNSUPPORTED, 0, "one rank alone has no choice");
    } else if (args->coll == WEFT_SEND_RECV) {
        status = why_message(state, &call, chosen);
    } else {
        status = weft_select_choose(state, &call, chosen);
        if (status == WEFT_OK) {
            chosen->travel = why_travel(state, chosen->protocol, chosen->longest);
        }
        /* What it was chosen by is the time of another call, of blocks of equal length. */
        if (status == WEFT_OK && weft_coll_has_vectors(args->coll)) {
            chosen->seconds = chosen->tuner.next_seconds = NAN;
        }
    }
    weft_comm_leave(state);
    return status;
}

/* Finds the next peer at each level. */
static void why_find_peers(const weft_comm_state_t *state, weft_comm_figures_t *figures)
{
    const weft_comm_identity_t *self = &state->self;
    figures->peer[0] = figures->peer[1] = self->rank;
    for (uint32_t i = self->nranks - 1; i > 0; i--) {
        uint32_t peer = (self->rank + i) % self->nranks;
        weft_level_t level = weft_cost_level(weft_identity_hosts(self), self->rank, peer);
        figures->peer[level] = peer;
        snprintf(figures->net[level], sizeof figures->net[level], "%s",
                 weft_links_transport_name(state->links, peer));
        if (level == WEFT_LEVEL_INSIDE) {
            weft_kernel_path_t path =
                weft_family_device_path(self->family, self->family_rank[peer]);
            figures->path = path != WEFT_KERNEL_PATH_COUNT ? weft_figures_path_name(path) : NULL;
        }
    }
}

weft_status_t weft_comm_figures(weft_comm_t *comm, weft_comm_figures_t *figures)
{
    weft_comm_state_t *state;
    weft_status_t status = weft_comm_enter(comm, "weft_comm_figures", &state);
    if (status != WEFT_OK) {
        return status;
    }
    const weft_family_t *family = state->self.family;
    *figures = (weft_comm_figures_t){.nranks = state->self.nranks,
                                     .nhosts = state->self.nhosts,
                                     .channels = weft_comm_channels(state),
                                     .crowd = state->self.crowd,
                                     .cores = family->cores,
                                     .model = family->model};
    snprintf(figures->kernel, sizeof figures->kernel, "%s", family->kernel.loaded->plugin->name);
    why_find_peers(state, figures);
    weft_comm_leave(state);
    return WEFT_OK;
}

#define KERNEL_BYTES (UINT64_C(256) << 10) /* of each operand: larger than the nearest caches */
#define KERNEL_NS (UINT64_C(1) << 20)      /* of one measurement */

/* Best time of one run. */
static double why_time_combine(weft_combine_fn_t fn, const weft_combine_t *combine)
{
    uint64_t begin = weft_os_clock_ns(), at = begin, best = UINT64_MAX;
    while (at - begin < KERNEL_NS) {
        fn(combine);
        uint64_t end = weft_os_clock_ns();
        best = end - at < best ? end - at : best;
        at = end;
    }
    return (double)best * 1e-9;
}

/* A copy touches two operands and a sum three, of which each counts half. */
static void why_measure_types(const weft_family_t *family, uint8_t *memory, double *gamma)
{
    gamma[WEFT_FIGURES_MEMORY] = 0;
    for (uint32_t i = 0; i < WEFT_FIGURES_MEMORY; i++) {
        bool copies = i == WEFT_FIGURES_COPY;
        weft_dtype_t dtype = copies ? WEFT_UINT8 : (weft_dtype_t)i;
        uint32_t nsrc = copies ? 1 : 2;
        weft_combine_fn_t fn = NULL;
        weft_combine_t combine = {.src = {memory, memory + KERNEL_BYTES},
                                  .dst = {memory + 2 * KERNEL_BYTES},
                                  .count = KERNEL_BYTES / weft_dtype_size(dtype),
                                  .nsrc = nsrc,
                                  .ndst = 1,
                                  .nranks = 2};
        gamma[i] = 0;
        if (family->kernel.ops->select(family->kernel.instance, dtype, WEFT_SUM, &fn) == WEFT_OK) {
            gamma[i] = why_time_combine(fn, &combine) / (double)KERNEL_BYTES * 2 / (nsrc + 1);
        }
    }
}

weft_status_t weft_comm_measure_kernel(weft_comm_t *comm, double gamma[WEFT_FIGURES_RATES])
{
    weft_comm_state_t *state;
    weft_status_t status = weft_comm_enter(comm, "weft_comm_measure_kernel", &state);
    if (status != WEFT_OK) {
        return status;
    }
    uint8_t *memory = weft_os_alloc(3 * KERNEL_BYTES, 64);
    if (memory == NULL) {
        status = weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to measure a kernel");
    } else if (state->self.family->kernel.memory != NULL) {
        status = weft_fail(WEFT_ERR_UNSUPPORTED, 0, "the kernel computes on a device");
    } else {
        why_measure_types(state->self.family, memory, gamma);
    }
    weft_os_free(memory);
    weft_comm_leave(state);
    return status;
}

weft_status_t weft_comm_algos(weft_comm_t *comm, const char **names, uint32_t *count_p)
{
    weft_comm_state_t *state;
    weft_status_t status = weft_comm_enter(comm, "weft_comm_algos", &state);
    if (status != WEFT_OK) {
        return status;
    }
    const weft_family_algos_t *algos = &state->self.family->algos;
    for (uint32_t i = 0; i < algos->count; i++) {
        names[i] = algos->list[i].loaded->plugin->name;
    }
    *count_p = algos->count;
    weft_comm_leave(state);
    return WEFT_OK;
}
