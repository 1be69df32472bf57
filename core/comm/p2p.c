/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends and receives. Messages between two ranks in one direction form a line: they go through one port
 * in the order of the calls. All lines progress at once, so no order of sends and receives to different
 * peers can make a group hang. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/comm/comm.h"

/* Above the channels that plans may name. */
#define CHANNEL (UINT32_C(1) << 16)
#define STEPS_PER_LOOK 64u
#define CHECK_NS (100 * WEFT_NS_PER_MS)
/* What a rank sent before it left arrives within this time, or never. */
#define LEFT_BEHIND_NS WEFT_NS_PER_S

weft_status_t weft_p2p_check(const weft_comm_state_t *state, const weft_args_t *args,
                             bool may_send_to_self)
{
    const char *call = args->sends ? "weft_send" : "weft_recv";
    if (args->root >= state->nranks) {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: peer %u is out of range 0 … %u", call, args->root,
                         state->nranks - 1);
    }
    if (args->root == state->rank && !may_send_to_self) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "%s: rank %u to itself would wait for ever; put the send and the receive "
                         "in a group, or make one asynchronous",
                         call, state->rank);
    }
    return WEFT_OK;
}

weft_status_t weft_p2p_open(weft_comm_state_t *state)
{
    weft_p2p_t *p2p = &state->p2p;
    uint32_t lines = 2 * state->nranks;
    if (p2p->lines != NULL) {
        return WEFT_OK;
    }
    p2p->active = weft_os_alloc(lines * sizeof *p2p->active, 0);
    p2p->lines = weft_os_alloc(lines * sizeof *p2p->lines, 0);
    if (p2p->lines == NULL || p2p->active == NULL) {
        weft_p2p_close(state);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate messages to %u ranks",
                         state->nranks);
    }
    for (uint32_t i = 0; i < lines; i++) {
        p2p->lines[i].peer = i / 2;
        p2p->lines[i].sends = i % 2;
    }
    return WEFT_OK;
}

void weft_p2p_close(weft_comm_state_t *state)
{
    weft_os_free(state->p2p.active);
    weft_os_free(state->p2p.lines);
    state->p2p = (weft_p2p_t){.lines = NULL};
}

static weft_line_t *line_of(const weft_comm_state_t *state, const weft_request_t *request)
{
    return &state->p2p.lines[2 * request->args.root + request->sends];
}

uint64_t weft_p2p_number(weft_comm_state_t *state, const weft_request_t *request)
{
    return ++line_of(state, request)->called;
}

void weft_p2p_append(weft_comm_state_t *state, weft_request_t *request)
{
    weft_p2p_t *p2p = &state->p2p;
    weft_line_t *line = line_of(state, request);
    weft_request_t **place = weft_request_place(&line->first, line->last, request);
    request->moved = 0;
    request->next = *place;
    *place = request;
    if (request->next == NULL) {
        line->last = request;
    }
    if (!line->active) {
        line->active = true;
        line->idle_since = 0;
        p2p->active[p2p->nactive++] = (uint32_t)(line - p2p->lines);
    }
}

/* Those called before it are over, also the ones in streams. */
static bool is_due(const weft_line_t *line)
{
    const weft_request_t *request = line->first;
    return request->sequence == 0 || request->sequence == line->over + 1;
}

static void finish(weft_line_t *line, weft_status_t status)
{
    weft_request_t *request = line->first;
    line->first = request->next;
    if (line->first == NULL) {
        line->last = NULL;
    }
    line->over = request->sequence != 0 ? request->sequence : line->over;
    request->status = status;
    request->state = WEFT_OP_DONE;
    /* The caller may free the request from here on. */
    atomic_store_explicit(&request->done, 1, memory_order_release);
}

static weft_signature_t signature_of(const weft_line_t *line)
{
    const weft_args_t *args = &line->first->args;
    return (weft_signature_t){.coll = WEFT_SEND_RECV,
                              .dtype = (uint8_t)args->dtype,
                              .count = args->count,
                              .sequence = (uint32_t)line->first->sequence};
}

static weft_status_t mismatch(const weft_comm_state_t *state, uint32_t peer,
                              const weft_signature_t *here, const weft_signature_t *there)
{
    char field[128];
    weft_signature_diff(here, there, field, sizeof field);
    return weft_fail(WEFT_ERR_MISMATCH, 0,
                     "message %" PRIu32 " from rank %u (there) to rank %u (here) differs: %s",
                     here->sequence, peer, state->rank, field);
}

/* Elements of the next slice. */
static uint64_t slice_of(const weft_comm_state_t *state, const weft_request_t *request)
{
    uint64_t most = state->family->slot_bytes / weft_dtype_size(request->args.dtype);
    uint64_t left = request->args.count - request->moved;
    return left < most ? left : most;
}

static weft_status_t send_slice(const weft_comm_state_t *state, weft_line_t *line)
{
    weft_request_t *request = line->first;
    size_t elem = weft_dtype_size(request->args.dtype);
    if (!weft_port_can_send(line->port)) {
        return line->port->broken != WEFT_OK ? line->port->broken : WEFT_AGAIN;
    }
    uint64_t bytes = slice_of(state, request) * elem;
    weft_signature_t signature = signature_of(line);
    weft_status_t status =
        weft_comm_copy(state, weft_port_payload(line->port, bytes),
                       (const uint8_t *)request->args.send + request->moved * elem, bytes);
    if (status != WEFT_OK) {
        return status;
    }
    request->moved += bytes / elem;
    return weft_port_send(line->port, &signature, bytes, NULL);
}

static weft_status_t receive_slice(const weft_comm_state_t *state, weft_line_t *line)
{
    weft_request_t *request = line->first;
    size_t elem = weft_dtype_size(request->args.dtype);
    if (!weft_port_can_receive(line->port)) {
        return line->port->broken != WEFT_OK ? line->port->broken : WEFT_AGAIN;
    }
    uint64_t bytes = slice_of(state, request) * elem;
    weft_signature_t mine = signature_of(line);
    weft_signature_t theirs = *weft_port_signature(line->port);
    if (!weft_signature_equal(&mine, &theirs)) {
        return mismatch(state, line->peer, &mine, &theirs);
    }
    weft_status_t status =
        weft_comm_copy(state, (uint8_t *)request->args.recv + request->moved * elem,
                       weft_port_payload(line->port, bytes), bytes);
    if (status != WEFT_OK) {
        return status;
    }
    request->moved += bytes / elem;
    /* A peer that has sent its last message may be gone: that its slot cannot be offered again is the
     * next receive's failure, not this one's. */
    weft_status_t offered = weft_port_release(line->port);
    (void)offered;
    return WEFT_OK;
}

/* True when nothing of the line waits in our slots: after the last message nobody else would push it. */
static bool drained(const weft_line_t *line)
{
    return line->first->next != NULL || !weft_port_holds(line->port);
}

static weft_status_t run_line(weft_comm_state_t *state, weft_line_t *line, bool *moved_p)
{
    if (line->port == NULL) {
        line->port = weft_links_port(state->links, line->peer, CHANNEL, line->sends != 0);
        *moved_p |= line->port != NULL;
    }
    if (line->port == NULL) {
        return weft_links_progress(state->links);
    }
    while (line->first != NULL && is_due(line)) {
        weft_request_t *request = line->first;
        while (request->state != WEFT_OP_DRAINING) {
            weft_status_t status =
                line->sends ? send_slice(state, line) : receive_slice(state, line);
            if (status != WEFT_OK) {
                return status;
            }
            *moved_p = true;
            request->state =
                request->moved == request->args.count ? WEFT_OP_DRAINING : WEFT_OP_RUNNING;
        }
        if (!drained(line)) {
            return WEFT_AGAIN;
        }
        *moved_p = true;
        finish(line, WEFT_OK);
    }
    return WEFT_OK;
}

/* Messages to oneself meet in memory. */
static weft_status_t run_self(weft_comm_state_t *state, weft_line_t *from, weft_line_t *to,
                              bool *moved_p)
{
    while (from->first != NULL && to->first != NULL && is_due(from) && is_due(to)) {
        weft_signature_t theirs = signature_of(from), mine = signature_of(to);
        if (!weft_signature_equal(&mine, &theirs)) {
            return mismatch(state, state->rank, &mine, &theirs);
        }
        const weft_args_t *args = &to->first->args;
        size_t bytes = args->count * weft_dtype_size(args->dtype);
        weft_status_t status = weft_comm_copy(state, args->recv, from->first->args.send, bytes);
        if (status != WEFT_OK) {
            return status;
        }
        finish(from, WEFT_OK);
        finish(to, WEFT_OK);
        *moved_p = true;
    }
    return WEFT_OK;
}

static const char *what_for(const weft_line_t *line)
{
    return !is_due(line)        ? "behind a message that is in a stream"
           : line->port == NULL ? "to connect"
           : line->sends        ? "to take data"
                                : "for data";
}

static void fail_timeout(weft_comm_state_t *state, const weft_line_t *line, uint64_t now)
{
    const weft_request_t *request = line->first;
    weft_fail(WEFT_ERR_TIMEOUT, 0,
              "%s of %" PRIu64 " %s %s rank %u (message %" PRIu64
              ") not done after %.3g s: rank %u waits for rank %u %s",
              line->sends ? "send" : "receive", request->args.count,
              weft_dtype_name(request->args.dtype), line->sends ? "to" : "from", line->peer,
              request->sequence, (double)(now - request->started) / 1e9, state->rank, line->peer,
              what_for(line));
    weft_engine_fail(state, (int32_t)line->peer);
}

static bool has_left(weft_comm_state_t *state, const weft_line_t *line, uint64_t now)
{
    uint64_t at = atomic_load_explicit(&state->left_at[line->peer], memory_order_acquire);
    if (at == UINT64_MAX ||
        weft_comm_gone_for(state, line->peer, line->idle_since, now) < LEFT_BEHIND_NS) {
        return false;
    }
    weft_fail(WEFT_ERR_PEER_LEFT, 0,
              "rank %u left the communicator; rank %u waits for it %s (message %" PRIu64 ")",
              line->peer, state->rank, what_for(line), line->first->sequence);
    weft_engine_fail(state, (int32_t)line->peer);
    return true;
}

static void look_at(weft_comm_state_t *state, weft_line_t *line, uint64_t now)
{
    weft_request_t *request = line->first;
    if (request->started == 0) {
        request->started = now;
        request->deadline = weft_os_deadline(request->timeout);
    }
    if (line->idle_since == 0) {
        line->idle_since = line->checked = now;
    }
    if (request->deadline != WEFT_NEVER && now > request->deadline) {
        fail_timeout(state, line, now);
        return;
    }
    if (!is_due(line) || line->peer == state->rank || has_left(state, line, now)) {
        return;
    }
    if (line->port != NULL && now - line->checked > CHECK_NS) {
        line->checked = now;
        weft_status_t health = weft_links_check(state->links, line->port);
        if (health != WEFT_OK) {
            weft_error_record()->peer = (int32_t)line->peer;
            weft_engine_broken(state, health, (int32_t)line->peer);
        }
    }
}

static void look_around(weft_comm_state_t *state)
{
    uint64_t now = weft_os_clock_ns();
    for (uint32_t i = 0; i < state->p2p.nactive && !weft_comm_has_failed(state); i++) {
        look_at(state, &state->p2p.lines[state->p2p.active[i]], now);
    }
}

static void handle_failure(weft_comm_state_t *state, const weft_line_t *line, weft_status_t status)
{
    if (status == WEFT_ERR_PEER_DEAD || status == WEFT_ERR_LINK) {
        weft_engine_broken(state, status, (int32_t)line->peer);
    } else {
        weft_engine_fail(state, (int32_t)line->peer);
    }
}

static void step_line(weft_comm_state_t *state, weft_line_t *line, bool *moved_p)
{
    bool moved = false;
    weft_line_t *lines = state->p2p.lines;
    weft_status_t status = line->peer == state->rank ? run_self(state, &lines[2 * state->rank + 1],
                                                                &lines[2 * state->rank], &moved)
                                                     : run_line(state, line, &moved);
    if (moved) {
        line->idle_since = 0;
        *moved_p = true;
    }
    if (status < 0) {
        handle_failure(state, line, status);
    }
}

/* Forgets lines without work. */
static void tidy(weft_p2p_t *p2p)
{
    for (uint32_t i = 0; i < p2p->nactive;) {
        weft_line_t *line = &p2p->lines[p2p->active[i]];
        if (line->first != NULL) {
            i++;
            continue;
        }
        line->active = false;
        p2p->active[i] = p2p->active[--p2p->nactive];
    }
}

/* A line whose link broke. */
static weft_line_t *broken_line(const weft_p2p_t *p2p)
{
    for (uint32_t i = 0; i < p2p->nactive; i++) {
        weft_line_t *line = &p2p->lines[p2p->active[i]];
        if (line->port != NULL && line->port->broken != WEFT_OK) {
            return line;
        }
    }
    return NULL;
}

/* The link to a peer that has left breaks too: that is no failure of messages to others. */
static void transport_failed(weft_comm_state_t *state, weft_status_t status)
{
    const weft_p2p_t *p2p = &state->p2p;
    const weft_line_t *line = broken_line(p2p);
    if (line != NULL) {
        handle_failure(state, line, status);
    } else if (status != WEFT_ERR_PEER_DEAD && status != WEFT_ERR_LINK) {
        handle_failure(state, &p2p->lines[p2p->active[0]], status);
    }
}

bool weft_p2p_step(weft_comm_state_t *state)
{
    weft_p2p_t *p2p = &state->p2p;
    bool moved = false;
    for (uint32_t i = 0; i < p2p->nactive && !weft_comm_has_failed(state); i++) {
        weft_line_t *line = &p2p->lines[p2p->active[i]];
        if (line->first != NULL) {
            step_line(state, line, &moved);
        }
    }
    tidy(p2p);
    if (moved) {
        p2p->steps = 0;
        return true;
    }
    weft_status_t status = state->nranks > 1 ? weft_engine_transport(state, &moved) : WEFT_OK;
    if (status != WEFT_OK && p2p->nactive > 0) {
        transport_failed(state, status);
    }
    if (++p2p->steps % STEPS_PER_LOOK == 0) {
        look_around(state);
    }
    return moved;
}

void weft_p2p_fail(weft_comm_state_t *state)
{
    weft_p2p_t *p2p = &state->p2p;
    for (uint32_t i = 0; i < p2p->nactive; i++) {
        weft_line_t *line = &p2p->lines[p2p->active[i]];
        while (line->first != NULL) {
            finish(line, weft_comm_failure(state));
        }
    }
    if (p2p->nactive > 0) {
        tidy(p2p);
    }
}

weft_port_t *weft_p2p_blocked(const weft_comm_state_t *state)
{
    const weft_p2p_t *p2p = &state->p2p;
    return p2p->nactive == 1 ? p2p->lines[p2p->active[0]].port : NULL;
}
