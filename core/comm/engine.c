/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The engine: advances the operations of one communicator, in order, without blocking; and the loop
 * around it that waits. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/comm/comm.h"

/* Idle steps between looks at the clock: a look costs about as much as a step. */
#define STEPS_PER_LOOK 64u
/* A broken link is a symptom: the health channel names the cause within this time. */
#define VERDICT_NS (300 * WEFT_NS_PER_MS)
/* After this long a waiting rank asks the one it waits for whether they are in the same call. */
#define ASK_NS (100 * WEFT_NS_PER_MS)
/* What a rank sent before it left arrives within this time, or never. */
#define LEFT_BEHIND_NS WEFT_NS_PER_S

void weft_engine_append(weft_comm_state_t *state, weft_request_t *request)
{
    request->appended = true;
    if (request->args.coll == WEFT_SEND_RECV) {
        weft_p2p_append(state, request);
        return;
    }
    request->sequence = ++state->sequence;
    request->next = NULL;
    if (state->last != NULL) {
        state->last->next = request;
    } else {
        state->first = request;
    }
    state->last = request;
}

static void finish(weft_comm_state_t *state, weft_request_t *request, weft_status_t status)
{
    state->first = request->next;
    if (state->first == NULL) {
        state->last = NULL;
    }
    state->current = NULL;
    request->status = status;
    request->state = WEFT_OP_DONE;
    atomic_store_explicit(&request->done, 1, memory_order_release);
}

void weft_engine_fail(weft_comm_state_t *state, int32_t peer)
{
    weft_error_t *error = weft_error_record();
    if (peer >= 0) {
        error->peer = peer;
        snprintf(error->transport, sizeof error->transport, "%s",
                 weft_links_transport(state->links, (uint32_t)peer));
    }
    error->sequence = state->first != NULL ? state->first->sequence : state->sequence;
    weft_comm_fail(state, error, true);
}

static void fail_mismatch(weft_comm_state_t *state)
{
    const weft_lanes_t *run = &state->current->run;
    char field[128];
    uint32_t peer = run->mismatched->peer;
    weft_signature_diff(&run->signature, &run->theirs, field, sizeof field);
    weft_fail(WEFT_ERR_MISMATCH, 0,
              "operation %" PRIu32 " differs between rank %u (here) and rank %u (there): %s",
              run->signature.sequence, state->rank, peer, field);
    weft_engine_fail(state, (int32_t)peer);
}

static const char *what_for(const weft_port_t *port)
{
    return port->sends ? "to take data" : "for data";
}

static const char *op_text(const weft_comm_state_t *state, char *text, size_t bytes)
{
    if (state->current != NULL) {
        weft_signature_text(&state->current->program.signature, text, bytes);
    } else {
        snprintf(text, bytes, "%s", weft_coll_name(state->first->args.coll));
    }
    return text;
}

/* The rank the operation waits for, or −1. */
static int32_t waits_for(const weft_comm_state_t *state, const weft_port_t **port_p)
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

static void fail_timeout(weft_comm_state_t *state)
{
    const weft_port_t *port;
    char text[96], order[320];
    const weft_request_t *request = state->first;
    int32_t peer = waits_for(state, &port);
    weft_fail(WEFT_ERR_TIMEOUT, 0,
              "operation %" PRIu64 " (%s) not done after %.3g s: rank %u waits for rank %d %s%s",
              request->sequence, op_text(state, text, sizeof text),
              (double)(weft_os_clock_ns() - request->started) / 1e9, state->rank, (int)peer,
              port != NULL ? what_for(port) : "to connect",
              weft_order_text(state, peer, order, sizeof order));
    weft_engine_fail(state, peer);
}

/* A rank that left before this operation will never take part. One that left later has sent what it had
 * to send: if nothing of it comes for a while, it took part in something else. */
static bool check_left(weft_comm_state_t *state, uint32_t peer, uint64_t now)
{
    uint64_t at = atomic_load_explicit(&state->left_at[peer], memory_order_acquire);
    if (at == UINT64_MAX ||
        (at >= state->first->sequence &&
         weft_comm_gone_for(state, peer, state->idle_since, now) < LEFT_BEHIND_NS)) {
        return false;
    }
    weft_fail(WEFT_ERR_PEER_LEFT, 0,
              "rank %u left the communicator after operation %" PRIu64 "; rank %u waits for it in "
              "operation %" PRIu64,
              peer, at, state->rank, state->first->sequence);
    weft_engine_fail(state, (int32_t)peer);
    return true;
}

/* A link broke. The cause may be a death elsewhere: give the health channel the first word. */
void weft_engine_broken(weft_comm_state_t *state, weft_status_t status, int32_t peer)
{
    if (peer >= 0 &&
        atomic_load_explicit(&state->left_at[peer], memory_order_acquire) != UINT64_MAX) {
        return; /* it left: check_left() decides */
    }
    if (weft_error_record()->status != status) {
        weft_fail(status, 0, "the link to rank %d broke", peer);
    }
    if (state->verdict_by == 0) {
        state->broken = *weft_error_record();
        if (state->broken.peer < 0) {
            state->broken.peer = peer;
        }
        state->verdict_by = weft_os_clock_ns() + VERDICT_NS;
    } else if (weft_os_clock_ns() > state->verdict_by) {
        *weft_error_record() = state->broken;
        weft_engine_fail(state, state->broken.peer);
    }
}

static weft_signature_t signature_of(const weft_comm_state_t *state, const weft_request_t *request)
{
    weft_signature_t signature = state->current->program.signature;
    signature.sequence = (uint32_t)request->sequence;
    if (request->vectors != NULL) {
        signature.count = request->vectors->total;
        signature.plan += request->vectors->hash;
    }
    return signature;
}

/* Starts the operation at the head of the queue. */
static weft_status_t begin(weft_comm_state_t *state, weft_request_t *request)
{
    if (state->nranks == 1) {
        finish(state, request, weft_local_run(state, request));
        return WEFT_OK;
    }
    weft_args_t args = request->args;
    if (request->vectors != NULL) {
        args.count = weft_vectors_class(args.coll, request->vectors->largest);
    }
    weft_status_t status = weft_comm_select(state, &args, &state->current);
    if (status == WEFT_ERR_UNSUPPORTED) {
        /* All ranks come to this answer before anything is sent: nothing is lost but this call. */
        finish(state, request, status);
        return WEFT_OK;
    }
    if (status != WEFT_OK) {
        return status;
    }
    weft_signature_t signature = signature_of(state, request);
    weft_history_put(state, &signature);
    request->state = WEFT_OP_BINDING;
    return WEFT_OK;
}

/* A plan that was not proved for in-place buffers gets a copy of the input. */
static weft_status_t stage_input(weft_comm_state_t *state, const weft_args_t *args,
                                 const void **in_p)
{
    uintptr_t send = (uintptr_t)args->send;
    uintptr_t recv = (uintptr_t)args->recv;
    bool overlap = args->send_bytes > 0 && args->recv_bytes > 0 && send < recv + args->recv_bytes &&
                   recv < send + args->send_bytes;
    *in_p = args->send;
    if (state->current->program.in_place || !overlap) {
        return WEFT_OK;
    }
    weft_status_t status = weft_comm_stage(state, args->send, args->send_bytes);
    *in_p = state->staging.memory;
    return status;
}

/* How a v-form is cut. Where all ranks know the vectors, evenly, as a fixed form of the largest block;
 * where only pairs do, in full slices, as long as this rank has something to move. */
static void cut_vectors(const weft_prepared_t *current, const weft_bound_vectors_t *vectors,
                        weft_geometry_t *g)
{
    const weft_program_t *program = &current->program;
    *g = program->geometry;
    if (!program->pairs) {
        weft_cut_t cut = {.k = g->k,
                          .slices = g->slices,
                          .slice_bytes = g->slice * program->elem,
                          .channels = program->channels};
        weft_geometry_set(g, vectors->largest, program->elem, &cut);
        return;
    }
    g->passes = vectors->largest <= g->pass ? 1 : (vectors->largest + g->pass - 1) / g->pass;
}

static weft_status_t start_lanes(weft_comm_state_t *state, weft_request_t *request, const void *in)
{
    weft_prepared_t *current = state->current;
    const weft_bound_vectors_t *vectors = request->vectors;
    const weft_user_op_t *user = weft_user_op_find(state, request->args.op);
    weft_geometry_t geometry;
    weft_binding_t binding = {.in = in,
                              .out = request->args.recv,
                              .scalar = request->scalar,
                              .sequence = (uint32_t)request->sequence};
    if (vectors != NULL) {
        cut_vectors(current, vectors, &geometry);
        binding.geometry = &geometry;
        binding.vectors = &vectors->v;
        binding.plan = vectors->hash;
        binding.count = vectors->total;
    }
    if (request->late_scalar != NULL) {
        weft_status_t status =
            weft_comm_copy(state, request->scalar, request->late_scalar, current->program.elem);
        if (status != WEFT_OK) {
            return status;
        }
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
    const void *in;
    if (current->program.bound < current->program.nports) {
        weft_status_t status = weft_program_bind(&current->program, state->links);
        if (status != WEFT_OK) {
            return status == WEFT_IN_PROGRESS ? WEFT_OK : status;
        }
    }
    weft_status_t status = stage_input(state, &request->args, &in);
    if (status == WEFT_OK) {
        status = start_lanes(state, request, in);
    }
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
    if (request->state == WEFT_OP_QUEUED) {
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

/* A peer that is late for the call is no connection fault. Only when it has asked for us, so that both
 * are in the call, does the time for connecting run. */
static void check_connecting(weft_comm_state_t *state, uint32_t peer, uint64_t now)
{
    const weft_request_t *request = state->first;
    double limit = state->settings.boot.connect_timeout;
    if (request->state != WEFT_OP_BINDING || limit <= 0 ||
        atomic_load_explicit(&state->met_at[peer], memory_order_acquire) != request->sequence) {
        state->connecting_since = 0;
        return;
    }
    if (state->connecting_since == 0) {
        state->connecting_since = now;
    } else if (now - state->connecting_since > (uint64_t)(limit * 1e9)) {
        weft_fail(
            WEFT_ERR_TIMEOUT, 0,
            "rank %u and rank %u could not connect over %s within %.3g s; check interfaces and "
            "firewalls",
            state->rank, peer, weft_links_transport(state->links, peer), limit);
        weft_engine_fail(state, (int32_t)peer);
    }
}

/* Looks at what costs a clock reading: deadline, lateness, peers that left. */
static void look_around(weft_comm_state_t *state)
{
    const weft_port_t *port;
    weft_request_t *request = state->first;
    uint64_t now = weft_os_clock_ns();
    int32_t peer = waits_for(state, &port);
    if (request->started == 0) {
        request->started = now;
        request->deadline = weft_os_deadline(request->timeout);
    }
    if (state->idle_since == 0) {
        state->idle_since = now;
        state->asked = now;
        state->late_told = false;
    }
    if (request->deadline != WEFT_NEVER && now > request->deadline) {
        fail_timeout(state);
        return;
    }
    if (peer < 0) {
        return;
    }
    if (check_left(state, (uint32_t)peer, now)) {
        return;
    }
    check_connecting(state, (uint32_t)peer, now);
    if (now - state->asked > ASK_NS) {
        weft_signature_t signature = signature_of(state, request);
        weft_order_ask(state, (uint32_t)peer, &signature);
        state->asked = now;
        weft_status_t health = port != NULL ? weft_links_check(state->links, port) : WEFT_OK;
        if (health != WEFT_OK) {
            weft_error_record()->peer = peer;
            weft_engine_broken(state, health, peer);
        }
    }
    uint64_t late_ns = (uint64_t)(state->settings.boot.late * 1e9);
    if (!state->late_told && late_ns > 0 && now - state->idle_since > late_ns) {
        char text[96], order[320];
        state->late_told = true;
        weft_log(WEFT_LOG_WARN, "comm",
                 "rank %u has waited %.1f s for rank %d in operation %" PRIu64 " (%s)%s",
                 state->rank, (double)(now - state->idle_since) / 1e9, (int)peer, request->sequence,
                 op_text(state, text, sizeof text),
                 weft_order_text(state, peer, order, sizeof order));
    }
}

static void handle_failure(weft_comm_state_t *state, weft_status_t status)
{
    const weft_port_t *port;
    switch (status) {
    case WEFT_ERR_MISMATCH:
        fail_mismatch(state);
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
    weft_request_t *request = state->first;
    weft_status_t status = advance(state, request, &moved);
    if (status != WEFT_OK) {
        moved = false;
        handle_failure(state, status);
    }
    if (moved) {
        state->idle_since = 0;
        state->steps = 0;
        /* A broken line of messages may be waiting for its verdict. */
        state->verdict_by = state->p2p.nactive > 0 ? state->verdict_by : 0;
    } else if (state->first == request && ++state->steps % STEPS_PER_LOOK == 0) {
        look_around(state);
    }
    return moved;
}

bool weft_engine_step(weft_comm_state_t *state)
{
    bool moved = false;
    if (weft_comm_has_failed(state)) {
        weft_p2p_fail(state);
        if (state->first != NULL) {
            if (state->current != NULL) {
                weft_lanes_stop(&state->current->run);
            }
            finish(state, state->first, weft_comm_failure(state));
        }
        return true;
    }
    if (state->first != NULL) {
        moved = step_collective(state);
    }
    if (state->p2p.nactive > 0) {
        moved |= weft_p2p_step(state);
    }
    if (moved) {
        weft_waiter_reset(&state->waiter);
    }
    return moved;
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
    const weft_port_t *port;
    if (state->p2p.nactive > 0) {
        return state->first == NULL ? weft_p2p_blocked(state) : NULL;
    }
    waits_for(state, &port);
    return port != NULL && !device_runs(state) ? state->current->run.blocked : NULL;
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
    if (port == NULL && (state->p2p.nactive > 0 || device_runs(state))) {
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
