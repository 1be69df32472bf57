/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See stripes_compare.h. A question is a signature: `root` says whether the one that asks sends,
 * and `plan` has its stripes. */
#include "core/comm/stripes_compare.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/base/dtype.h"
#include "core/base/error.h"
#include "core/base/plural.h"
#include "core/comm/question.h"

#define ASK_NS (100 * WEFT_NS_PER_MS)

static uint64_t stripes_bytes(const weft_request_t *request)
{
    return request->args.count * weft_dtype_bytes(request->args.dtype);
}

void weft_stripes_note(weft_comm_state_t *state, const weft_request_t *request, uint64_t sequence)
{
    const uint64_t bytes = stripes_bytes(request);
    weft_assert_owner(state);
    if (state->self.family->kernel.stripes > 1 && request->args.root < state->self.nranks) {
        weft_peer_cut_set(&state->peers[request->args.root].cut[request->sends], (uint32_t)sequence,
                          weft_comm_stripes(state, bytes).count, bytes);
    }
}

void weft_stripes_ask(const weft_comm_state_t *state, const weft_request_t *request,
                      uint64_t sequence)
{
    const uint32_t peer = request->args.root;
    const uint32_t count = weft_comm_stripes(state, stripes_bytes(request)).count;
    if (count > 1 && peer != state->self.rank && peer < state->self.nranks) {
        const weft_signature_t mine = {.coll = WEFT_SEND_RECV,
                                       .op = WEFT_ASKS_STRIPES,
                                       .dtype = (uint8_t)request->args.dtype,
                                       .root = request->sends,
                                       .count = request->args.count,
                                       .sequence = (uint32_t)sequence,
                                       .plan = count};
        weft_health_ask(state->self.family->boot, state->self.id, state->self.family_rank[peer],
                        &mine);
    }
}

/* The number that the message will get: one for each of its queue that is in front of it. */
static uint64_t stripes_number(const weft_comm_state_t *state, const weft_request_t *first,
                               const weft_request_t *request)
{
    uint64_t number = 1;
    if (state->p2p.queues != NULL) {
        number += weft_p2p_queue_of(&state->p2p, request)->sequence;
    }
    for (; first != request; first = first->next) {
        number += first->args.root == request->args.root && first->sends == request->sends;
    }
    return number;
}

void weft_stripes_ask_all(weft_comm_state_t *state, const weft_request_t *first)
{
    const uint64_t now = weft_os_clock_ns();
    if (now - state->p2p.asked < ASK_NS) {
        return;
    }
    state->p2p.asked = now;
    for (const weft_request_t *r = first; r != NULL; r = r->next) {
        const uint64_t number = stripes_number(state, first, r);
        weft_stripes_note(state, r, number);
        weft_stripes_ask(state, r, number);
    }
}

void weft_stripes_compare(weft_comm_state_t *state, uint32_t from, const weft_signature_t *theirs)
{
    const uint32_t sends = theirs->root == 0; /* here, if the one that asks receives */
    uint64_t bytes;
    const uint32_t count =
        weft_peer_cut_get(&state->peers[from].cut[sends], theirs->sequence, &bytes);
    weft_error_t error;
    if (count == theirs->plan || count == 0) {
        return;
    }
    weft_error_clear(&error);
    error.status = WEFT_ERR_MISMATCH;
    error.peer = (int32_t)from;
    error.sequence = theirs->sequence;
    snprintf(
        error.text, sizeof error.text,
        "message %" PRIu32 " from rank %u (%s) to rank %u (%s) differs: %" PRIu64
        " bytes in %u stripe%s here, %" PRIu64 " bytes in %u there; send and receive must have "
        "one length, and all ranks the same weft_comm_set_channels()",
        theirs->sequence, sends ? state->self.rank : from, sends ? "here" : "there",
        sends ? from : state->self.rank, sends ? "there" : "here", bytes, count, weft_plural(count),
        theirs->count * weft_dtype_bytes((weft_dtype_t)theirs->dtype), theirs->plan);
    weft_failure_set(&state->failure, &state->self, &error, NULL, true);
}
