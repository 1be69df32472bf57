/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What every operation may do to its communicator: submit itself, poll the transports, fail. */
#include "core/comm/comm.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/comm/fusion.h"

void weft_comm_fail_missing(weft_comm_state_t *state, int32_t peer, const weft_missing_t *missing)
{
    weft_error_t *error = weft_error_record();
    weft_assert_owner(state);
    if (peer >= 0) {
        error->peer = peer;
        snprintf(error->transport, sizeof error->transport, "%s",
                 weft_links_transport_name(state->links, (uint32_t)peer));
    }
    if (error->sequence == 0) {
        const weft_queue_t *queue = &state->queue;
        error->sequence = queue->first != NULL ? queue->first->sequence : queue->sequence;
    }
    weft_failure_set(&state->failure, &state->self, error, missing, true);
}

void weft_comm_fail(weft_comm_state_t *state, int32_t peer)
{
    weft_comm_fail_missing(state, peer, NULL);
}

/* Adds the block by which the vectors of counts differ, where it is known. */
static void comm_name_block(const weft_comm_state_t *state, const weft_signature_t *mine,
                            const weft_signature_t *theirs, char *text, size_t bytes)
{
    const weft_request_t *request = state->queue.first;
    const uint32_t n = state->self.nranks;
    const size_t used = strlen(text);
    if (request == NULL || request->vectors == NULL || mine->coll != request->args.coll ||
        mine->sequence != (uint32_t)request->sequence || theirs->sequence != mine->sequence ||
        theirs->coll != mine->coll) {
        return;
    }
    const uint32_t b = weft_vectors_find(request->vectors, n, mine, theirs);
    if (b < n) {
        const uint64_t here = weft_vectors_count(request->vectors, request->args.coll, b);
        snprintf(text + used, bytes - used,
                 ": block %" PRIu32 " has %" PRIu64 " here, %" PRIu64 " there", b, here,
                 here + theirs->count - mine->count);
    }
}

/* Adds that this rank's operation stands for several calls: the others' groups may have others. */
static void comm_name_fused(const weft_comm_state_t *state, const weft_signature_t *mine,
                            char *text, size_t bytes)
{
    const weft_request_t *request = state->queue.first;
    const size_t used = strlen(text);
    if (request != NULL && request->fusion != NULL && mine->coll == request->args.coll &&
        mine->sequence == (uint32_t)request->sequence) {
        snprintf(text + used, bytes - used,
                 "; here it is %" PRIu32 " calls of a group, fused: groups have to be alike, or "
                 "exec.fuse_bytes=1",
                 request->fusion->members);
    }
}

void weft_comm_mismatch(weft_comm_state_t *state, uint32_t peer, const weft_signature_t *mine,
                        const weft_signature_t *theirs)
{
    char field[WEFT_SIGNATURE_DIFF];
    weft_signature_diff(mine, theirs, field, sizeof field);
    comm_name_block(state, mine, theirs, field, sizeof field);
    comm_name_fused(state, mine, field, sizeof field);
    weft_fail(WEFT_ERR_MISMATCH, 0,
              "operation %" PRIu32 " differs between rank %u (here) and rank %u (there): %s",
              mine->sequence, state->self.rank, peer, field);
    weft_error_record()->sequence = mine->sequence;
    weft_comm_fail(state, (int32_t)peer);
}

weft_status_t weft_comm_open_device_queue(weft_comm_state_t *state)
{
    const weft_family_kernel_t *kernel = &state->self.family->kernel;
    weft_assert_owner(state);
    return kernel->lanes == NULL || state->device_queue != NULL
               ? WEFT_OK
               : kernel->lanes->queue_open(kernel->instance, &state->device_queue);
}

weft_status_t weft_submit_open_queues(weft_comm_state_t *state, weft_one_sided_t kind)
{
    weft_assert_owner(state);
    if (kind == WEFT_ONE_SIDED_NONE) {
        return weft_p2p_open(&state->p2p, state->self.nranks, WEFT_P2P_CHANNEL);
    }
    if (state->windows.puts != NULL) {
        return WEFT_OK;
    }
    weft_status_t status = weft_puts_create(state->self.nranks, &state->windows.puts);
    if (status == WEFT_OK) {
        atomic_fetch_add_explicit(&state->windows.askers, 1, memory_order_relaxed);
    }
    return status;
}

/* Returns the queues of a message. */
static weft_p2p_t *comm_queues_of(weft_comm_state_t *state, const weft_request_t *request)
{
    return request->args.one_sided == WEFT_ONE_SIDED_NONE ? &state->p2p : &state->windows.puts->p2p;
}

void weft_submit_number(weft_comm_state_t *state, weft_request_t *request)
{
    weft_assert_owner(state);
    if (request->args.coll != WEFT_SEND_RECV) {
        request->sequence = state->queue.sequence + 1;
        weft_queue_call(&state->queue, request->sequence);
        return;
    }
    weft_p2p_t *p2p = comm_queues_of(state, request);
    request->held = weft_p2p_must_hold(p2p, request);
    request->sequence = request->held ? 0 : weft_p2p_next_sequence(p2p, request);
}

void weft_comm_record(weft_comm_state_t *state, weft_request_t *request, uint64_t called)
{
    const weft_args_t *args = &request->args;
    weft_flight_comm_t *comm = state->flight;
    weft_flight_entry_t *entry = &comm->entry[comm->next++ % WEFT_FLIGHT_ENTRIES];
    weft_assert_owner(state);
    if (atomic_load_explicit(&entry->state, memory_order_relaxed) == WEFT_FLIGHT_CALLED) {
        return;
    }
    /* Who reads the record sees it free, and its new number, before it sees another operation in
     * it. */
    atomic_store_explicit(&entry->state, WEFT_FLIGHT_FREE, memory_order_relaxed);
    entry->number = comm->next;
    weft_os_fence_writes();
    entry->sequence = request->sequence;
    entry->count = args->count;
    entry->called = called;
    entry->ended = 0;
    entry->root = args->root;
    entry->peer = -1;
    entry->status = WEFT_IN_PROGRESS;
    entry->coll = (uint8_t)args->coll;
    entry->dtype = (uint8_t)args->dtype;
    entry->op = args->coll == WEFT_SEND_RECV ? (uint8_t)args->one_sided : (uint8_t)args->op;
    entry->sends = (uint8_t)request->sends;
    atomic_store_explicit(&entry->state, WEFT_FLIGHT_CALLED, memory_order_release);
    request->flight = entry;
}

void weft_submit_insert(weft_comm_state_t *state, weft_request_t *request)
{
    weft_assert_owner(state);
    if (weft_comm_records(request)) {
        weft_comm_record(state, request, weft_os_clock_ns());
    }
    request->appended = true;
    if (request->args.coll == WEFT_SEND_RECV && request->held) {
        weft_p2p_hold(&state->p2p, request);
    } else if (request->args.coll == WEFT_SEND_RECV) {
        weft_p2p_append(comm_queues_of(state, request), request);
    } else {
        weft_queue_insert(&state->queue, request);
    }
}

void weft_submit(weft_comm_state_t *state, weft_request_t *request)
{
    weft_submit_number(state, request);
    weft_submit_insert(state, request);
}
