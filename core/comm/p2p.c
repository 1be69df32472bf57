/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress of sends and receives. */
#include "core/base/dtype.h"
#include "core/comm/p2p.h"

#include <inttypes.h>

#include "core/base/copy.h"
#include "core/base/error.h"
#include "core/comm/p2p_any.h"
#include "core/comm/p2p_look.h"
#include "core/comm/p2p_stripes.h"
#include "core/comm/wanted_links.h"
#include "core/comm/watchdog.h"
#include "core/exec/nt_tuner.h"
#include "core/exec/zero_copy.h"

static weft_signature_t p2p_signature_of(const weft_p2p_queue_t *queue)
{
    return weft_p2p_signature(queue->first);
}

/* Returns the elements of the slice that begins with element `at`. Most messages are one slice, and
 * a division takes as long as ten other instructions. */
static uint64_t p2p_slice_at(const weft_p2p_queue_t *queue, size_t elem, uint64_t at)
{
    uint64_t left = queue->first->args.count - at, most = queue->cut.slice;
    return left * elem <= most ? left : most / elem;
}

/* Returns the elements of the next slice. */
static uint64_t p2p_slice_of(const weft_p2p_queue_t *queue, size_t elem)
{
    return p2p_slice_at(queue, elem, queue->first->moved);
}

/* Says where the receiver can read the bytes in place, so that they are copied once. A small
 * message is copied, so that its sender need not wait until it has been read. The target of a put
 * takes it in any call, also in the one that ends the window where the bytes are. */
static weft_zero_copy_t p2p_describe(const weft_comm_state_t *state, const weft_p2p_queue_t *queue,
                                     const void *from, uint64_t bytes, size_t elem)
{
    uint64_t all = queue->first->args.count * elem;
    if (all < WEFT_ZERO_COPY_LEAST || state->self.family->kernel.memory != NULL) {
        return (weft_zero_copy_t){.window = 0};
    }
    return queue->first->args.one_sided != WEFT_ONE_SIDED_NONE
               ? weft_zero_copy_describe_arena(queue->port, from, bytes)
               : weft_zero_copy_describe(queue->port, from, bytes);
}

/* Copies between a buffer and a slot. */
static weft_status_t p2p_copy(const weft_comm_state_t *state, void *to, const void *from,
                              uint64_t bytes)
{
    if (state->self.family->kernel.memory != NULL || bytes == 0) {
        return weft_memory_copy(state->self.family, to, from, bytes);
    }
    weft_copy(to, from, bytes);
    return WEFT_OK;
}

static weft_status_t p2p_store(const weft_comm_state_t *state, weft_store_t way, void *to,
                               const void *from, uint64_t bytes)
{
    if (way == WEFT_STORE_CACHED) {
        return p2p_copy(state, to, from, bytes);
    }
    const weft_combine_t c = {
        .src = {from}, .dst = {to}, .count = bytes, .nsrc = 1, .ndst = 1, .nt_mask = 1};
    return weft_combiner_run(&state->self.family->kernel.copy, &c);
}

/* Copies a timed payload into the next slot. */
static weft_status_t p2p_try(const weft_comm_state_t *state, weft_mapped_port_t *mapped, void *to,
                             const void *from, uint64_t bytes)
{
    const uint64_t number = mapped->port.next, began = weft_os_clock_ns();
    const uint64_t report = atomic_load_explicit(&mapped->control->report, memory_order_relaxed);
    const weft_store_t way = weft_store_trials_begin(&mapped->trials, number, bytes, report);
    weft_status_t status = p2p_store(state, way, to, from, bytes);
    weft_os_drain_stores(); /* they may still wait for lines of the other core */
    weft_store_trials_end(&mapped->trials, number, weft_os_clock_ns() - began);
    return status;
}

/* Returns whether payloads may go past the caches, and some of them are timed. */
static bool p2p_has_trials(const weft_comm_state_t *state, const weft_port_t *port, uint64_t bytes)
{
    return bytes >= WEFT_NT_STORE_BYTES && port->kind == WEFT_PORT_MAPPED &&
           state->self.family->kernel.copy.fn != NULL;
}

/* Copies a payload into the next slot. */
static weft_status_t p2p_fill(const weft_comm_state_t *state, weft_port_t *port, const void *from,
                              uint64_t bytes)
{
    void *to = weft_port_payload(port, bytes);
    if (!p2p_has_trials(state, port, bytes)) {
        return p2p_copy(state, to, from, bytes);
    }
    weft_mapped_port_t *mapped = weft_mapped_port(port);
    return weft_store_is_timed(port->next)
               ? p2p_try(state, mapped, to, from, bytes)
               : p2p_store(state, (weft_store_t)mapped->trials.chosen, to, from, bytes);
}

/* Copies a payload out of the next slot. */
static weft_status_t p2p_empty(const weft_comm_state_t *state, weft_port_t *port, void *to,
                               const void *from, uint64_t bytes)
{
    if (!weft_store_is_timed(port->next) || !p2p_has_trials(state, port, bytes)) {
        return p2p_copy(state, to, from, bytes);
    }
    const uint64_t began = weft_os_clock_ns();
    weft_status_t status = p2p_copy(state, to, from, bytes);
    const uint64_t report = weft_store_report(port->next, weft_os_clock_ns() - began);
    atomic_store_explicit(&weft_mapped_port(port)->control->report, report, memory_order_relaxed);
    return status;
}

static weft_status_t p2p_send_slice(const weft_comm_state_t *state, weft_p2p_queue_t *queue)
{
    weft_request_t *request = queue->first;
    size_t elem = weft_dtype_bytes(request->args.dtype);
    uint64_t slice = p2p_slice_of(queue, elem), bytes = slice * elem;
    if (!weft_port_can_send(queue->port, bytes)) {
        return queue->port->broken != WEFT_OK ? queue->port->broken : WEFT_AGAIN;
    }
    const uint8_t *from = (const uint8_t *)request->args.send + request->moved * elem;
    weft_signature_t signature = p2p_signature_of(queue);
    if (weft_message_port_sends_apart(queue->port, bytes)) {
        request->moved += slice;
        return weft_message_port_send_apart(queue->port, &signature, bytes, from);
    }
    weft_zero_copy_t where = p2p_describe(state, queue, from, bytes, elem);
    weft_status_t status = where.window == 0 ? weft_port_commit(queue->port, bytes) : WEFT_OK;
    if (where.window == 0 && status == WEFT_OK) {
        status = p2p_fill(state, queue->port, from, bytes);
    }
    if (status != WEFT_OK) {
        return status;
    }
    request->moved += slice;
    return weft_port_send(queue->port, &signature, bytes, &where);
}

/* Copies the next message to its place. AGAIN: its sender has failed, and it must not be used. */
static weft_status_t p2p_take(const weft_comm_state_t *state, weft_p2p_queue_t *queue, uint8_t *to,
                              uint64_t bytes)
{
    weft_port_t *port = queue->port;
    const uint8_t *from = NULL;
    weft_status_t status = WEFT_OK;
    if (weft_port_may_be_apart(port, bytes)) {
        status =
            weft_zero_copy_resolve(port, bytes, weft_dtype_bytes(queue->first->args.dtype), &from);
    }
    if (status != WEFT_OK) {
        return status;
    }
    const uint8_t *payload = from != NULL ? from : weft_port_payload(port, bytes);
    status = from != NULL    ? p2p_copy(state, to, from, bytes)
             : payload != to ? p2p_empty(state, port, to, payload, bytes)
                             : WEFT_OK;
    if (status == WEFT_OK && from != NULL && weft_zero_copy_is_withdrawn(port)) {
        status = WEFT_AGAIN;
    }
    if (status != WEFT_OK) {
        weft_zero_copy_abandon(port);
    }
    return status;
}

/* Asks for the next slices of the port at their place in the buffer. */
static void p2p_place(const weft_p2p_queue_t *queue)
{
    const weft_request_t *request = queue->first;
    size_t elem = weft_dtype_bytes(request->args.dtype);
    uint64_t at = request->moved;
    for (uint32_t ahead = 0; ahead < queue->port->slots && at < request->args.count; ahead++) {
        uint64_t slice = p2p_slice_at(queue, elem, at);
        weft_message_port_place(queue->port, ahead, (uint8_t *)request->args.recv + at * elem,
                                slice * elem);
        at += slice * queue->cut.count;
    }
}

static weft_status_t p2p_receive_slice(const weft_comm_state_t *state, weft_p2p_queue_t *queue)
{
    weft_request_t *request = queue->first;
    size_t elem = weft_dtype_bytes(request->args.dtype);
    if (!weft_port_can_receive(queue->port)) {
        if (weft_message_port_sends_apart(queue->port,
                                          (request->args.count - request->moved) * elem)) {
            p2p_place(queue);
        }
        return queue->port->broken != WEFT_OK ? queue->port->broken : WEFT_AGAIN;
    }
    uint64_t slice = p2p_slice_of(queue, elem), bytes = slice * elem;
    weft_signature_t mine = p2p_signature_of(queue);
    weft_signature_t theirs = *weft_port_signature(queue->port);
    if (!weft_signature_equal(&mine, &theirs)) {
        return weft_p2p_mismatch(state, queue->peer, &mine, &theirs);
    }
    weft_status_t status =
        p2p_take(state, queue, (uint8_t *)request->args.recv + request->moved * elem, bytes);
    if (status != WEFT_OK) {
        return status;
    }
    request->moved += slice;
    /* A peer that has sent its last message may be gone. If its slot cannot be offered again, the
     * next receive fails, not this one. */
    weft_status_t offered = weft_port_release(queue->port);
    (void)offered;
    return WEFT_OK;
}

static bool p2p_port_drained(const weft_p2p_queue_t *queue, weft_port_t *port)
{
    const weft_args_t *args = &queue->first->args;
    return weft_port_is_returned(port) &&
           (!weft_port_holds(port) ||
            (queue->first->next != NULL && queue->cut.count == 1 &&
             !weft_message_port_sends_apart(port, args->count * weft_dtype_bytes(args->dtype))));
}

/* True if the peer has read what it reads in place, and no message of the queue waits here: after
 * the last message that uses a port nothing else would push it, and what is sent from the buffer of
 * the request must not change. */
static bool p2p_drained(const weft_p2p_queue_t *queue)
{
    bool drained = true;
    for (uint32_t i = 0; queue->sends && drained && i < queue->cut.count; i++) {
        weft_port_t *port = weft_p2p_stripes_port(queue, i);
        drained = port == NULL || p2p_port_drained(queue, port);
    }
    return drained;
}

/* Connects the port of the next slice. */
static weft_status_t p2p_connect(weft_comm_state_t *state, weft_p2p_queue_t *queue, bool *moved_p)
{
    if (queue->port != NULL) {
        return WEFT_OK;
    }
    if (weft_p2p_stripes_connect(state, queue) != NULL) {
        *moved_p = true;
        return WEFT_OK;
    }
    weft_status_t status = weft_links_progress(state->links);
    return status == WEFT_OK ? WEFT_IN_PROGRESS : status;
}

/* Moves what can be moved of the first message, which is due. */
static weft_status_t p2p_run_message(weft_comm_state_t *state, weft_p2p_queue_t *queue,
                                     bool *moved_p)
{
    weft_request_t *request = queue->first;
    weft_status_t status =
        request->state == WEFT_OP_QUEUED ? weft_p2p_stripes_begin(state, queue) : WEFT_OK;
    while (status == WEFT_OK && request->state != WEFT_OP_DRAINING) {
        status = p2p_connect(state, queue, moved_p);
        if (status == WEFT_OK) {
            status = queue->sends ? p2p_send_slice(state, queue) : p2p_receive_slice(state, queue);
        }
        if (status == WEFT_OK) {
            *moved_p = true;
            weft_p2p_stripes_next(queue);
            request->state =
                request->moved == request->args.count ? WEFT_OP_DRAINING : WEFT_OP_RUNNING;
        }
    }
    if (status == WEFT_AGAIN) {
        weft_status_t asked = weft_p2p_stripes_ask(state, queue);
        status = asked < 0 ? asked : status;
    }
    return status;
}

weft_status_t weft_p2p_run_queue(weft_comm_state_t *state, weft_p2p_queue_t *queue, bool *moved_p)
{
    weft_status_t status = p2p_connect(state, queue, moved_p);
    while (status == WEFT_OK && queue->first != NULL && weft_p2p_queue_is_due(queue)) {
        status = p2p_run_message(state, queue, moved_p);
        status = status == WEFT_OK && !p2p_drained(queue) ? WEFT_AGAIN : status;
        if (status == WEFT_OK) {
            *moved_p = true;
            weft_p2p_stripes_end(queue);
            weft_p2p_queue_finish(queue, WEFT_OK);
        }
    }
    return status;
}

/* Copies messages of this rank to itself. */
static weft_status_t p2p_run_self(weft_comm_state_t *state, weft_p2p_queue_t *from,
                                  weft_p2p_queue_t *to, bool *moved_p)
{
    while (from->first != NULL && to->first != NULL && weft_p2p_queue_is_due(from) &&
           weft_p2p_queue_is_due(to)) {
        weft_signature_t theirs = p2p_signature_of(from), mine = p2p_signature_of(to);
        if (!weft_signature_equal(&mine, &theirs)) {
            return weft_p2p_mismatch(state, state->self.rank, &mine, &theirs);
        }
        const weft_args_t *args = &to->first->args;
        size_t bytes = args->count * weft_dtype_bytes(args->dtype);
        weft_status_t status =
            weft_memory_copy(state->self.family, args->recv, from->first->args.send, bytes);
        if (status != WEFT_OK) {
            return status;
        }
        weft_p2p_queue_finish(from, WEFT_OK);
        weft_p2p_queue_finish(to, WEFT_OK);
        *moved_p = true;
    }
    return WEFT_OK;
}

/* Looking -------------------------------------------------------------------------------------- */

static void p2p_look_at(weft_comm_state_t *state, weft_p2p_queue_t *queue, uint64_t now)
{
    weft_request_t *request = queue->first;
    if (request->started == 0) {
        weft_request_begin(request, now);
    }
    if (queue->idle_since == 0) {
        queue->idle_since = queue->watch.checked = queue->watch.asked = now;
        queue->watch.waited = 0;
    }
    if (queue->port == NULL && queue->sends != 0 &&
        weft_wanted_links_ask_now(&queue->watch.asked, queue->idle_since, now)) {
        weft_wanted_links_ask(state, queue->peer, weft_stripe_link(queue->stripe, queue->channel));
    }
    weft_comm_record_wait(state, request, (int32_t)queue->peer, now);
    weft_p2p_look(state,
                  &(weft_p2p_wait_t){.request = request,
                                     .port = queue->port,
                                     .idle_since = queue->idle_since,
                                     .watch = &queue->watch,
                                     .behind = !weft_p2p_queue_is_due(queue)},
                  now);
}

void weft_p2p_look_around(weft_comm_state_t *state, weft_p2p_t *p2p)
{
    uint64_t now = weft_os_clock_ns();
    weft_wanted_links_listen(state, now);
    if (p2p->held_first != NULL) {
        weft_p2p_any_look(state, now);
    }
    for (uint32_t i = 0; i < p2p->nactive && !weft_comm_has_failed(state); i++) {
        p2p_look_at(state, &p2p->queues[p2p->active[i]], now);
    }
}

void weft_p2p_handle_failure(weft_comm_state_t *state, const weft_p2p_queue_t *queue,
                             weft_status_t status)
{
    if (status == WEFT_ERR_PEER_DEAD || status == WEFT_ERR_LINK) {
        weft_watchdog_link_broke(state, status, (int32_t)queue->peer);
    } else {
        /* Whoever makes links makes those of all queues, and names the peer of the one that
         * fails. */
        const int32_t named = weft_error_record()->peer;
        weft_comm_fail(state, named >= 0 ? named : (int32_t)queue->peer);
    }
}

/* Steps ---------------------------------------------------------------------------------------- */

static void p2p_step_queue(weft_comm_state_t *state, weft_p2p_queue_t *queue, bool *moved_p)
{
    bool moved = false;
    weft_p2p_queue_t *queues = state->p2p.queues;
    weft_status_t status = queue->peer == state->self.rank
                               ? p2p_run_self(state, &queues[2 * state->self.rank + 1],
                                              &queues[2 * state->self.rank], &moved)
                               : weft_p2p_run_queue(state, queue, &moved);
    if (moved) {
        queue->idle_since = 0;
        *moved_p = true;
    }
    if (status < 0) {
        weft_p2p_handle_failure(state, queue, status);
    }
}

/* Returns whether it is the turn of a message that is one slice in memory which its peer shares. No
 * other operation, which a step would move as well, is under way. */
static bool p2p_goes_at_once(const weft_comm_state_t *state, const weft_p2p_queue_t *queue,
                             const weft_request_t *request)
{
    const weft_family_t *family = state->self.family;
    uint64_t bytes = request->args.send_bytes | request->args.recv_bytes;
    return queue->first == NULL && queue->port != NULL && queue->port->kind == WEFT_PORT_MAPPED &&
           request->sequence == queue->completed + 1 && bytes < WEFT_ZERO_COPY_LEAST &&
           bytes <= family->slot_bytes && family->kernel.memory == NULL && state->streams == NULL &&
           state->queue.first == NULL && weft_window_askers(&state->windows) == 0;
}

static void p2p_watch(const weft_comm_state_t *state, weft_port_t *port)
{
    const uint32_t looks = weft_waiter_looks(&state->waiter);
    for (uint32_t i = 0; i < looks && !weft_port_can_receive(port); i++) {
        weft_os_pause();
    }
}

bool weft_p2p_run_at_once(weft_comm_state_t *state, weft_request_t *request)
{
    weft_assert_owner(state);
    if (request->held || request->args.one_sided != WEFT_ONE_SIDED_NONE) {
        return false;
    }
    weft_p2p_queue_t *queue = weft_p2p_queue_of(&state->p2p, request);
    if (!p2p_goes_at_once(state, queue, request)) {
        return false;
    }
    if (!queue->sends) {
        p2p_watch(state, queue->port);
    }
    request->moved = 0;
    request->next = NULL;
    queue->first = request;
    queue->cut = (weft_stripes_t){.count = 1, .slice = state->self.family->slot_bytes};
    /* What fails here fails again in a step, which knows what to do about it. */
    if ((queue->sends ? p2p_send_slice(state, queue) : p2p_receive_slice(state, queue)) !=
        WEFT_OK) {
        queue->first = NULL;
        return false;
    }
    weft_p2p_queue_finish(queue, WEFT_OK);
    return true;
}

static bool p2p_is_broken(const weft_p2p_queue_t *queue)
{
    bool broken = queue->port != NULL && queue->port->broken != WEFT_OK;
    for (uint32_t i = 1; !broken && i < queue->cut.count; i++) {
        const weft_port_t *port = weft_p2p_stripes_port(queue, i);
        broken = port != NULL && port->broken != WEFT_OK;
    }
    return broken;
}

/* Returns a queue whose link broke, or NULL. */
static weft_p2p_queue_t *p2p_broken_queue(const weft_p2p_t *p2p)
{
    for (uint32_t i = 0; i < p2p->nactive; i++) {
        weft_p2p_queue_t *queue = &p2p->queues[p2p->active[i]];
        if (p2p_is_broken(queue)) {
            return queue;
        }
    }
    return NULL;
}

/* The link to a peer that has left breaks too, which is no failure of messages to others. */
void weft_p2p_transport_failed(weft_comm_state_t *state, const weft_p2p_t *p2p,
                               weft_status_t status)
{
    const weft_p2p_queue_t *queue = p2p_broken_queue(p2p);
    if (p2p->nactive == 0) {
        return;
    }
    if (queue != NULL) {
        weft_p2p_handle_failure(state, queue, status);
    } else if (status != WEFT_ERR_PEER_DEAD && status != WEFT_ERR_LINK) {
        weft_comm_fail(state, weft_error_record()->peer); /* of no queue in particular */
    }
}

bool weft_p2p_step(weft_comm_state_t *state)
{
    weft_p2p_t *p2p = &state->p2p;
    bool moved = false;
    weft_assert_owner(state);
    for (uint32_t i = 0; i < p2p->nactive && !weft_comm_has_failed(state); i++) {
        weft_p2p_queue_t *queue = &p2p->queues[p2p->active[i]];
        if (queue->first != NULL) {
            p2p_step_queue(state, queue, &moved);
        }
    }
    weft_p2p_tidy(p2p);
    if (p2p->held_first != NULL && !weft_comm_has_failed(state)) {
        moved |= weft_p2p_any_step(state);
    }
    if (moved) {
        p2p->steps = 0;
        return true;
    }
    weft_status_t status =
        state->self.nranks > 1 ? weft_comm_poll_transports(state, &moved) : WEFT_OK;
    if (status != WEFT_OK) {
        weft_p2p_transport_failed(state, p2p, status);
    }
    if (++p2p->steps % WEFT_STEPS_PER_LOOK == 0) {
        weft_p2p_look_around(state, p2p);
    }
    return moved;
}

void weft_p2p_fail_queues(weft_comm_state_t *state, weft_p2p_t *p2p)
{
    for (uint32_t i = 0; i < p2p->nactive; i++) {
        weft_p2p_queue_t *queue = &p2p->queues[p2p->active[i]];
        while (queue->first != NULL) {
            weft_p2p_queue_finish(queue, weft_comm_failure(state));
        }
    }
    if (p2p->nactive > 0) {
        weft_p2p_tidy(p2p);
    }
}

void weft_p2p_fail(weft_comm_state_t *state)
{
    weft_assert_owner(state);
    weft_p2p_any_fail(state);
    weft_p2p_fail_queues(state, &state->p2p);
}

weft_port_t *weft_p2p_queue_blocked(const weft_p2p_queue_t *queue)
{
    bool connects = queue->cut.count > 1 && queue->connected < queue->cut.count;
    return connects ? NULL : queue->port; /* a stripe that is not connected needs this rank */
}

void weft_p2p_find_blocked(const weft_comm_state_t *state, weft_blocked_t *blocked)
{
    const weft_p2p_t *p2p = &state->p2p;
    for (uint32_t i = 0; i < p2p->nactive; i++) {
        const weft_p2p_queue_t *queue = &p2p->queues[p2p->active[i]];
        if (queue->first != NULL) {
            weft_blocked_add(blocked, weft_p2p_queue_blocked(queue));
        }
    }
    if (p2p->held_first != NULL) {
        weft_p2p_any_find_blocked(state, blocked);
    }
}
