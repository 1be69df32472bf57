/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a communicator has in streams, from the first call to the end. */
#include "core/comm/streams.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/comm/call.h"

/* A stopped run ends within 100 ms of its begin by contract; one that has not by now may never begin. */
#define SETTLE_NS WEFT_NS_PER_S

weft_status_t weft_stream_open(weft_comm_state_t *state)
{
    if (state->stream != NULL) {
        return WEFT_OK;
    }
    weft_status_t status = weft_progress_attach(state);
    status = status == WEFT_OK ? weft_comm_need_queue(state) : status;
    if (status != WEFT_OK) {
        return status;
    }
    weft_stream_t *s = weft_os_alloc(sizeof *s, 0);
    if (s == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM,
                         "cannot allocate the streams of a communicator");
    }
    state->stream = s;
    return WEFT_OK;
}

weft_status_t weft_stream_put(weft_comm_state_t *state, void *const *stream, weft_request_t *first)
{
    if (weft_comm_has_failed(state)) {
        return weft_comm_failure(state);
    }
    weft_status_t status = weft_launch_put(state, stream, first);
    return status == WEFT_ERR_UNSUPPORTED ? weft_gate_put(state, stream, first) : status;
}

/* What a device sends over a transport of messages the host passes on, also after the run is over. A link
 * that broke is told by the port that is waited for. */
static void pass_messages(weft_comm_state_t *state, bool *moved_p)
{
    weft_stream_t *s = state->stream;
    s->unsent = false;
    if (state->links == NULL || !weft_links_have_messages(state->links) ||
        (s->first == NULL && s->recorded == NULL && !weft_links_have_unsent(state->links))) {
        return;
    }
    weft_status_t status = weft_engine_transport(state, moved_p);
    if (status < 0 && status != WEFT_ERR_LINK && status != WEFT_ERR_PEER_DEAD) {
        weft_engine_fail(state, weft_error_record()->peer);
    }
    s->unsent = weft_links_have_unsent(state->links);
}

bool weft_stream_step(weft_comm_state_t *state)
{
    weft_stream_t *s = state->stream;
    if (s->stopped) {
        return false;
    }
    bool moved = weft_launch_step(state);
    pass_messages(state, &moved);
    moved |= !weft_comm_has_failed(state) && weft_gate_step(state);
    if (moved && s->leave_by != 0) {
        s->leave_by = weft_os_deadline(state->family->settings.exec.op_timeout);
    }
    return moved;
}

/* Looking ------------------------------------------------------------------------------------------ */

bool weft_stream_is_busy(const weft_comm_state_t *state)
{
    const weft_stream_t *s = state->stream;
    if (s == NULL || s->stopped) {
        return false;
    }
    const weft_batch_t *batch = s->batches;
    while (batch != NULL && batch->recorded && batch != s->reached) {
        batch = batch->next;
    }
    return s->first != NULL || batch != NULL || s->unsent;
}

bool weft_stream_listens(const weft_comm_state_t *state)
{
    const weft_stream_t *s = state->stream;
    return s != NULL && !s->stopped && (s->recorded != NULL || s->batches != NULL);
}

const char *weft_stream_text(const weft_comm_state_t *state, char *text, size_t bytes)
{
    weft_pending_t p;
    char op[96];
    if (!weft_launch_pending(state, &p)) {
        snprintf(text, bytes, "operation %" PRIu64 ", to which its stream has not come",
                 state->over + 1);
        return text;
    }
    weft_signature_text(&p.signature, op, sizeof op);
    int used =
        snprintf(text, bytes, "operation %" PRIu64 " (%s), which the device runs", p.sequence, op);
    if (p.peer >= 0 && used > 0 && (size_t)used < bytes) {
        snprintf(text + used, bytes - (size_t)used, " and which waits for rank %d", (int)p.peer);
    }
    return text;
}

static void check_leaving(weft_comm_state_t *state, uint64_t now)
{
    char text[192];
    weft_stream_t *s = state->stream;
    if (s->leave_by == 0 || now <= s->leave_by || s->reached != NULL ||
        !weft_stream_is_busy(state)) {
        return;
    }
    weft_fail(WEFT_ERR_TIMEOUT, 0, "rank %u destroys the communicator and has waited %.3g s for %s",
              state->rank, state->family->settings.exec.op_timeout,
              weft_stream_text(state, text, sizeof text));
    weft_engine_fail(state, -1);
}

void weft_stream_look(weft_comm_state_t *state, uint64_t now)
{
    weft_pending_t pending;
    if (state->stream->stopped) {
        return;
    }
    if (weft_launch_pending(state, &pending)) {
        weft_lookout(state, &pending, now);
    } else {
        check_leaving(state, now);
    }
}

/* The end ------------------------------------------------------------------------------------------ */

void weft_stream_leave(weft_comm_state_t *state)
{
    if (state->stream != NULL) {
        state->stream->leave_by = weft_os_deadline(state->family->settings.exec.op_timeout);
    }
}

static void abort_all(const weft_comm_state_t *state, const weft_launched_t *run)
{
    for (; run != NULL; run = run->next) {
        state->family->kernel.lanes->abort(run->prepared->run.device.handle);
    }
}

void weft_stream_stop(weft_comm_state_t *state)
{
    weft_stream_t *s = state->stream;
    if (s == NULL || s->stopped) {
        return;
    }
    s->stopped = true;
    abort_all(state, s->first);
    abort_all(state, s->recorded);
    state->family->kernel.lanes->gate_break(state->queue);
}

static bool has_ended(const weft_comm_state_t *state, const weft_launched_t *run)
{
    weft_lanes_state_t at = {.size = sizeof at};
    return state->family->kernel.lanes->poll(run->prepared->run.device.handle, run->run, &at) !=
           WEFT_IN_PROGRESS;
}

void weft_stream_settle(weft_comm_state_t *state)
{
    weft_stream_t *s = state->stream;
    if (s == NULL) {
        return;
    }
    weft_stream_stop(state);
    uint64_t deadline = weft_os_clock_ns() + SETTLE_NS;
    for (const weft_launched_t *run = s->first; run != NULL; run = run->next) {
        while (!has_ended(state, run)) {
            if (weft_os_clock_ns() > deadline) {
                weft_log(WEFT_LOG_ERROR, "comm",
                         "rank %u: operation %" PRIu64 " was stopped and is still in a stream",
                         state->rank, run->sequence);
                return;
            }
            weft_os_yield();
        }
    }
}

void weft_stream_close(weft_comm_state_t *state)
{
    weft_stream_t *s = state->stream;
    if (s == NULL) {
        return;
    }
    weft_launch_free(state);
    weft_gate_free(state);
    while (s->staging != NULL) {
        weft_staging_t *staging = s->staging;
        s->staging = staging->next;
        weft_comm_release(state, &staging->allocation);
        weft_os_free(staging);
    }
    weft_os_free(s);
    state->stream = NULL;
}
