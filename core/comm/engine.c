/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The engine: advances the operations of one communicator, in order, without blocking; and the loop
 * around it that waits. */
#include <inttypes.h>

#include "core/base/error.h"
#include "core/comm/streams.h"

/* Idle steps between looks at the clock: a look costs about as much as a step. */
#define STEPS_PER_LOOK 64u

void weft_engine_number(weft_comm_state_t *state, weft_request_t *request)
{
    request->sequence =
        request->args.coll == WEFT_SEND_RECV ? weft_p2p_number(state, request) : ++state->sequence;
}

weft_request_t **weft_request_place(weft_request_t **first, weft_request_t *last,
                                    const weft_request_t *request)
{
    weft_request_t **place = first;
    if (last != NULL && last->sequence <= request->sequence) {
        return &last->next;
    }
    while (*place != NULL && ((*place)->state != WEFT_OP_QUEUED || (*place)->sequence == 0 ||
                              (*place)->sequence < request->sequence)) {
        place = &(*place)->next;
    }
    return place;
}

void weft_engine_insert(weft_comm_state_t *state, weft_request_t *request)
{
    request->appended = true;
    if (request->args.coll == WEFT_SEND_RECV) {
        weft_p2p_append(state, request);
        return;
    }
    weft_request_t **place = weft_request_place(&state->first, state->last, request);
    request->next = *place;
    *place = request;
    if (request->next == NULL) {
        state->last = request;
    }
}

void weft_engine_append(weft_comm_state_t *state, weft_request_t *request)
{
    weft_engine_number(state, request);
    weft_engine_insert(state, request);
}

void weft_engine_over(weft_comm_state_t *state, uint64_t sequence)
{
    state->over = sequence != 0 ? sequence : state->over;
}

/* Those called before it are over, also the ones in streams. */
static bool is_due(const weft_comm_state_t *state, const weft_request_t *request)
{
    return request->sequence == 0 || request->sequence == state->over + 1;
}

static void finish(weft_comm_state_t *state, weft_request_t *request, weft_status_t status)
{
    state->first = request->next;
    if (state->first == NULL) {
        state->last = NULL;
    }
    state->current = NULL;
    weft_engine_over(state, request->sequence);
    request->status = status;
    request->state = WEFT_OP_DONE;
    atomic_store_explicit(&request->done, 1, memory_order_release);
}

/* Starts the operation at the head of the queue. */
static weft_status_t begin(weft_comm_state_t *state, weft_request_t *request)
{
    weft_status_t status;
    if (state->nranks == 1) {
        status = weft_local_run(state, request);
        if (status == WEFT_OK || !request->in_stream) {
            finish(state, request, status);
            status = WEFT_OK;
        }
        return status;
    }
    weft_args_t args = weft_request_class(request);
    status = weft_comm_select(state, &args, &state->current);
    if (status == WEFT_ERR_UNSUPPORTED && !request->in_stream) {
        /* All ranks come to this answer before anything is sent: nothing is lost but this call. */
        finish(state, request, status);
        return WEFT_OK;
    }
    if (status != WEFT_OK) {
        return status;
    }
    weft_signature_t signature = weft_request_signature(state->current, request);
    if (request->sequence != 0) {
        weft_history_put(state, &signature);
    }
    request->state = WEFT_OP_BINDING;
    return WEFT_OK;
}

/* A plan that was not proved for in-place buffers gets a copy of the input. */
static weft_status_t stage_input(weft_comm_state_t *state, const weft_request_t *request,
                                 const void **in_p)
{
    if (state->current->program.in_place || !weft_request_overlaps(request)) {
        return WEFT_OK;
    }
    weft_status_t status = weft_comm_stage(state, request->args.send, request->args.send_bytes);
    *in_p = state->staging.memory;
    return status;
}

static weft_status_t start_lanes(weft_comm_state_t *state, weft_request_t *request)
{
    weft_prepared_t *current = state->current;
    const weft_user_op_t *user = weft_user_op_find(state, request->args.op);
    weft_geometry_t geometry;
    weft_binding_t binding;
    weft_request_bind(current, request, &geometry, &binding);
    weft_status_t status = stage_input(state, request, &binding.in);
    if (status == WEFT_OK && request->late_scalar != NULL) {
        status =
            weft_comm_copy(state, request->scalar, request->late_scalar, current->program.elem);
    }
    if (status != WEFT_OK) {
        return status;
    }
    current->program.user = user != NULL && weft_coll_reduces(request->args.coll)
                                ? *user
                                : (weft_user_op_t){.fn = NULL};
    weft_lanes_start(&current->run, &binding);
    current->run.stream_ports = current->adapts && weft_adapt_begin(&current->adapt);
    return WEFT_OK;
}

static weft_status_t bind(weft_comm_state_t *state, weft_request_t *request, bool *moved)
{
    weft_prepared_t *current = state->current;
    if (current->program.bound < current->program.nports) {
        weft_status_t status = weft_program_bind(&current->program, state->links);
        if (status != WEFT_OK) {
            return status == WEFT_IN_PROGRESS ? WEFT_OK : status;
        }
    }
    weft_status_t status = start_lanes(state, request);
    if (status == WEFT_OK) {
        request->state = WEFT_OP_RUNNING;
        *moved = true;
    }
    return status;
}

weft_status_t weft_engine_transport(weft_comm_state_t *state, bool *moved_p)
{
    if (!weft_links_have_messages(state->links)) {
        return WEFT_OK;
    }
    weft_status_t status = weft_links_poll(state->links);
    return status == WEFT_OK ? weft_links_flush(state->links, moved_p) : status;
}

/* A link may break that the operation no longer needs: its peer has done its part and left. Lanes and
 * drains look at the ports that they wait for. */
static weft_status_t poll_links(weft_comm_state_t *state, bool *moved)
{
    weft_status_t status = weft_engine_transport(state, moved);
    return status == WEFT_ERR_LINK || status == WEFT_ERR_PEER_DEAD ? WEFT_OK : status;
}

/* The results are there; messages may still be leaving. What a rank that has left did not take, it did
 * not need. */
static weft_status_t drain(weft_comm_state_t *state, weft_request_t *request, bool *moved)
{
    weft_port_t *port = weft_lanes_undrained(&state->current->run);
    if (port != NULL && port->broken == WEFT_OK) {
        return poll_links(state, moved);
    }
    if (port != NULL &&
        atomic_load_explicit(&state->left_at[port->peer], memory_order_acquire) == UINT64_MAX) {
        state->current->run.blocked = port;
        return port->broken;
    }
    if (state->current->adapts) {
        weft_adapt_end(&state->current->adapt);
    }
    finish(state, request, WEFT_OK);
    *moved = true;
    return WEFT_OK;
}

/* A broken port is looked after as well: what its peer sent before the end may wait in the transport. A
 * device moves without looking after any transport. */
static weft_status_t step_lanes(weft_comm_state_t *state, bool *moved)
{
    weft_lanes_t *run = &state->current->run;
    weft_status_t status = weft_lanes_step(run, moved);
    bool lost = status == WEFT_ERR_LINK || status == WEFT_ERR_PEER_DEAD;
    bool busy = *moved && !run->device.under_way;
    if (busy || (status != WEFT_IN_PROGRESS && !lost)) {
        return status;
    }
    weft_error_t why = *weft_error_record();
    weft_status_t polled = poll_links(state, moved);
    if (polled == WEFT_OK && lost) {
        *weft_error_record() = why;
    }
    return polled == WEFT_OK ? status : polled;
}

static weft_status_t advance(weft_comm_state_t *state, weft_request_t *request, bool *moved)
{
    weft_status_t status = WEFT_OK;
    if (request->state == WEFT_OP_QUEUED && is_due(state, request)) {
        status = begin(state, request);
        *moved = true;
    }
    if (status == WEFT_OK && request->state == WEFT_OP_BINDING) {
        status = bind(state, request, moved);
    }
    if (status == WEFT_OK && request->state == WEFT_OP_RUNNING) {
        status = step_lanes(state, moved);
        if (status == WEFT_OK) {
            request->state = WEFT_OP_DRAINING;
        } else if (status == WEFT_IN_PROGRESS) {
            status = WEFT_OK;
        }
    }
    if (status == WEFT_OK && request->state == WEFT_OP_DRAINING) {
        status = drain(state, request, moved);
    }
    return status;
}

/* The rank that the current operation waits for, or −1. */
static int32_t waits_for(const weft_comm_state_t *state, weft_port_t **port_p)
{
    *port_p = NULL;
    if (state->first == NULL || state->current == NULL) {
        return -1;
    }
    if (state->first->state == WEFT_OP_BINDING) {
        const weft_program_t *program = &state->current->program;
        for (uint32_t i = 0; i < program->nports; i++) {
            if (program->ports[i] == NULL) {
                return (int32_t)weft_program_port(program, i)->peer;
            }
        }
        return -1;
    }
    *port_p = state->current->run.blocked;
    return *port_p != NULL ? (int32_t)(*port_p)->peer : -1;
}

/* An operation that has not begun waits for those before it, which are in streams. */
static void check_turn(weft_comm_state_t *state, uint64_t now)
{
    const weft_request_t *request = state->first;
    char text[256];
    if (request->deadline == WEFT_NEVER || now <= request->deadline) {
        return;
    }
    weft_fail(WEFT_ERR_TIMEOUT, 0,
              "operation %" PRIu64 " (%s) not begun after %.3g s: rank %u waits for %s",
              request->sequence, weft_coll_name(request->args.coll),
              (double)(now - request->started) / 1e9, state->rank,
              weft_stream_text(state, text, sizeof text));
    weft_engine_fail(state, -1);
}

/* Looks at what costs a clock reading. */
static void look_around(weft_comm_state_t *state)
{
    weft_request_t *request = state->first;
    uint64_t now = weft_os_clock_ns();
    if (state->stream != NULL) {
        weft_stream_look(state, now);
    }
    if (request == NULL) {
        return;
    }
    if (request->started == 0) {
        request->started = now;
        request->deadline = weft_os_deadline(request->timeout);
    }
    if (state->current == NULL) {
        check_turn(state, now);
        return;
    }
    weft_pending_t pending = {.sequence = request->sequence,
                              .signature = weft_request_signature(state->current, request),
                              .started = request->started,
                              .deadline = request->deadline};
    pending.peer = waits_for(state, &pending.port);
    weft_lookout(state, &pending, now);
}

static void handle_failure(weft_comm_state_t *state, weft_status_t status)
{
    weft_port_t *port;
    const weft_lanes_t *run;
    switch (status) {
    case WEFT_ERR_MISMATCH:
        run = &state->current->run;
        weft_engine_mismatch(state, run->mismatched->peer, &run->signature, &run->theirs);
        break;
    case WEFT_ERR_PEER_DEAD:
    case WEFT_ERR_LINK:
        weft_engine_broken(state, status, waits_for(state, &port));
        break;
    default:
        weft_engine_fail(state, weft_error_record()->peer);
        break;
    }
}

static bool step_collective(weft_comm_state_t *state)
{
    bool moved = false;
    weft_status_t status = advance(state, state->first, &moved);
    if (status != WEFT_OK) {
        moved = false;
        handle_failure(state, status);
    }
    return moved;
}

/* Operations in order: those of the host, and those in streams. */
static bool step_ordered(weft_comm_state_t *state)
{
    bool moved = state->first != NULL && step_collective(state);
    if (state->stream != NULL) {
        moved |= weft_stream_step(state);
    }
    if (moved) {
        state->idle_since = 0;
        state->steps = 0;
        /* A broken line of messages may be waiting for its verdict. */
        state->verdict_by = state->p2p.nactive > 0 ? state->verdict_by : 0;
    } else if (++state->steps % STEPS_PER_LOOK == 0 && !weft_comm_has_failed(state)) {
        look_around(state);
    }
    return moved;
}

bool weft_engine_step(weft_comm_state_t *state)
{
    bool moved = false;
    if (weft_comm_has_failed(state)) {
        weft_p2p_fail(state);
        weft_stream_stop(state);
        if (state->first != NULL) {
            if (state->current != NULL) {
                weft_lanes_stop(&state->current->run);
            }
            finish(state, state->first, weft_comm_failure(state));
        }
        return true;
    }
    if (state->first != NULL || state->stream != NULL) {
        moved = step_ordered(state);
    }
    if (state->p2p.nactive > 0) {
        moved |= weft_p2p_step(state);
    }
    if (moved) {
        weft_waiter_reset(&state->waiter);
    }
    return moved;
}

bool weft_comm_is_busy(const weft_comm_state_t *state)
{
    return state->first != NULL || state->p2p.nactive > 0 || weft_stream_is_busy(state);
}

void weft_engine_look_soon(weft_comm_state_t *state)
{
    state->steps |= STEPS_PER_LOOK - 1;
    state->p2p.steps |= STEPS_PER_LOOK - 1;
}

/* A device has the ports of the operation, and wakes nobody. */
static bool device_runs(const weft_comm_state_t *state)
{
    return state->current != NULL && state->current->run.device.under_way;
}

/* The one port that decides when this rank can go on, or NULL. */
static weft_port_t *blocked_port(const weft_comm_state_t *state)
{
    weft_port_t *port;
    if (state->p2p.nactive > 0) {
        return state->first == NULL ? weft_p2p_blocked(state) : NULL;
    }
    waits_for(state, &port);
    return port != NULL && !device_runs(state) ? port : NULL;
}

/* One step, or one idle step. */
static void step_or_wait(weft_comm_state_t *state)
{
    if (weft_engine_step(state)) {
        return;
    }
    weft_port_t *port = blocked_port(state);
    /* A sleeping step lasts long enough to deserve a look at the clock each time. */
    if (state->waiter.idle >= state->waiter.spins) {
        weft_engine_look_soon(state);
    }
    if (state->stream != NULL || (port == NULL && (state->p2p.nactive > 0 || device_runs(state)))) {
        weft_waiter_nap(&state->waiter);
    } else {
        weft_waiter_step(&state->waiter, state->links, port);
    }
}

void weft_engine_drive(weft_comm_state_t *state, const weft_request_t *request)
{
    while (request->state != WEFT_OP_DONE) {
        step_or_wait(state);
    }
}

void weft_engine_drive_all(weft_comm_state_t *state)
{
    while (weft_comm_is_busy(state)) {
        step_or_wait(state);
    }
}
