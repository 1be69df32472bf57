/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations that the device runs by itself: their launch, and their supervision. */
#include "core/comm/stream_launch.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/comm/binding.h"
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

/* Notes a captured run, once per program. */
static void launch_keep_captured(weft_launches_t *launches, weft_launched_t *run)
{
    weft_launched_t *known = launches->captured;
    while (known != NULL && known->prepared != run->prepared) {
        known = known->next;
    }
    if (known != NULL) {
        weft_os_free(run);
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
    state->queue.sequence = run->sequence;
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
            launch_keep(state, launches, items[i].run, jobs[i].run);
        } else {
            weft_os_free(items[i].run);
        }
    }
    return status;
}

weft_status_t weft_launch_put(weft_comm_state_t *state, weft_launches_t *launches,
                              void *const *stream, weft_request_t *first)
{
    uint32_t count = 0;
    weft_assert_owner(state);
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
    while (status == WEFT_OK && first != NULL) {
        weft_request_t *request = first;
        first = request->next;
        weft_request_free(request);
    }
    return status;
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
                      (unsigned long long)run->sequence, text);
        }
        weft_error_record()->sequence = run->sequence;
        weft_comm_fail(state, weft_error_record()->peer);
        return;
    }
    memcpy(&mine, at->mine, sizeof mine);
    memcpy(&theirs, at->theirs, sizeof theirs);
    weft_comm_mismatch(state, program->ports[at->mismatch]->peer, &mine, &theirs);
}

/* Notes that the device has come to the run: its time begins, and other ranks may ask for it. */
static void launch_begin(weft_comm_state_t *state, weft_launched_t *run)
{
    if (run->started == 0) {
        run->started = weft_os_clock_ns();
        run->deadline = weft_os_deadline(run->timeout);
    }
    if (!run->noted && run->sequence != 0) {
        run->noted = true;
        weft_history_put(&state->history, &run->signature);
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
        return status;
    }
    bool here = at.begun != 0 || (status == WEFT_OK && run->run != 0);
    if (run->run == 0 && (!here || at.moved != run->moved)) {
        run->started = 0; /* of graph launches it is known only that one stands still */
    }
    if (here) {
        launch_begin(state, run);
    }
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
        weft_queue_complete(&state->queue, run->sequence);
        weft_device_run_drop_launch(&run->prepared->run);
        weft_programs_release(&state->programs, run->prepared);
        weft_os_free(run);
    }
    for (weft_launched_t *run = launches->captured; run != NULL && !weft_comm_has_failed(state);
         run = run->next) {
        launch_look_at(state, run, &moved);
    }
    return moved;
}

bool weft_launch_pending(const weft_launches_t *launches, weft_pending_t *pending)
{
    const weft_launched_t *run = launches->first;
    if (run == NULL || run->started == 0) {
        run = launches->captured;
        while (run != NULL && run->started == 0) {
            run = run->next;
        }
    }
    if (run == NULL) {
        return false;
    }
    *pending = (weft_pending_t){.sequence = run->sequence,
                                .signature = run->signature,
                                .started = run->started,
                                .deadline = run->deadline,
                                .port = launch_blocked_port(run),
                                .peer = -1};
    pending->peer = pending->port != NULL ? (int32_t)pending->port->peer : -1;
    return true;
}

/* The end -------------------------------------------------------------------------------------- */

static void launch_abort_all(const weft_comm_state_t *state, const weft_launched_t *run)
{
    for (; run != NULL; run = run->next) {
        state->self.family->kernel.lanes->abort(weft_device_run_handle(&run->prepared->run));
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
    for (const weft_launched_t *run = launches->first; run != NULL; run = run->next) {
        while (!launch_has_ended(state, run)) {
            if (weft_os_clock_ns() > deadline) {
                weft_log(WEFT_LOG_ERROR, "comm",
                         "rank %u: operation %" PRIu64 " was stopped and is still in a stream",
                         state->self.rank, run->sequence);
                return;
            }
            weft_os_yield();
        }
    }
}

static void launch_free_list(weft_launched_t *run)
{
    while (run != NULL) {
        weft_launched_t *next = run->next;
        weft_os_free(run);
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
