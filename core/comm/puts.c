/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See puts.h. */
#include "core/comm/puts.h"

#include <inttypes.h>

#include "core/base/error.h"
#include "core/comm/p2p.h"
#include "core/comm/p2p_look.h"
#include "core/comm/p2p_stripes.h"

/* Questions after which the next one is no later: 64 ms behind the one before. */
#define ASKS_SLOWER 6u

/* Arrivals ------------------------------------------------------------------------------------- */

/* Finds where the bytes of a put go. AGAIN: its window is not registered here yet. */
static weft_status_t puts_find_place(const weft_comm_state_t *state, const weft_args_t *args,
                                     uint8_t **place_p)
{
    const uint64_t bytes = args->count;
    const weft_window_t *window = weft_window_numbered(&state->windows, args->target);
    bool early = bytes > 0 && window == NULL && args->target > state->windows.registered;
    *place_p = NULL;
    state->windows.puts->from[args->root].awaits = early ? args->target : 0;
    if (bytes == 0 || early) {
        return early ? WEFT_AGAIN : WEFT_OK;
    }
    if (window == NULL) {
        return weft_fail(WEFT_ERR_MISMATCH, 0,
                         "rank %u put %" PRIu64 " bytes into window %u of rank %u, which has been "
                         "deregistered there",
                         args->root, bytes, args->target, state->self.rank);
    }
    if (args->offset > window->bytes || bytes > window->bytes - args->offset) {
        return weft_fail(WEFT_ERR_MISMATCH, 0,
                         "rank %u put %" PRIu64 " bytes at offset %" PRIu64
                         " into window %u of rank %u, which has %" PRIu64 " bytes there",
                         args->root, bytes, args->offset, args->target, state->self.rank,
                         window->bytes);
    }
    *place_p = (uint8_t *)window->memory + args->offset;
    return WEFT_OK;
}

/* Calls the receive of the put whose first slice is here. */
static weft_status_t puts_begin_arrival(const weft_comm_state_t *state, weft_put_source_t *source)
{
    weft_p2p_queue_t *queue = &source->queue;
    const weft_signature_t put = *weft_port_signature(queue->port);
    weft_args_t args = weft_put_arrival(&put, queue->peer);
    uint8_t *place;
    weft_status_t status = puts_find_place(state, &args, &place);
    if (status == WEFT_OK) {
        args.recv = place;
        source->arrival =
            (weft_request_t){.args = args,
                             .state = WEFT_OP_QUEUED,
                             .deadline = WEFT_NEVER,
                             .sequence = weft_put_arrival_number(&put, queue->completed)};
        queue->first = queue->last = &source->arrival;
    }
    return status;
}

/* Takes what is here of the puts of one rank. */
static weft_status_t puts_receive(weft_comm_state_t *state, weft_put_source_t *source,
                                  bool *moved_p)
{
    weft_p2p_queue_t *queue = &source->queue;
    weft_status_t status = WEFT_OK;
    while (status == WEFT_OK && (queue->first != NULL || weft_port_can_receive(queue->port))) {
        if (queue->first == NULL) {
            status = puts_begin_arrival(state, source);
        }
        if (status == WEFT_OK) {
            status = weft_p2p_run_queue(state, queue, moved_p);
        }
        source->signals += status == WEFT_OK;
    }
    return status;
}

static weft_status_t puts_listen(weft_comm_state_t *state, weft_put_source_t *source, bool *moved_p)
{
    if (source->queue.port == NULL) {
        if (weft_p2p_stripes_connect(state, &source->queue) == NULL) {
            return weft_links_progress(state->links);
        }
        *moved_p = true;
    }
    return puts_receive(state, source, moved_p);
}

static void puts_listen_to_all(weft_comm_state_t *state, bool *moved_p)
{
    weft_puts_t *puts = state->windows.puts;
    for (uint32_t i = 0; i < puts->nlistening && !weft_comm_has_failed(state); i++) {
        weft_put_source_t *source = &puts->from[puts->listening[i]];
        if (source->queue.peer == state->self.rank) {
            continue;
        }
        bool moved = false;
        weft_status_t status = puts_listen(state, source, &moved);
        if (moved) {
            source->queue.idle_since = 0;
            weft_p2p_receives(&puts->p2p, source->queue.peer)->idle_since = 0;
            *moved_p = true;
        }
        /* Who has left puts no more; what a link says without a put is for those who wait. A link
         * that cannot be made is waited for, perhaps by the peer, which does not know. */
        bool waits = source->queue.first != NULL || source->queue.port == NULL;
        if (status < 0 && (waits || (status != WEFT_ERR_LINK && status != WEFT_ERR_PEER_DEAD))) {
            weft_p2p_handle_failure(state, &source->queue, status);
        }
    }
}

/* Returns a rank whose put has begun to arrive in the window, or NULL. */
static weft_put_source_t *puts_find_filling(const weft_puts_t *puts, const weft_window_t *window)
{
    weft_put_source_t *found = NULL;
    for (uint32_t i = 0; puts != NULL && found == NULL && i < puts->nlistening; i++) {
        weft_put_source_t *source = &puts->from[puts->listening[i]];
        bool fills = source->queue.first != NULL && source->arrival.args.target == window->name;
        found = fills ? source : NULL;
    }
    return found;
}

bool weft_puts_fill(weft_comm_state_t *state, const weft_window_t *window)
{
    weft_put_source_t *source = puts_find_filling(state->windows.puts, window);
    if (source == NULL) {
        return false;
    }
    weft_p2p_queue_t *queue = &source->queue;
    const uint64_t now = weft_os_clock_ns();
    if (queue->idle_since == 0) {
        queue->idle_since = queue->watch.checked = now;
        queue->watch.waited = 0;
    }
    weft_p2p_look(state,
                  &(weft_p2p_wait_t){.request = &source->arrival,
                                     .port = queue->port,
                                     .idle_since = queue->idle_since,
                                     .watch = &queue->watch},
                  now);
    return true;
}

/* Listens to the ranks that have asked since the last look. */
static void puts_hear(weft_comm_state_t *state)
{
    uint32_t askers = weft_window_askers(&state->windows);
    weft_puts_t *puts = state->windows.puts;
    if (puts->heard == askers) {
        return;
    }
    puts->heard = askers;
    for (uint32_t r = 0; r < state->self.nranks; r++) {
        if (atomic_load_explicit(&state->peers[r].puts, memory_order_relaxed)) {
            weft_puts_listen_to(puts, r);
        }
    }
}

void weft_puts_note_asked(weft_comm_state_t *state, uint32_t peer)
{
    if (!atomic_exchange_explicit(&state->peers[peer].puts, true, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&state->windows.askers, 1, memory_order_release);
    }
}

/* Calls ---------------------------------------------------------------------------------------- */

/* Copies puts of this rank to itself. */
static weft_status_t puts_run_self(weft_comm_state_t *state, weft_p2p_queue_t *queue, bool *moved_p)
{
    while (queue->first != NULL && weft_p2p_queue_is_due(queue)) {
        const weft_signature_t put = weft_p2p_signature(queue->first);
        weft_args_t args = weft_put_arrival(&put, state->self.rank);
        uint8_t *place;
        weft_status_t status = puts_find_place(state, &args, &place);
        if (status == WEFT_OK && place != NULL && place != queue->first->args.send) {
            status =
                weft_memory_copy(state->self.family, place, queue->first->args.send, args.count);
        }
        if (status != WEFT_OK) {
            return status;
        }
        state->windows.puts->from[state->self.rank].signals++;
        weft_p2p_queue_finish(queue, WEFT_OK);
        *moved_p = true;
    }
    return WEFT_OK;
}

/* A question is lost on a peer that is still in the call that makes the communicator. It has come
 * out of it once there is a connection. */
static void puts_ask(const weft_comm_state_t *state, weft_put_source_t *source,
                     const weft_p2p_queue_t *queue)
{
    const uint64_t now = source->asked ? 0 : weft_os_clock_ns();
    if (source->asked || (queue->port == NULL && now < source->ask_at)) {
        return;
    }
    source->asked = queue->port != NULL;
    source->ask_at = now + (WEFT_NS_PER_MS << source->asks);
    source->asks += source->asks < ASKS_SLOWER;
    weft_p2p_ask_to_listen(state, queue->peer);
}

static weft_status_t puts_run_puts(weft_comm_state_t *state, weft_p2p_queue_t *queue, bool *moved_p)
{
    weft_put_source_t *source = &state->windows.puts->from[queue->peer];
    if (queue->peer == state->self.rank) {
        return puts_run_self(state, queue, moved_p);
    }
    puts_ask(state, source, queue);
    return weft_p2p_run_queue(state, queue, moved_p);
}

/* Completes the waits for which enough signals have come. */
static weft_status_t puts_run_waits(weft_comm_state_t *state, weft_p2p_queue_t *queue,
                                    bool *moved_p)
{
    weft_put_source_t *source = &state->windows.puts->from[queue->peer];
    weft_puts_listen_to(state->windows.puts, queue->peer);
    queue->port = source->queue.port;
    while (queue->first != NULL && weft_p2p_queue_is_due(queue) &&
           source->signals - source->taken >= queue->first->args.count) {
        source->taken += queue->first->args.count;
        weft_p2p_queue_finish(queue, WEFT_OK);
        *moved_p = true;
    }
    return WEFT_OK;
}

static void puts_run_calls(weft_comm_state_t *state, bool *moved_p)
{
    weft_p2p_t *p2p = &state->windows.puts->p2p;
    for (uint32_t i = 0; i < p2p->nactive && !weft_comm_has_failed(state); i++) {
        weft_p2p_queue_t *queue = &p2p->queues[p2p->active[i]];
        bool moved = false;
        weft_status_t status = queue->sends != 0 ? puts_run_puts(state, queue, &moved)
                                                 : puts_run_waits(state, queue, &moved);
        if (moved) {
            queue->idle_since = 0;
            *moved_p = true;
        }
        if (status < 0) {
            weft_p2p_handle_failure(state, queue, status);
        }
    }
    weft_p2p_tidy(p2p);
}

/* Polls the transports, unless an operation of another kind does. */
static void puts_poll(weft_comm_state_t *state, bool *moved_p)
{
    if (state->self.nranks == 1 || state->queue.first != NULL || weft_p2p_is_busy(&state->p2p)) {
        return;
    }
    weft_status_t status = weft_comm_poll_transports(state, moved_p);
    if (status != WEFT_OK) {
        weft_p2p_transport_failed(state, &state->windows.puts->p2p, status);
    }
}

bool weft_puts_step(weft_comm_state_t *state)
{
    bool moved = false;
    weft_assert_owner(state);
    if (state->windows.puts == NULL &&
        weft_puts_create(state->self.nranks, &state->windows.puts) != WEFT_OK) {
        weft_comm_fail(state, -1);
        return false;
    }
    weft_puts_t *puts = state->windows.puts;
    puts_hear(state);
    puts_listen_to_all(state, &moved);
    puts_run_calls(state, &moved);
    if (moved) {
        puts->p2p.steps = 0;
        return true;
    }
    if (!weft_comm_has_failed(state)) {
        puts_poll(state, &moved);
    }
    if (++puts->p2p.steps % WEFT_STEPS_PER_LOOK == 0 && !weft_comm_has_failed(state)) {
        weft_p2p_look_around(state, &puts->p2p);
    }
    return moved;
}

void weft_puts_find_blocked(const weft_comm_state_t *state, weft_blocked_t *blocked)
{
    const weft_puts_t *puts = state->windows.puts;
    for (uint32_t i = 0; puts != NULL && i < puts->p2p.nactive; i++) {
        const weft_p2p_queue_t *queue = &puts->p2p.queues[puts->p2p.active[i]];
        /* A put that is here and waits for its window keeps its port ready. */
        bool here = queue->sends == 0 && puts->from[queue->peer].awaits != 0;
        weft_blocked_add(blocked, here ? NULL : weft_p2p_queue_blocked(queue));
    }
    for (uint32_t i = 0; puts != NULL && i < puts->nlistening; i++) {
        const weft_put_source_t *source = &puts->from[puts->listening[i]];
        weft_port_t *port = source->queue.port;
        /* What comes in messages can wait until this rank has what it waits for. */
        if (port != NULL && weft_port_is_mapped(port) && source->awaits == 0) {
            weft_blocked_add(blocked, port);
        }
    }
}

void weft_puts_fail(weft_comm_state_t *state)
{
    if (state->windows.puts != NULL) {
        weft_p2p_fail_queues(state, &state->windows.puts->p2p);
    }
}
