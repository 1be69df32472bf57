/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The runs that a device has of a communicator: their supervision, and their end. */
#include "core/comm/launches.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/comm/bundle.h"
#include "core/comm/p2p_look.h"
#include "core/comm/watchdog.h"
#include "core/exec/proxy.h"

static bool launches_run_is_captured(const weft_launched_t *run)
{
    return run->number == 0;
}

/* The operations of the run. */
static weft_request_t *launches_operations(const weft_launched_t *run)
{
    return run->messages != NULL ? run->messages : run->collective;
}

static void launches_free_run(weft_launched_t *run)
{
    weft_request_t *request = launches_operations(run);
    while (request != NULL) {
        weft_request_t *next = request->next;
        weft_request_free(request);
        request = next;
    }
    weft_os_free(run);
}

/* Notes a captured run, once per program. */
static void launches_keep_captured(weft_launches_t *launches, weft_launched_t *run)
{
    weft_launched_t *known = launches->captured;
    while (known != NULL && known->prepared != run->prepared) {
        known = known->next;
    }
    if (known != NULL) {
        launches_free_run(run);
        return;
    }
    weft_programs_retain(run->prepared);
    run->next = launches->captured;
    launches->captured = run;
}

void weft_launches_keep(weft_comm_state_t *state, weft_launches_t *launches, weft_launched_t *run,
                        uint64_t number)
{
    run->number = number;
    if (launches_run_is_captured(run)) {
        launches_keep_captured(launches, run);
        return;
    }
    weft_programs_retain(run->prepared);
    weft_device_run_add_launch(&run->prepared->run);
    if (run->messages == NULL) {
        weft_queue_call(&state->queue, run->sequence);
    }
    if (launches->last != NULL) {
        launches->last->next = run;
    } else {
        launches->first = run;
    }
    launches->last = run;
}

/* Looking -------------------------------------------------------------------------------------- */

static void launches_fail_run(weft_comm_state_t *state, const weft_launched_t *run,
                              weft_status_t status, const weft_lanes_state_t *at)
{
    const weft_program_t *program = &run->prepared->program;
    weft_signature_t mine, theirs;
    char text[96];
    if (status != WEFT_ERR_MISMATCH) {
        if (weft_error_record()->status != status) {
            weft_signature_text(&run->signature, text, sizeof text);
            weft_fail(status, 0, "the device failed in operation %llu (%s)",
                      (unsigned long long)run->signature.sequence, text);
        }
        weft_error_record()->sequence = run->sequence;
        weft_comm_fail(state, weft_error_record()->peer);
        return;
    }
    memcpy(&mine, at->mine, sizeof mine);
    memcpy(&theirs, at->theirs, sizeof theirs);
    uint32_t peer = program->ports[at->mismatch]->peer;
    if (run->messages == NULL) {
        weft_comm_mismatch(state, peer, &mine, &theirs);
        return;
    }
    (void)weft_p2p_mismatch(state, peer, &mine, &theirs);
    weft_comm_fail(state, (int32_t)peer);
}

/* The operations of the run have ended. */
static void launches_note_end(const weft_launched_t *run, weft_status_t status)
{
    for (weft_request_t *r = launches_operations(run); r != NULL; r = r->next) {
        weft_flight_end(r->flight, status);
        r->flight = NULL;
    }
}

/* Notes that the device has come to the run: its time begins, and other ranks may ask for it. */
static void launches_begin(weft_comm_state_t *state, weft_launched_t *run)
{
    if (run->started == 0) {
        run->started = weft_os_clock_ns();
        run->deadline = weft_os_deadline_after(run->started, run->timeout);
        for (weft_request_t *r = launches_operations(run); r != NULL; r = r->next) {
            r->started = run->started;
            r->deadline = run->deadline;
            if (!launches_run_is_captured(run) && weft_comm_records(r)) {
                weft_comm_record(state, r, run->started);
            }
        }
    }
    if (!run->noted && run->sequence != 0) {
        run->noted = true;
        weft_history_put(&state->flight->history, &run->signature);
    }
}

static weft_port_t *launches_blocked_port(const weft_launched_t *run)
{
    const weft_program_t *program = &run->prepared->program;
    bool known = run->blocked >= 0 && (uint32_t)run->blocked < program->nports;
    return known ? program->ports[run->blocked] : NULL;
}

/* Looks at the transport behind the blocked port, which the device cannot see break. */
static void launches_check_link(weft_comm_state_t *state, const weft_launched_t *run)
{
    const weft_port_t *port = launches_blocked_port(run);
    if (port != NULL && weft_port_is_dry(port)) {
        weft_watchdog_link_broke(state, port->broken, (int32_t)port->peer);
    }
}

/* Notes how far the run has come. Returns whether that is further than before. */
static bool launches_note_progress(weft_comm_state_t *state, weft_launched_t *run,
                                   const weft_lanes_state_t *at, bool ended)
{
    const bool here = at->begun != 0 || ended, moved = at->moved != run->moved;
    if (launches_run_is_captured(run) && (!here || moved)) {
        run->started = 0; /* of graph launches it is known only that one stands still */
    }
    if (here) {
        launches_begin(state, run);
    }
    run->idle_since = moved ? 0 : run->idle_since;
    run->moved = at->moved;
    run->blocked = at->blocked;
    return moved || ended;
}

/* Returns whether the run has ended, as no captured one does. A failure has failed the
 * communicator. */
static bool launches_look_at(weft_comm_state_t *state, weft_launched_t *run, bool *moved_p)
{
    weft_lanes_state_t at;
    weft_status_t status = weft_device_run_look(&run->prepared->run, run->number, &at);
    if (status < 0) {
        launches_fail_run(state, run, status, &at);
        launches_note_end(run, status);
        return false;
    }
    const bool ended = status == WEFT_OK && !launches_run_is_captured(run);
    *moved_p |= launches_note_progress(state, run, &at, ended);
    if (!ended) {
        launches_check_link(state, run);
    }
    return ended;
}

/* Takes the first run out, which has ended. */
static void launches_complete(weft_comm_state_t *state, weft_launches_t *launches)
{
    weft_launched_t *run = launches->first;
    launches->first = run->next;
    launches->last = launches->first != NULL ? launches->last : NULL;
    launches_note_end(run, WEFT_OK);
    if (run->messages != NULL) {
        weft_bundle_complete(state, run->messages);
    } else {
        weft_queue_complete(&state->queue, run->sequence);
    }
    weft_device_run_settle(&run->prepared->run);
    weft_device_run_drop_launch(&run->prepared->run);
    weft_programs_release(&state->programs, run->prepared);
    launches_free_run(run);
}

bool weft_launches_step(weft_comm_state_t *state, weft_launches_t *launches)
{
    bool moved = false;
    while (launches->first != NULL && launches_look_at(state, launches->first, &moved)) {
        launches_complete(state, launches);
    }
    for (weft_launched_t *run = launches->captured; run != NULL && !weft_comm_has_failed(state);
         run = run->next) {
        launches_look_at(state, run, &moved);
    }
    return moved;
}

/* Returns the run that the device executes and that does not end, or NULL. */
static weft_launched_t *launches_find_current(const weft_launches_t *launches)
{
    weft_launched_t *run = launches->first;
    if (run == NULL || run->started == 0) {
        run = launches->captured;
        while (run != NULL && run->started == 0) {
            run = run->next;
        }
    }
    return run;
}

/* Returns the first message that goes through the port; without a port, the first of all. */
static weft_request_t *launches_find_message(const weft_launched_t *run, const weft_port_t *port)
{
    weft_request_t *r = run->messages;
    while (port != NULL && r->next != NULL &&
           (r->args.root != port->peer || r->sends != port->sends)) {
        r = r->next;
    }
    return r;
}

static void launches_look_at_messages(weft_comm_state_t *state, weft_launched_t *run, uint64_t now)
{
    weft_port_t *port = launches_blocked_port(run);
    if (run->idle_since == 0) {
        run->idle_since = run->watch.checked = now;
        run->watch.waited = 0;
    }
    if (port == NULL && now <= run->deadline) {
        return; /* it waits for nobody */
    }
    weft_request_t *message = launches_find_message(run, port);
    weft_comm_record_wait(state, message, port != NULL ? (int32_t)port->peer : -1, now);
    weft_p2p_look(
        state,
        &(weft_p2p_wait_t){
            .request = message, .port = port, .idle_since = run->idle_since, .watch = &run->watch},
        now);
}

bool weft_launches_look(weft_comm_state_t *state, const weft_launches_t *launches, uint64_t now)
{
    weft_launched_t *run = launches_find_current(launches);
    if (run == NULL) {
        return false;
    }
    if (run->messages != NULL) {
        launches_look_at_messages(state, run, now);
        return true;
    }
    weft_pending_t pending = {.sequence = run->sequence,
                              .signature = run->signature,
                              .started = run->started,
                              .deadline = run->deadline,
                              .port = launches_blocked_port(run),
                              .peer = -1};
    pending.peer = pending.port != NULL ? (int32_t)pending.port->peer : -1;
    if (pending.port != NULL) {
        weft_watchdog_find_absent(state, &run->prepared->program, &pending, now);
    }
    if (!launches_run_is_captured(run)) {
        weft_comm_record_wait(state, run->collective, pending.peer, now);
    }
    weft_watchdog_look(state, &pending, now);
    return true;
}

bool weft_launches_text(const weft_launches_t *launches, char *text, size_t bytes)
{
    const weft_launched_t *run = launches_find_current(launches);
    char op[96];
    if (run == NULL) {
        return false;
    }
    const weft_port_t *port = launches_blocked_port(run);
    weft_signature_text(&run->signature, op, sizeof op);
    int used =
        snprintf(text, bytes, "%s %" PRIu32 " (%s), which the device runs",
                 run->messages != NULL ? "message" : "operation", run->signature.sequence, op);
    if (port != NULL && used > 0 && (size_t)used < bytes) {
        snprintf(text + used, bytes - (size_t)used, " and which waits for rank %u", port->peer);
    }
    return true;
}

/* The end -------------------------------------------------------------------------------------- */

static void launches_abort_all(const weft_comm_state_t *state, const weft_launched_t *run)
{
    const weft_status_t status =
        weft_comm_has_failed(state) ? state->failure.error.status : WEFT_ERR_STATE;
    for (; run != NULL; run = run->next) {
        state->self.family->kernel.lanes->abort(weft_device_run_handle(&run->prepared->run));
        launches_note_end(run, status);
    }
}

void weft_launches_abort(const weft_comm_state_t *state, const weft_launches_t *launches)
{
    launches_abort_all(state, launches->first);
    launches_abort_all(state, launches->captured);
}

static bool launches_has_ended(const weft_comm_state_t *state, const weft_launched_t *run)
{
    weft_lanes_state_t at = {.size = sizeof at};
    return state->self.family->kernel.lanes->poll(weft_device_run_handle(&run->prepared->run),
                                                  run->number, &at) != WEFT_IN_PROGRESS;
}

void weft_launches_settle(const weft_comm_state_t *state, const weft_launches_t *launches,
                          uint64_t deadline)
{
    uint32_t turns = 0;
    for (const weft_launched_t *run = launches->first; run != NULL; run = run->next) {
        while (!launches_has_ended(state, run)) {
            if (weft_os_clock_ns() > deadline) {
                weft_log(WEFT_LOG_ERROR, "comm",
                         "rank %u: operation %" PRIu64 " was stopped and is still in a stream",
                         state->self.rank, run->sequence);
                return;
            }
            weft_os_give_way(&turns);
        }
    }
}

static void launches_free_list(weft_launched_t *run)
{
    while (run != NULL) {
        weft_launched_t *next = run->next;
        launches_free_run(run);
        run = next;
    }
}

void weft_launches_free(const weft_comm_state_t *state, weft_launches_t *launches)
{
    launches_free_list(launches->first);
    launches_free_list(launches->captured);
    while (launches->staging != NULL) {
        weft_staging_t *staging = launches->staging;
        launches->staging = staging->next;
        weft_allocation_fini(state->self.family, &staging->allocation);
        weft_os_free(staging);
    }
    *launches = (weft_launches_t){.first = NULL};
}
