/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The engine: advances the operations of one communicator, in order, without blocking; and the loop
 * around it that waits. */
#include "core/base/dtype.h"
#include "core/comm/engine.h"

#include "core/base/coll.h"
#include "core/base/error.h"
#include "core/comm/binding.h"
#include "core/comm/engine_look.h"
#include "core/comm/fusion.h"
#include "core/comm/holdings.h"
#include "core/comm/p2p.h"
#include "core/comm/puts.h"
#include "core/comm/select.h"
#include "core/comm/streams.h"
#include "core/comm/wanted_links.h"
#include "core/exec/message_port.h"
#include "core/exec/traffic.h"

/* Beginning ------------------------------------------------------------------------------------ */

/* Operations between two looks at what lies idle; a power of two. */
#define ENGINE_ROUND 64u

/* Runs a collective of one rank: a copy, scaled where the operator says so. */
static weft_status_t engine_run_alone(weft_comm_state_t *state, const weft_request_t *request)
{
    const weft_args_t *args = &request->args;
    size_t elem = weft_dtype_bytes(args->dtype);
    const weft_vectors_t *v = request->vectors != NULL ? &request->vectors->v : NULL;
    const uint8_t *send = (const uint8_t *)args->send + (v != NULL ? v->in_displs[0] * elem : 0);
    uint8_t *recv = (uint8_t *)args->recv + (v != NULL ? v->out_displs[0] * elem : 0);
    uint64_t count = v != NULL ? v->in_counts[0] : args->count;
    weft_combiner_t combiner;
    bool scales = args->op == WEFT_PREMULSUM && weft_coll_reduces(args->coll);
    if (count == 0 || (send == recv && !scales)) {
        return WEFT_OK;
    }
    /* One rank has nothing to reduce, so any operator of the kernel does. */
    weft_op_t op = (int)args->op < WEFT_OP_COUNT ? args->op : WEFT_SUM;
    weft_status_t status =
        weft_combiner_select(state->self.family->kernel.loaded, state->self.family->kernel.instance,
                             args->dtype, op, &combiner);
    if (status == WEFT_OK) {
        status = weft_combiner_run(&combiner, &(weft_combine_t){.src = {send},
                                                                .dst = {recv},
                                                                .count = count,
                                                                .nsrc = 1,
                                                                .ndst = 1,
                                                                .pre_mask = scales,
                                                                .flags = WEFT_COMBINE_FINAL,
                                                                .nranks = 1,
                                                                .scalar = request->scalar});
    }
    return status;
}

/* Finds the program, and keeps it until the operation is over: calls into streams may drop it from
 * the table before. */
static weft_status_t engine_select(weft_comm_state_t *state, const weft_request_t *request)
{
    weft_status_t status;
    if (request->vectors == NULL) {
        status = weft_select(state, &request->args, &state->queue.current);
    } else {
        weft_args_t args = weft_request_class(request);
        status = weft_select(state, &args, &state->queue.current);
    }
    if (status == WEFT_OK) {
        weft_programs_retain(state->queue.current);
    }
    return status;
}

/* Completes the operation at the head of the queue, which may be gone then. */
static void engine_finish(weft_comm_state_t *state, weft_status_t status)
{
    if (state->queue.current != NULL) {
        weft_programs_release(&state->programs, state->queue.current);
    }
    weft_queue_finish(&state->queue, status);
}

/* Gathers the input of fused calls. */
static weft_status_t engine_pack(weft_comm_state_t *state, weft_fusion_t *fusion)
{
    weft_status_t status = weft_allocations_reserve(&state->allocations, state->self.family,
                                                    weft_fusion_bytes(fusion));
    if (status == WEFT_OK) {
        weft_fusion_pack(fusion, state->allocations.staging.memory);
    }
    return status;
}

/* Reads what the call left to its run. */
static weft_status_t engine_read_late(weft_comm_state_t *state, weft_request_t *request)
{
    if (request->fusion != NULL) {
        return engine_pack(state, request->fusion);
    }
    return request->late_scalar == NULL
               ? WEFT_OK
               : weft_memory_copy(state->self.family, request->scalar, request->late_scalar,
                                  weft_dtype_bytes(request->args.dtype));
}

/* Starts the operation at the head of the queue. AGAIN: it is over already, and may be gone. */
static weft_status_t engine_begin(weft_comm_state_t *state, weft_request_t *request)
{
    weft_status_t status = engine_read_late(state, request);
    if (state->self.nranks == 1) {
        status = status == WEFT_OK ? engine_run_alone(state, request) : status;
        if (status == WEFT_OK || !request->in_stream) {
            engine_finish(state, status);
            status = WEFT_AGAIN;
        }
        return status;
    }
    if (status != WEFT_OK) {
        return status;
    }
    status = engine_select(state, request);
    if (status == WEFT_ERR_UNSUPPORTED && !request->in_stream) {
        /* All ranks come to this answer before anything is sent: nothing is lost but this call. */
        engine_finish(state, status);
        return WEFT_AGAIN;
    }
    if (status != WEFT_OK) {
        return status;
    }
    weft_signature_t signature = weft_request_signature(state->queue.current, request);
    if (request->sequence != 0) {
        weft_history_put(&state->flight->history, &signature);
    }
    request->state = WEFT_OP_BINDING;
    return WEFT_OK;
}

/* Copies the input for a plan that was not proved for in-place buffers. */
static weft_status_t engine_stage_input(weft_comm_state_t *state, const weft_request_t *request,
                                        const void **in_p)
{
    if (state->queue.current->program.in_place || !weft_request_overlaps(request)) {
        return WEFT_OK;
    }
    weft_status_t status = weft_allocations_stage(&state->allocations, state->self.family,
                                                  request->args.send, request->args.send_bytes);
    *in_p = state->allocations.staging.memory;
    return status;
}

static weft_status_t engine_start_lanes(weft_comm_state_t *state, weft_request_t *request)
{
    weft_prepared_t *current = state->queue.current;
    const weft_user_op_t *user = weft_user_ops_find(&state->user_ops, request->args.op);
    weft_segmentation_t segmentation;
    weft_binding_t binding;
    weft_request_bind(current, request, &segmentation, &binding);
    weft_status_t status = engine_stage_input(state, request, &binding.in);
    if (status != WEFT_OK) {
        return status;
    }
    /* A lane that looks for its message holds up what else a step would move. */
    current->run.looks =
        state->waiter.drives && current->run.nlanes == 1 ? weft_waiter_looks(&state->waiter) : 0;
    current->program.user = user != NULL && weft_coll_reduces(request->args.coll)
                                ? *user
                                : (weft_user_op_t){.fn = NULL};
    status = weft_interpreter_start(&current->run, &binding);
    if (status == WEFT_OK && current->tunes_nt) {
        uint64_t bytes = current->program.memory.bytes;
        current->run.nt = weft_nt_tuner_begin(&current->nt_tuner, bytes);
    }
    return status;
}

/* Polls the transports. A broken link is no failure here: the operation may no longer need it,
 * because the peer has done its part and left. Lanes and drains look at the ports that they wait
 * for. */
static weft_status_t engine_poll_links(weft_comm_state_t *state, bool *moved)
{
    weft_status_t status = weft_comm_poll_transports(state, moved);
    return status == WEFT_ERR_LINK || status == WEFT_ERR_PEER_DEAD ? WEFT_OK : status;
}

/* What comes over links that are made already is taken meanwhile: else it would end every sleep at
 * once. */
static weft_status_t engine_bind(weft_comm_state_t *state, weft_request_t *request, bool *moved)
{
    weft_prepared_t *current = state->queue.current;
    const uint32_t before = current->program.bound;
    if (before < current->program.nports) {
        bool passed_on = false; /* which is no step of this operation */
        weft_status_t status = engine_poll_links(state, &passed_on);
        status = status == WEFT_OK ? weft_program_bind(&current->program, state->links) : status;
        /* The time for connecting is that of one link, not of all that a call may need. */
        *moved |= current->program.bound > before;
        if (status != WEFT_OK) {
            return status == WEFT_IN_PROGRESS ? WEFT_OK : status;
        }
    }
    weft_status_t status = engine_start_lanes(state, request);
    if (status == WEFT_OK) {
        request->state = WEFT_OP_RUNNING;
        *moved = true;
    }
    return status;
}

/* Running -------------------------------------------------------------------------------------- */

/* After the first operation, and then after each ENGINE_ROUND of them. */
static void engine_end_round(weft_comm_state_t *state)
{
    if (state->queue.first->sequence == 1) {
        weft_holdings_log(state, "after the first collective");
    }
    weft_links_look_for_idle(state->links, weft_os_clock_ns());
}

static bool engine_has_left(const weft_comm_state_t *state, uint32_t peer)
{
    return atomic_load_explicit(&state->peers[peer].left_at, memory_order_acquire) != UINT64_MAX;
}

/* Waits until the last messages have left. The results are there already. A rank that has left
 * did not need the messages that it did not take. */
static weft_status_t engine_drain(weft_comm_state_t *state, bool *moved)
{
    weft_port_t *port = weft_interpreter_undrained(&state->queue.current->run);
    if (port != NULL && port->broken == WEFT_OK) {
        return engine_poll_links(state, moved);
    }
    if (port != NULL && !engine_has_left(state, port->peer)) {
        state->queue.current->run.blocked = port;
        weft_message_port_recall(port);
        return port->broken;
    }
    if (state->queue.current->tunes_nt) {
        weft_nt_tuner_end(&state->queue.current->nt_tuner);
    }
    if (state->queue.first->sequence % ENGINE_ROUND == 1) {
        engine_end_round(state);
    }
    engine_finish(state, WEFT_OK);
    *moved = true;
    return WEFT_OK;
}

/* Polls the transports for lanes whose link broke: what the peer sent before the end may wait
 * there. The error record stays that of the link. */
static weft_status_t engine_poll_lost(weft_comm_state_t *state, weft_status_t lost, bool *moved)
{
    weft_error_t why = *weft_error_record();
    weft_status_t status = engine_poll_links(state, moved);
    if (status == WEFT_OK) {
        *weft_error_record() = why;
    }
    return status == WEFT_OK ? lost : status;
}

/* A peer that does not get what was sent does not send what the lanes wait for, and its own link
 * may be whole. Leaves the reason in the error record. */
static weft_status_t engine_look_for_lost(weft_comm_state_t *state, weft_interpreter_t *run)
{
    weft_port_t *lost = weft_links_lost(state->links);
    if (lost == NULL) {
        return WEFT_IN_PROGRESS;
    }
    run->blocked = lost;
    weft_message_port_recall(lost);
    return lost->broken;
}

/* Runs the lanes as far as they go. A device moves without looking after any transport, so the host
 * polls them for it. */
static weft_status_t engine_step_lanes(weft_comm_state_t *state, bool *moved)
{
    weft_interpreter_t *run = &state->queue.current->run;
    weft_status_t status = weft_interpreter_step(run, moved);
    if (status == WEFT_ERR_LINK || status == WEFT_ERR_PEER_DEAD) {
        if (run->blocked != NULL) {
            weft_message_port_recall(run->blocked);
        }
        return engine_poll_lost(state, status, moved);
    }
    if (status != WEFT_IN_PROGRESS || (*moved && !weft_device_run_is_under_way(run))) {
        return status;
    }
    weft_status_t polled = engine_poll_links(state, moved);
    if (polled == WEFT_OK && !*moved) {
        return engine_look_for_lost(state, run);
    }
    return polled == WEFT_OK ? status : polled;
}

static weft_status_t engine_advance(weft_comm_state_t *state, weft_request_t *request, bool *moved)
{
    weft_status_t status = WEFT_OK;
    if (request->state == WEFT_OP_QUEUED && weft_queue_is_due(&state->queue, request)) {
        status = engine_begin(state, request);
        *moved = true;
        if (status == WEFT_AGAIN) {
            return WEFT_OK;
        }
    }
    if (status == WEFT_OK && request->state == WEFT_OP_BINDING) {
        status = engine_bind(state, request, moved);
    }
    if (status == WEFT_OK && request->state == WEFT_OP_RUNNING) {
        status = engine_step_lanes(state, moved);
        if (status == WEFT_OK) {
            request->state = WEFT_OP_DRAINING;
        } else if (status == WEFT_IN_PROGRESS) {
            status = WEFT_OK;
        }
    }
    if (status == WEFT_OK && request->state == WEFT_OP_DRAINING) {
        status = engine_drain(state, moved);
    }
    return status;
}

/* Steps ---------------------------------------------------------------------------------------- */

static bool engine_step_collective(weft_comm_state_t *state)
{
    bool moved = false;
    weft_status_t status = engine_advance(state, state->queue.first, &moved);
    if (status != WEFT_OK) {
        moved = false;
        weft_engine_handle_failure(state, status);
    }
    return moved;
}

/* Messages of the host and one-sided calls. */
static bool engine_has_messages(const weft_comm_state_t *state)
{
    return weft_p2p_is_busy(&state->p2p) || weft_puts_are_busy(state);
}

/* Advances the collectives of the host and the operations in streams. */
static bool engine_step_ordered(weft_comm_state_t *state)
{
    bool moved = state->queue.first != NULL && engine_step_collective(state);
    if (state->streams != NULL) {
        moved |= weft_streams_step(state);
    }
    if (moved) {
        state->queue.steps = 0;
        /* A p2p queue may be waiting for the cause of its broken link. */
        weft_stall_clear(&state->stall, engine_has_messages(state));
    } else if (++state->queue.steps % WEFT_STEPS_PER_LOOK == 0 && !weft_comm_has_failed(state)) {
        weft_engine_look_around(state);
    }
    return moved;
}

/* Ends everything of a communicator that has failed. */
static void engine_end_all(weft_comm_state_t *state)
{
    weft_links_withdraw_memory(state->links);
    weft_p2p_fail(state);
    weft_puts_fail(state);
    weft_streams_stop(state);
    if (state->queue.current != NULL) {
        weft_interpreter_stop(&state->queue.current->run);
    }
    if (state->queue.first != NULL) {
        engine_finish(state, weft_comm_failure(state));
    }
}

bool weft_engine_step(weft_comm_state_t *state)
{
    bool moved = false;
    weft_assert_owner(state);
    if (weft_comm_has_failed(state)) {
        engine_end_all(state);
        return true;
    }
    const uint64_t events = weft_links_begin_step(state->links);
    if (state->queue.first != NULL || state->streams != NULL) {
        moved = engine_step_ordered(state);
    }
    if (weft_p2p_is_busy(&state->p2p)) {
        moved |= weft_p2p_step(state);
    }
    if (weft_puts_are_on(state) && !weft_comm_has_failed(state)) {
        moved |= weft_puts_step(state);
    }
    if (moved) {
        weft_waiter_reset(&state->waiter);
    }
    /* Polls come last. What they took is looked at before this rank sleeps: no event is left to
     * wake it. */
    return moved || weft_links_events(state->links) != events;
}

bool weft_engine_is_busy(const weft_comm_state_t *state)
{
    return state->queue.first != NULL || engine_has_messages(state) || weft_streams_are_busy(state);
}

bool weft_engine_needs_host(const weft_comm_state_t *state)
{
    return state->queue.first != NULL || engine_has_messages(state) ||
           weft_comm_has_failed(state) || weft_streams_need_host(state);
}

/* Waiting -------------------------------------------------------------------------------------- */

/* True if a device has the ports of the operation. It wakes no host. */
static bool engine_device_runs(const weft_comm_state_t *state)
{
    return state->queue.current != NULL && weft_device_run_is_under_way(&state->queue.current->run);
}

void weft_engine_find_blocked(const weft_comm_state_t *state, weft_blocked_t *blocked)
{
    /* Devices wake no host. */
    if (state->streams != NULL || engine_device_runs(state)) {
        blocked->more = true;
        return;
    }
    if (state->queue.first != NULL) {
        weft_port_t *port;
        weft_engine_waits_for(state, &port);
        weft_blocked_add(blocked, port);
    }
    if (weft_p2p_is_busy(&state->p2p)) {
        weft_p2p_find_blocked(state, blocked);
    }
    if (weft_puts_are_on(state)) {
        weft_puts_find_blocked(state, blocked);
    }
}

/* One step, or one idle step. */
static void engine_step_or_wait(weft_comm_state_t *state)
{
    if (weft_engine_step(state)) {
        return;
    }
    /* A sleeping step lasts long enough to deserve a look at the clock each time. */
    if (!weft_waiter_spins(&state->waiter)) {
        weft_submit_look_soon(state);
    }
    if (state->streams != NULL || engine_device_runs(state)) {
        weft_waiter_nap(&state->waiter); /* devices wake no host */
    } else if (!weft_waiter_stays_awake(&state->waiter, weft_links_ask_transports(state->links))) {
        weft_blocked_t blocked;
        weft_blocked_init(&blocked);
        weft_engine_find_blocked(state, &blocked);
        weft_waiter_sleep(&state->waiter, state->links, &blocked);
    }
}

void weft_engine_drive(weft_comm_state_t *state, const weft_request_t *request)
{
    weft_assert_owner(state);
    state->waiter.drives = true;
    while (request->state != WEFT_OP_DONE) {
        engine_step_or_wait(state);
    }
    state->waiter.drives = false;
}

/* Looks at the clock when a step sleeps, and now and then between steps that do not. */
static bool engine_is_late(const weft_comm_state_t *state, uint64_t until, uint32_t turns)
{
    return until != WEFT_NEVER && (!weft_waiter_spins(&state->waiter) || turns % 256 == 0) &&
           weft_os_clock_ns() >= until;
}

void weft_engine_drive_async(weft_comm_state_t *state, const weft_async_t *async, uint64_t until)
{
    weft_assert_owner(state);
    for (uint32_t turns = 1; !weft_async_is_done(async) && !weft_comm_is_wanted(state) &&
                             !engine_is_late(state, until, turns);
         turns++) {
        engine_step_or_wait(state);
    }
}

void weft_engine_drive_all(weft_comm_state_t *state)
{
    weft_assert_owner(state);
    while (weft_engine_is_busy(state)) {
        engine_step_or_wait(state);
    }
}
