/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations that the host does while their stream waits at a gate. */
#include <errno.h>

#include "core/base/error.h"
#include "core/comm/call.h"
#include "core/comm/streams.h"

static void batch_free(weft_batch_t *batch)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        weft_request_free(batch->request[i]);
    }
    weft_os_free(batch);
}

static void append(weft_stream_t *s, weft_batch_t *batch)
{
    weft_batch_t **place = &s->batches;
    while (*place != NULL) {
        place = &(*place)->next;
    }
    *place = batch;
}

weft_status_t weft_gate_put(weft_comm_state_t *state, void *const *stream, weft_request_t *first)
{
    weft_stream_t *s = state->stream;
    uint32_t count = 0;
    for (const weft_request_t *r = first; r != NULL; r = r->next) {
        count++;
    }
    weft_batch_t *batch = weft_os_alloc(sizeof *batch + count * sizeof batch->request[0], 0);
    if (batch == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot note %u operations of a stream", count);
    }
    batch->gate = s->gates + 1;
    weft_status_t status =
        state->family->kernel.lanes->gate_put(state->queue, stream, batch->gate, &batch->recorded);
    if (status != WEFT_OK) {
        weft_os_free(batch);
        return status;
    }
    s->gates++;
    for (weft_request_t *r = first; r != NULL; r = r->next) {
        batch->request[batch->count++] = r;
        r->in_stream = true;
        r->sequence = 0;
        if (!batch->recorded) {
            weft_engine_number(state, r);
        }
    }
    append(s, batch);
    return WEFT_OK;
}

/* The stream is there: now the time of the operations runs. */
static void begin(weft_comm_state_t *state, weft_batch_t *batch)
{
    uint64_t now = weft_os_clock_ns();
    for (uint32_t i = 0; i < batch->count; i++) {
        weft_request_t *request = batch->request[i];
        request->state = WEFT_OP_QUEUED;
        request->status = WEFT_IN_PROGRESS;
        request->started = now;
        request->deadline = weft_os_deadline(request->timeout);
        weft_engine_insert(state, request);
    }
    state->stream->reached = batch;
}

static bool is_done(const weft_batch_t *batch)
{
    uint32_t i = 0;
    while (i < batch->count && batch->request[i]->state == WEFT_OP_DONE) {
        i++;
    }
    return i == batch->count;
}

static void end(weft_comm_state_t *state)
{
    weft_stream_t *s = state->stream;
    weft_batch_t *batch = s->reached;
    s->reached = NULL;
    if (!batch->recorded) {
        weft_batch_t **place = &s->batches;
        while (*place != batch) {
            place = &(*place)->next;
        }
        *place = batch->next;
        batch_free(batch);
    }
    state->family->kernel.lanes->gate_pass(state->queue);
}

bool weft_gate_step(weft_comm_state_t *state)
{
    weft_stream_t *s = state->stream;
    uint64_t number;
    if (s->reached != NULL) {
        bool done = is_done(s->reached);
        if (done) {
            end(state);
        }
        return done;
    }
    if (s->batches == NULL || !state->family->kernel.lanes->gate_reached(state->queue, &number)) {
        return false;
    }
    weft_batch_t *batch = s->batches;
    while (batch != NULL && batch->gate != number) {
        batch = batch->next;
    }
    if (batch == NULL) {
        weft_fail(WEFT_ERR_INTERNAL, 0, "a stream waits at gate %llu, which does not exist",
                  (unsigned long long)number);
        weft_engine_fail(state, -1);
        return false;
    }
    begin(state, batch);
    return true;
}

bool weft_gate_uses(const weft_comm_state_t *state, weft_op_t op)
{
    const weft_batch_t *batch = state->stream != NULL ? state->stream->batches : NULL;
    for (; batch != NULL; batch = batch->next) {
        for (uint32_t i = 0; i < batch->count; i++) {
            const weft_args_t *args = &batch->request[i]->args;
            if (weft_coll_reduces(args->coll) && args->op == op) {
                return true;
            }
        }
    }
    return false;
}

void weft_gate_free(weft_comm_state_t *state)
{
    weft_stream_t *s = state->stream;
    while (s->batches != NULL) {
        weft_batch_t *batch = s->batches;
        s->batches = batch->next;
        batch_free(batch);
    }
}
