/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations that the device runs by itself: their launch, and their supervision. */
#include "core/comm/stream_launch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/comm/binding.h"
#include "core/comm/bundle.h"
#include "core/comm/p2p_look.h"
#include "core/comm/watchdog.h"
#include "core/exec/proxy.h"

/* Launching ------------------------------------------------------------------------------------ */

/* One operation on its way to the device. */
typedef struct launch_item {
    weft_launched_t *run;
    weft_segmentation_t segmentation;
    weft_lanes_call_t call;
} launch_item_t;

/* Returns the program of the operation if the device can run it as it is now, or NULL. */
static weft_prepared_t *launch_find_program(const weft_comm_state_t *state,
                                            const weft_request_t *request)
{
    if (state->self.nranks == 1 || request->args.coll == WEFT_SEND_RECV ||
        weft_user_ops_find(&state->user_ops, request->args.op) != NULL) {
        return NULL;
    }
    weft_args_t args = weft_request_class(request);
    weft_prepared_t *prepared = weft_programs_find(&state->programs, &args);
    return prepared != NULL && weft_device_run_is_ready(&prepared->run) ? prepared : NULL;
}

/* True if no operation of the host is under way: the device's queue could not wait for it. */
static bool launch_host_is_done(const weft_comm_state_t *state)
{
    const weft_request_t *request = state->queue.first;
    while (request != NULL && request->in_stream) {
        request = request->next;
    }
    return request == NULL;
}

static weft_status_t launch_stage(const weft_comm_state_t *state, weft_launches_t *launches,
                                  uint64_t bytes, void **memory_p)
{
    if (launches->staging == NULL || launches->staging->allocation.bytes < bytes) {
        weft_staging_t *staging = weft_os_alloc(sizeof *staging, 0);
        if (staging == NULL) {
            return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "copy of an in-place input");
        }
        /* Earlier ones, at most half as large each, are kept: runs and captures may still use
         * them. */
        uint64_t twice = launches->staging != NULL ? 2 * launches->staging->allocation.bytes : 0;
        weft_status_t status = weft_allocation_init(
            state->self.family, "copy of an in-place input", bytes > twice ? bytes : twice,
            state->self.family->kernel.memory != NULL, &staging->allocation);
        if (status != WEFT_OK) {
            weft_os_free(staging);
            return status;
        }
        staging->next = launches->staging;
        launches->staging = staging;
    }
    *memory_p = launches->staging->allocation.memory;
    return WEFT_OK;
}

static weft_status_t launch_fill(const weft_comm_state_t *state, weft_launches_t *launches,
                                 const weft_request_t *request, weft_prepared_t *prepared,
                                 launch_item_t *item)
{
    weft_binding_t binding;
    item->run = weft_os_alloc(sizeof *item->run, 0);
    if (item->run == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot note a run in a stream");
    }
    item->run->prepared = prepared;
    item->run->sequence = request->sequence;
    item->run->signature = weft_request_signature(prepared, request);
    item->run->timeout = request->timeout;
    item->run->blocked = -1;
    weft_request_bind(prepared, request, &item->segmentation, &binding);
    weft_device_run_describe(&prepared->run, &binding, &item->call);
    item->call.scalar_at = request->late_scalar;
    if (prepared->program.in_place || !weft_request_overlaps(request)) {
        return WEFT_OK;
    }
    item->call.staging_bytes = request->args.send_bytes;
    return launch_stage(state, launches, item->call.staging_bytes, &item->call.staging);
}

/* The operations of the run. */
static weft_request_t *launch_operations(const weft_launched_t *run)
{
    return run->messages != NULL ? run->messages : run->collective;
}

static void launch_free_run(weft_launched_t *run)
{
    weft_request_t *request = launch_operations(run);
    while (request != NULL) {
        weft_request_t *next = request->next;
        weft_request_free(request);
        request = next;
    }
    weft_os_free(run);
}

/* Notes a captured run, once per program. */
static void launch_keep_captured(weft_launches_t *launches, weft_launched_t *run)
{
    weft_launched_t *known = launches->captured;
    while (known != NULL && known->prepared != run->prepared) {
        known = known->next;
    }
    if (known != NULL) {
        launch_free_run(run);
        return;
    }
    weft_programs_retain(run->prepared);
    run->next = launches->captured;
    launches->captured = run;
}

static void launch_keep(weft_comm_state_t *state, weft_launches_t *launches, weft_launched_t *run,
                        uint64_t number)
{
    run->run = number;
    if (number == 0) {
        launch_keep_captured(launches, run);
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

static weft_status_t launch_start(const weft_comm_state_t *state, void *const *stream,
                                  launch_item_t *items, weft_lanes_job_t *jobs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        jobs[i] = (weft_lanes_job_t){.handle = weft_device_run_handle(&items[i].run->prepared->run),
                                     .call = &items[i].call};
    }
    weft_status_t status =
        state->self.family->kernel.lanes->start(state->device_queue, stream, jobs, count);
    if (status == WEFT_ERR_UNSUPPORTED) {
        weft_log(WEFT_LOG_DEBUG, "comm", "not launched: %s", weft_error_record()->text);
    }
    return status;
}

static weft_status_t launch_all(weft_comm_state_t *state, weft_launches_t *launches,
                                void *const *stream, weft_request_t *first, launch_item_t *items,
                                weft_lanes_job_t *jobs)
{
    uint32_t count = 0;
    bool captures = false;
    uint64_t sequence = state->queue.sequence;
    weft_status_t status =
        state->self.family->kernel.lanes->is_capturing(state->device_queue, stream, &captures);
    for (weft_request_t *r = first; r != NULL && status == WEFT_OK; r = r->next) {
        weft_prepared_t *prepared = launch_find_program(state, r);
        r->sequence = captures ? 0 : ++sequence;
        status = prepared != NULL ? launch_fill(state, launches, r, prepared, &items[count++])
                                  : WEFT_ERR_UNSUPPORTED;
    }
    if (status == WEFT_OK) {
        status = launch_start(state, stream, items, jobs, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (status == WEFT_OK) {
            weft_request_t *request = first;
            first = request->next;
            request->next = NULL;
            items[i].run->collective = request;
            launch_keep(state, launches, items[i].run, jobs[i].run);
        } else {
            weft_os_free(items[i].run);
        }
    }
    return status;
}

static weft_status_t launch_collectives(weft_comm_state_t *state, weft_launches_t *launches,
                                        void *const *stream, weft_request_t *first)
{
    uint32_t count = 0;
    bool all = launch_host_is_done(state);
    for (const weft_request_t *r = first; r != NULL && all; r = r->next) {
        all = launch_find_program(state, r) != NULL;
        count++;
    }
    if (!all) {
        return WEFT_ERR_UNSUPPORTED;
    }
    launch_item_t *items = weft_os_alloc(count * sizeof *items, 0);
    weft_lanes_job_t *jobs = weft_os_alloc(count * sizeof *jobs, 0);
    weft_status_t status =
        items != NULL && jobs != NULL
            ? launch_all(state, launches, stream, first, items, jobs)
            : weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot launch %u operations", count);
    weft_os_free(items);
    weft_os_free(jobs);
    return status;
}

/* The time of a bundle is the shortest that one of its messages has; 0: none has an end. */
static double launch_shortest_time(const weft_request_t *first)
{
    double shortest = first->timeout;
    for (const weft_request_t *r = first->next; r != NULL; r = r->next) {
        bool shorter = r->timeout > 0 && (!(shortest > 0) || r->timeout < shortest);
        shortest = shorter ? r->timeout : shortest;
    }
    return shortest;
}

static weft_status_t launch_start_bundle(weft_comm_state_t *state, weft_launches_t *launches,
                                         void *const *stream, weft_launched_t *run,
                                         weft_lanes_message_t *messages)
{
    launch_item_t item = {.run = run};
    weft_lanes_job_t job;
    bool captures = false;
    weft_status_t status =
        state->self.family->kernel.lanes->is_capturing(state->device_queue, stream, &captures);
    if (status != WEFT_OK) {
        return status;
    }
    if (!captures) {
        weft_bundle_number(state, run->messages);
    }
    run->signature = weft_p2p_signature(run->messages);
    weft_bundle_describe(state, run->prepared, run->messages, messages, &item.call);
    status = launch_start(state, stream, &item, &job, 1);
    if (status == WEFT_OK) {
        launch_keep(state, launches, run, job.run);
    } else if (!captures) {
        weft_bundle_take_numbers(state, run->messages);
    }
    return status;
}

static weft_status_t launch_bundle(weft_comm_state_t *state, weft_launches_t *launches,
                                   void *const *stream, weft_request_t *first)
{
    weft_prepared_t *prepared =
        weft_bundle_suits(state, first) ? weft_bundle_find(state, first) : NULL;
    if (prepared == NULL) {
        return WEFT_ERR_UNSUPPORTED;
    }
    weft_launched_t *run = weft_os_alloc(sizeof *run, 0);
    weft_lanes_message_t *messages =
        weft_os_alloc(prepared->bundle->messages * sizeof *messages, 0);
    weft_status_t status = run != NULL && messages != NULL
                               ? WEFT_OK
                               : weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot launch %u messages",
                                           prepared->bundle->messages);
    if (status == WEFT_OK) {
        *run = (weft_launched_t){.prepared = prepared,
                                 .messages = first,
                                 .timeout = launch_shortest_time(first),
                                 .blocked = -1};
        status = launch_start_bundle(state, launches, stream, run, messages);
    }
    if (status != WEFT_OK) {
        weft_os_free(run);
    }
    weft_os_free(messages);
    return status;
}

weft_status_t weft_launch_put(weft_comm_state_t *state, weft_launches_t *launches,
                              void *const *stream, weft_request_t *first)
{
    weft_assert_owner(state);
    return first->args.coll == WEFT_SEND_RECV ? launch_bundle(state, launches, stream, first)
                                              : launch_collectives(state, launches, stream, first);
}

/* Looking -------------------------------------------------------------------------------------- */

static void launch_fail_run(weft_comm_state_t *state, const weft_launched_t *run,
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
static void launch_note_end(const weft_launched_t *run, weft_status_t status)
{
    for (weft_request_t *r = launch_operations(run); r != NULL; r = r->next) {
        weft_flight_end(r->flight, status);
        r->flight = NULL;
    }
}

/* Notes that the device has come to the run: its time begins, and other ranks may ask for it. */
static void launch_begin(weft_comm_state_t *state, weft_launched_t *run)
{
    if (run->started == 0) {
        run->started = weft_os_clock_ns();
        run->deadline = weft_os_deadline_after(run->started, run->timeout);
        for (weft_request_t *r = launch_operations(run); r != NULL; r = r->next) {
            r->started = run->started;
            r->deadline = run->deadline;
            if (run->run != 0 && weft_comm_records(r)) {
                weft_comm_record(state, r, run->started);
            }
        }
    }
    if (!run->noted && run->sequence != 0) {
        run->noted = true;
        weft_history_put(&state->flight->history, &run->signature);
    }
}

static weft_port_t *launch_blocked_port(const weft_launched_t *run)
{
    const weft_program_t *program = &run->prepared->program;
    bool known = run->blocked >= 0 && (uint32_t)run->blocked < program->nports;
    return known ? program->ports[run->blocked] : NULL;
}

/* Looks at the transport behind the blocked port, which the device cannot see break. */
static void launch_check_link(weft_comm_state_t *state, const weft_launched_t *run)
{
    const weft_port_t *port = launch_blocked_port(run);
    if (port != NULL && weft_port_is_dry(port)) {
        weft_watchdog_link_broke(state, port->broken, (int32_t)port->peer);
    }
}

static weft_status_t launch_look_at(weft_comm_state_t *state, weft_launched_t *run, bool *moved_p)
{
    weft_lanes_state_t at;
    weft_status_t status = weft_device_run_look(&run->prepared->run, run->run, &at);
    if (status < 0) {
        launch_fail_run(state, run, status, &at);
        launch_note_end(run, status);
        return status;
    }
    bool here = at.begun != 0 || (status == WEFT_OK && run->run != 0);
    if (run->run == 0 && (!here || at.moved != run->moved)) {
        run->started = 0; /* of graph launches it is known only that one stands still */
    }
    if (here) {
        launch_begin(state, run);
    }
    run->idle_since = at.moved != run->moved ? 0 : run->idle_since;
    *moved_p = *moved_p || at.moved != run->moved || (status == WEFT_OK && run->run != 0);
    run->moved = at.moved;
    run->blocked = at.blocked;
    if (status == WEFT_IN_PROGRESS || run->run == 0) {
        launch_check_link(state, run);
    }
    return status;
}

bool weft_launch_step(weft_comm_state_t *state, weft_launches_t *launches)
{
    bool moved = false;
    while (launches->first != NULL && launch_look_at(state, launches->first, &moved) == WEFT_OK) {
        weft_launched_t *run = launches->first;
        launches->first = run->next;
        launches->last = launches->first != NULL ? launches->last : NULL;
        launch_note_end(run, WEFT_OK);
        if (run->messages != NULL) {
            weft_bundle_complete(state, run->messages);
        } else {
            weft_queue_complete(&state->queue, run->sequence);
        }
        weft_device_run_settle(&run->prepared->run);
        weft_device_run_drop_launch(&run->prepared->run);
        weft_programs_release(&state->programs, run->prepared);
        launch_free_run(run);
    }
    for (weft_launched_t *run = launches->captured; run != NULL && !weft_comm_has_failed(state);
         run = run->next) {
        launch_look_at(state, run, &moved);
    }
    return moved;
}

/* Returns the run that the device executes and that does not end, or NULL. */
static weft_launched_t *launch_find_current(const weft_launches_t *launches)
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
static weft_request_t *launch_find_message(const weft_launched_t *run, const weft_port_t *port)
{
    weft_request_t *r = run->messages;
    while (port != NULL && r->next != NULL &&
           (r->args.root != port->peer || r->sends != port->sends)) {
        r = r->next;
    }
    return r;
}

static void launch_look_at_messages(weft_comm_state_t *state, weft_launched_t *run, uint64_t now)
{
    weft_port_t *port = launch_blocked_port(run);
    if (run->idle_since == 0) {
        run->idle_since = run->watch.checked = now;
        run->watch.waited = 0;
    }
    if (port == NULL && now <= run->deadline) {
        return; /* it waits for nobody */
    }
    weft_request_t *message = launch_find_message(run, port);
    weft_comm_record_wait(state, message, port != NULL ? (int32_t)port->peer : -1, now);
    weft_p2p_look(
        state,
        &(weft_p2p_wait_t){
            .request = message, .port = port, .idle_since = run->idle_since, .watch = &run->watch},
        now);
}

bool weft_launch_look(weft_comm_state_t *state, const weft_launches_t *launches, uint64_t now)
{
    weft_launched_t *run = launch_find_current(launches);
    if (run == NULL) {
        return false;
    }
    if (run->messages != NULL) {
        launch_look_at_messages(state, run, now);
        return true;
    }
    weft_pending_t pending = {.sequence = run->sequence,
                              .signature = run->signature,
                              .started = run->started,
                              .deadline = run->deadline,
                              .port = launch_blocked_port(run),
                              .peer = -1};
    pending.peer = pending.port != NULL ? (int32_t)pending.port->peer : -1;
    if (pending.port != NULL) {
        weft_watchdog_find_absent(state, &run->prepared->program, &pending, now);
    }
    if (run->run != 0) {
        weft_comm_record_wait(state, run->collective, pending.peer, now);
    }
    weft_watchdog_look(state, &pending, now);
    return true;
}

bool weft_launch_text(const weft_launches_t *launches, char *text, size_t bytes)
{
    const weft_launched_t *run = launch_find_current(launches);
    char op[96];
    if (run == NULL) {
        return false;
    }
    const weft_port_t *port = launch_blocked_port(run);
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

static void launch_abort_all(const weft_comm_state_t *state, const weft_launched_t *run)
{
    const weft_status_t status =
        weft_comm_has_failed(state) ? state->failure.error.status : WEFT_ERR_STATE;
    for (; run != NULL; run = run->next) {
        state->self.family->kernel.lanes->abort(weft_device_run_handle(&run->prepared->run));
        launch_note_end(run, status);
    }
}

void weft_launch_abort(const weft_comm_state_t *state, const weft_launches_t *launches)
{
    launch_abort_all(state, launches->first);
    launch_abort_all(state, launches->captured);
}

static bool launch_has_ended(const weft_comm_state_t *state, const weft_launched_t *run)
{
    weft_lanes_state_t at = {.size = sizeof at};
    return state->self.family->kernel.lanes->poll(weft_device_run_handle(&run->prepared->run),
                                                  run->run, &at) != WEFT_IN_PROGRESS;
}

void weft_launch_settle(const weft_comm_state_t *state, const weft_launches_t *launches,
                        uint64_t deadline)
{
    uint32_t turns = 0;
    for (const weft_launched_t *run = launches->first; run != NULL; run = run->next) {
        while (!launch_has_ended(state, run)) {
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

static void launch_free_list(weft_launched_t *run)
{
    while (run != NULL) {
        weft_launched_t *next = run->next;
        launch_free_run(run);
        run = next;
    }
}

void weft_launch_free(const weft_comm_state_t *state, weft_launches_t *launches)
{
    launch_free_list(launches->first);
    launch_free_list(launches->captured);
    while (launches->staging != NULL) {
        weft_staging_t *staging = launches->staging;
        launches->staging = staging->next;
        weft_allocation_fini(state->self.family, &staging->allocation);
        weft_os_free(staging);
    }
    *launches = (weft_launches_t){.first = NULL};
}
