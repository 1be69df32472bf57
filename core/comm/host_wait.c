/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations that the host does while their stream waits for it. */
#include "core/comm/host_wait.h"

#include <errno.h>

#include "core/base/coll.h"
#include "core/base/error.h"

static void host_wait_batch_free(weft_batch_t *batch)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        weft_request_free(batch->request[i]);
    }
    weft_os_free(batch);
}

static void host_wait_append(weft_host_waits_t *waits, weft_batch_t *batch)
{
    weft_batch_t **position = &waits->batches;
    while (*position != NULL) {
        position = &(*position)->next;
    }
    *position = batch;
}

weft_status_t weft_host_wait_put(weft_comm_state_t *state, weft_host_waits_t *waits,
                                 void *const *stream, weft_request_t *first)
{
    uint32_t count = 0;
    weft_assert_owner(state);
    for (const weft_request_t *r = first; r != NULL; r = r->next) {
        count++;
    }
    weft_batch_t *batch = weft_os_alloc(sizeof *batch + count * sizeof batch->request[0], 0);
    if (batch == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot note %u operations of a stream", count);
    }
    batch->number = waits->numbers + 1;
    weft_status_t status = state->self.family->kernel.lanes->host_wait_enqueue(
        state->device_queue, stream, batch->number, &batch->captured);
    if (status != WEFT_OK) {
        weft_os_free(batch);
        return status;
    }
    waits->numbers++;
    for (weft_request_t *r = first; r != NULL; r = r->next) {
        batch->request[batch->count++] = r;
        r->in_stream = true;
        r->sequence = 0;
        if (!batch->captured) {
            weft_submit_number(state, r);
        }
    }
    host_wait_append(waits, batch);
    return WEFT_OK;
}

/* The stream is there: now the time of the operations runs. */
static void host_wait_begin(weft_comm_state_t *state, weft_host_waits_t *waits, weft_batch_t *batch)
{
    uint64_t now = weft_os_clock_ns();
    for (uint32_t i = 0; i < batch->count; i++) {
        weft_request_t *request = batch->request[i];
        request->state = WEFT_OP_QUEUED;
        request->status = WEFT_IN_PROGRESS;
        weft_request_begin(request, now);
        weft_submit_insert(state, request);
    }
    waits->reached = batch;
}

static bool host_wait_is_done(const weft_batch_t *batch)
{
    uint32_t i = 0;
    while (i < batch->count && batch->request[i]->state == WEFT_OP_DONE) {
        i++;
    }
    return i == batch->count;
}

static void host_wait_end(weft_comm_state_t *state, weft_host_waits_t *waits)
{
    weft_batch_t *batch = waits->reached;
    waits->reached = NULL;
    if (!batch->captured) {
        weft_batch_t **position = &waits->batches;
        while (*position != batch) {
            position = &(*position)->next;
        }
        *position = batch->next;
        host_wait_batch_free(batch);
    }
    state->self.family->kernel.lanes->host_wait_release(state->device_queue);
}

bool weft_host_wait_step(weft_comm_state_t *state, weft_host_waits_t *waits)
{
    uint64_t number;
    if (waits->reached != NULL) {
        bool done = host_wait_is_done(waits->reached);
        if (done) {
            host_wait_end(state, waits);
        }
        return done;
    }
    if (waits->batches == NULL ||
        !state->self.family->kernel.lanes->host_wait_reached(state->device_queue, &number)) {
        return false;
    }
    weft_batch_t *batch = waits->batches;
    while (batch != NULL && batch->number != number) {
        batch = batch->next;
    }
    if (batch == NULL) {
        weft_fail(WEFT_ERR_INTERNAL, 0,
                  "a stream waits for the host with number %llu, which does not exist",
                  (unsigned long long)number);
        weft_comm_fail(state, -1);
        return false;
    }
    host_wait_begin(state, waits, batch);
    return true;
}

bool weft_host_wait_is_busy(const weft_host_waits_t *waits)
{
    const weft_batch_t *batch = waits->batches;
    while (batch != NULL && batch->captured && batch != waits->reached) {
        batch = batch->next;
    }
    return batch != NULL;
}

bool weft_host_wait_uses(const weft_host_waits_t *waits, weft_op_t op)
{
    for (const weft_batch_t *batch = waits->batches; batch != NULL; batch = batch->next) {
        for (uint32_t i = 0; i < batch->count; i++) {
            const weft_args_t *args = &batch->request[i]->args;
            if (weft_coll_reduces(args->coll) && args->op == op) {
                return true;
            }
        }
    }
    return false;
}

void weft_host_wait_free(weft_host_waits_t *waits)
{
    while (waits->batches != NULL) {
        weft_batch_t *batch = waits->batches;
        waits->batches = batch->next;
        host_wait_batch_free(batch);
    }
}
