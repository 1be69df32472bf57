/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Everything that a communicator has in streams, from the first call to the end. */
#include "core/comm/streams.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "core/base/error.h"

/* A stopped run ends within 100 ms of its begin by contract; after this time it may never begin. */
#define SETTLE_NS WEFT_NS_PER_S

weft_status_t weft_streams_open(weft_comm_state_t *state)
{
    weft_assert_owner(state);
    if (state->streams != NULL) {
        return WEFT_OK;
    }
    weft_status_t status = weft_comm_open_device_queue(state);
    if (status != WEFT_OK) {
        return status;
    }
    weft_streams_t *s = weft_os_alloc(sizeof *s, 0);
    if (s == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM,
                         "cannot allocate the streams of a communicator");
    }
    state->streams = s;
    return WEFT_OK;
}

weft_status_t weft_streams_put(weft_comm_state_t *state, void *const *stream, weft_request_t *first)
{
    weft_assert_owner(state);
    if (weft_comm_has_failed(state)) {
        return weft_comm_failure(state);
    }
    weft_status_t status = weft_launch_put(state, &state->streams->launches, stream, first);
    return status == WEFT_ERR_UNSUPPORTED
               ? weft_host_wait_put(state, &state->streams->waits, stream, first)
               : status;
}

/* Passes on what a device sends over a message transport, also after the run has completed. A
 * broken link is reported by the port that is waited for. */
static void streams_pass_messages(weft_comm_state_t *state, bool *moved_p)
{
    weft_streams_t *s = state->streams;
    s->unsent = false;
    if (state->links == NULL || !weft_links_have_messages(state->links) ||
        (!weft_launches_are_busy(&s->launches) && !weft_launches_listen(&s->launches) &&
         !weft_links_have_unsent(state->links))) {
        return;
    }
    weft_status_t status = weft_comm_poll_transports(state, moved_p);
    if (status < 0 && status != WEFT_ERR_LINK && status != WEFT_ERR_PEER_DEAD) {
        weft_comm_fail(state, weft_error_record()->peer);
    }
    s->unsent = weft_links_have_unsent(state->links);
}

bool weft_streams_step(weft_comm_state_t *state)
{
    weft_streams_t *s = state->streams;
    weft_assert_owner(state);
    if (s->stopped) {
        return false;
    }
    bool moved = weft_launches_step(state, &s->launches);
    streams_pass_messages(state, &moved);
    moved |= !weft_comm_has_failed(state) && weft_host_wait_step(state, &s->waits);
    if (moved && s->leave_by != 0) {
        s->leave_by = weft_os_deadline(state->self.family->settings.exec.op_timeout);
    }
    return moved;
}

/* Looking -------------------------------------------------------------------------------------- */

bool weft_streams_are_busy(const weft_comm_state_t *state)
{
    const weft_streams_t *s = state->streams;
    if (s == NULL || s->stopped) {
        return false;
    }
    return weft_launches_are_busy(&s->launches) || weft_host_wait_is_busy(&s->waits) || s->unsent;
}

bool weft_streams_need_host(const weft_comm_state_t *state)
{
    const weft_streams_t *s = state->streams;
    return s != NULL && !s->stopped &&
           (s->unsent || weft_host_wait_is_busy(&s->waits) ||
            (state->links != NULL && weft_links_have_messages(state->links)));
}

bool weft_streams_listen(const weft_comm_state_t *state)
{
    const weft_streams_t *s = state->streams;
    return s != NULL && !s->stopped &&
           (weft_launches_listen(&s->launches) || weft_host_wait_listens(&s->waits));
}

bool weft_streams_use(const weft_comm_state_t *state, weft_op_t op)
{
    return state->streams != NULL && weft_host_wait_uses(&state->streams->waits, op);
}

const char *weft_streams_text(const weft_comm_state_t *state, char *text, size_t bytes)
{
    if (!weft_launches_text(&state->streams->launches, text, bytes)) {
        snprintf(text, bytes, "operation %" PRIu64 ", to which its stream has not come",
                 state->queue.completed + 1);
    }
    return text;
}

static void streams_check_leaving(weft_comm_state_t *state, uint64_t now)
{
    char text[192];
    weft_streams_t *s = state->streams;
    if (s->leave_by == 0 || now <= s->leave_by || weft_host_wait_is_reached(&s->waits) ||
        !weft_streams_are_busy(state)) {
        return;
    }
    weft_fail(WEFT_ERR_TIMEOUT, 0, "rank %u destroys the communicator and has waited %.3g s for %s",
              state->self.rank, state->self.family->settings.exec.op_timeout,
              weft_streams_text(state, text, sizeof text));
    weft_comm_fail(state, -1);
}

void weft_streams_look(weft_comm_state_t *state, uint64_t now)
{
    weft_assert_owner(state);
    if (!state->streams->stopped && !weft_launches_look(state, &state->streams->launches, now)) {
        streams_check_leaving(state, now);
    }
}

/* The end -------------------------------------------------------------------------------------- */

void weft_streams_leave(weft_comm_state_t *state)
{
    weft_assert_owner(state);
    if (state->streams != NULL) {
        state->streams->leave_by = weft_os_deadline(state->self.family->settings.exec.op_timeout);
    }
}

void weft_streams_stop(weft_comm_state_t *state)
{
    weft_streams_t *s = state->streams;
    if (s == NULL || s->stopped) {
        return;
    }
    s->stopped = true;
    weft_launches_abort(state, &s->launches);
    state->self.family->kernel.lanes->host_wait_cancel(state->device_queue);
}

void weft_streams_settle(weft_comm_state_t *state)
{
    if (state->streams != NULL) {
        weft_streams_stop(state);
        weft_launches_settle(state, &state->streams->launches, weft_os_clock_ns() + SETTLE_NS);
    }
}

void weft_streams_close(weft_comm_state_t *state)
{
    weft_streams_t *s = state->streams;
    if (s != NULL) {
        weft_launches_free(state, &s->launches);
        weft_host_wait_free(&s->waits);
        weft_os_free(s);
        state->streams = NULL;
    }
}
