/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations that the device runs by itself: their launch, and what is seen of them afterwards. */
#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/comm/call.h"
#include "core/comm/streams.h"
#include "core/exec/relay.h"

/* Launching ---------------------------------------------------------------------------------------- */

/* What start() is told of one operation, and what is kept of it. */
typedef struct one {
    weft_launched_t *run;
    weft_geometry_t geometry;
    weft_lanes_call_t call;
} one_t;

/* The program of the operation, if the device can run it as it is now. */
static weft_prepared_t *launchable(const weft_comm_state_t *state, const weft_request_t *request)
{
    if (state->nranks == 1 || request->args.coll == WEFT_SEND_RECV ||
        weft_user_op_find(state, request->args.op) != NULL) {
        return NULL;
    }
    weft_args_t args = weft_request_class(request);
    weft_prepared_t *prepared = weft_comm_selected(state, &args);
    return prepared != NULL && weft_device_is_ready(&prepared->run) ? prepared : NULL;
}

/* Operations of the host that were called before have no place in the device's queue. */
static bool host_is_done(const weft_comm_state_t *state)
{
    const weft_request_t *request = state->first;
    while (request != NULL && request->in_stream) {
        request = request->next;
    }
    return request == NULL;
}

static weft_status_t stage(weft_comm_state_t *state, uint64_t bytes, void **memory_p)
{
    weft_stream_t *s = state->stream;
    if (s->staging == NULL || s->staging->allocation.bytes < bytes) {
        weft_staging_t *staging = weft_os_alloc(sizeof *staging, 0);
        if (staging == NULL) {
            return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "copy of an in-place input");
        }
        /* Those before were smaller, each by half: runs and recordings may still use them. */
        uint64_t twice = s->staging != NULL ? 2 * s->staging->allocation.bytes : 0;
        weft_status_t status =
            weft_comm_obtain(state, "copy of an in-place input", bytes > twice ? bytes : twice,
                             state->family->kernel.memory != NULL, &staging->allocation);
        if (status != WEFT_OK) {
            weft_os_free(staging);
            return status;
        }
        staging->next = s->staging;
        s->staging = staging;
    }
    *memory_p = s->staging->allocation.memory;
    return WEFT_OK;
}

static weft_status_t fill(weft_comm_state_t *state, const weft_request_t *request,
                          weft_prepared_t *prepared, one_t *one)
{
    weft_binding_t binding;
    one->run = weft_os_alloc(sizeof *one->run, 0);
    if (one->run == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot note a run in a stream");
    }
    one->run->prepared = prepared;
    one->run->sequence = request->sequence;
    one->run->signature = weft_request_signature(prepared, request);
    one->run->timeout = request->timeout;
    one->run->blocked = -1;
    weft_request_bind(prepared, request, &one->geometry, &binding);
    weft_device_describe(&prepared->run, &binding, &one->call);
    one->call.scalar_at = request->late_scalar;
    if (prepared->program.in_place || !weft_request_overlaps(request)) {
        return WEFT_OK;
    }
    one->call.staging_bytes = request->args.send_bytes;
    return stage(state, one->call.staging_bytes, &one->call.staging);
}

/* All recorded runs of a program are one. */
static void keep_recorded(weft_stream_t *s, weft_launched_t *run)
{
    weft_launched_t *known = s->recorded;
    while (known != NULL && known->prepared != run->prepared) {
        known = known->next;
    }
    if (known != NULL) {
        weft_os_free(run);
        return;
    }
    weft_prepared_hold(run->prepared);
    run->next = s->recorded;
    s->recorded = run;
}

static void keep(weft_comm_state_t *state, weft_launched_t *run, uint64_t number)
{
    weft_stream_t *s = state->stream;
    run->run = number;
    if (number == 0) {
        keep_recorded(s, run);
        return;
    }
    weft_prepared_hold(run->prepared);
    run->prepared->run.device.launched++;
    state->sequence = run->sequence;
    if (s->last != NULL) {
        s->last->next = run;
    } else {
        s->first = run;
    }
    s->last = run;
}

static weft_status_t start(weft_comm_state_t *state, void *const *stream, one_t *ones,
                           weft_lanes_job_t *jobs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        jobs[i] = (weft_lanes_job_t){.handle = ones[i].run->prepared->run.device.handle,
                                     .call = &ones[i].call};
    }
    weft_status_t status = state->family->kernel.lanes->start(state->queue, stream, jobs, count);
    if (status == WEFT_ERR_UNSUPPORTED) {
        weft_log(WEFT_LOG_DEBUG, "comm", "not launched: %s", weft_error_record()->text);
    }
    return status;
}

static weft_status_t launch(weft_comm_state_t *state, void *const *stream, weft_request_t *first,
                            one_t *ones, weft_lanes_job_t *jobs)
{
    uint32_t count = 0;
    bool records = false;
    uint64_t sequence = state->sequence;
    weft_status_t status = state->family->kernel.lanes->records(state->queue, stream, &records);
    for (weft_request_t *r = first; r != NULL && status == WEFT_OK; r = r->next) {
        weft_prepared_t *prepared = launchable(state, r);
        r->sequence = records ? 0 : ++sequence;
        status = prepared != NULL ? fill(state, r, prepared, &ones[count++]) : WEFT_ERR_UNSUPPORTED;
    }
    if (status == WEFT_OK) {
        status = start(state, stream, ones, jobs, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (status == WEFT_OK) {
            keep(state, ones[i].run, jobs[i].run);
        } else {
            weft_os_free(ones[i].run);
        }
    }
    return status;
}

weft_status_t weft_launch_put(weft_comm_state_t *state, void *const *stream, weft_request_t *first)
{
    uint32_t count = 0;
    bool all = host_is_done(state);
    for (const weft_request_t *r = first; r != NULL && all; r = r->next) {
        all = launchable(state, r) != NULL;
        count++;
    }
    if (!all) {
        return WEFT_ERR_UNSUPPORTED;
    }
    one_t *ones = weft_os_alloc(count * sizeof *ones, 0);
    weft_lanes_job_t *jobs = weft_os_alloc(count * sizeof *jobs, 0);
    weft_status_t status =
        ones != NULL && jobs != NULL
            ? launch(state, stream, first, ones, jobs)
            : weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot launch %u operations", count);
    weft_os_free(ones);
    weft_os_free(jobs);
    while (status == WEFT_OK && first != NULL) {
        weft_request_t *request = first;
        first = request->next;
        weft_request_free(request);
    }
    return status;
}

/* Looking ------------------------------------------------------------------------------------------ */

static void fail_run(weft_comm_state_t *state, const weft_launched_t *run, weft_status_t status,
                     const weft_lanes_state_t *at)
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
        weft_engine_fail(state, weft_error_record()->peer);
        return;
    }
    memcpy(&mine, at->mine, sizeof mine);
    memcpy(&theirs, at->theirs, sizeof theirs);
    weft_engine_mismatch(state, program->ports[at->mismatch]->peer, &mine, &theirs);
}

/* The device has come to the run: from now on its time runs, and others may ask for it. */
static void begin(weft_comm_state_t *state, weft_launched_t *run)
{
    if (run->started == 0) {
        run->started = weft_os_clock_ns();
        run->deadline = weft_os_deadline(run->timeout);
    }
    if (!run->noted && run->sequence != 0) {
        run->noted = true;
        weft_history_put(state, &run->signature);
    }
}

static weft_port_t *blocked_port(const weft_launched_t *run)
{
    const weft_program_t *program = &run->prepared->program;
    bool known = run->blocked >= 0 && (uint32_t)run->blocked < program->nports;
    return known ? program->ports[run->blocked] : NULL;
}

/* A device cannot see that the transport behind a port broke. */
static void check_link(weft_comm_state_t *state, const weft_launched_t *run)
{
    const weft_port_t *port = blocked_port(run);
    if (port != NULL && port->relay != NULL && weft_relay_is_dry(port->relay)) {
        weft_engine_broken(state, port->broken, (int32_t)port->peer);
    }
}

static weft_status_t look_at(weft_comm_state_t *state, weft_launched_t *run, bool *moved_p)
{
    weft_lanes_state_t at;
    weft_status_t status = weft_device_look(&run->prepared->run, run->run, &at);
    if (status < 0) {
        fail_run(state, run, status, &at);
        return status;
    }
    bool here = at.begun != 0 || (status == WEFT_OK && run->run != 0);
    if (run->run == 0 && (!here || at.moved != run->moved)) {
        run->started = 0; /* of a replay only that it stands still is known */
    }
    if (here) {
        begin(state, run);
    }
    *moved_p = *moved_p || at.moved != run->moved || (status == WEFT_OK && run->run != 0);
    run->moved = at.moved;
    run->blocked = at.blocked;
    if (status == WEFT_IN_PROGRESS || run->run == 0) {
        check_link(state, run);
    }
    return status;
}

bool weft_launch_step(weft_comm_state_t *state)
{
    weft_stream_t *s = state->stream;
    bool moved = false;
    while (s->first != NULL && look_at(state, s->first, &moved) == WEFT_OK) {
        weft_launched_t *run = s->first;
        s->first = run->next;
        s->last = s->first != NULL ? s->last : NULL;
        weft_engine_over(state, run->sequence);
        run->prepared->run.device.launched--;
        weft_prepared_drop(state, run->prepared);
        weft_os_free(run);
    }
    for (weft_launched_t *run = s->recorded; run != NULL && !weft_comm_has_failed(state);
         run = run->next) {
        look_at(state, run, &moved);
    }
    return moved;
}

bool weft_launch_pending(const weft_comm_state_t *state, weft_pending_t *pending)
{
    const weft_launched_t *run = state->stream->first;
    if (run == NULL || run->started == 0) {
        run = state->stream->recorded;
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
                                .port = blocked_port(run),
                                .peer = -1};
    pending->peer = pending->port != NULL ? (int32_t)pending->port->peer : -1;
    return true;
}

static void free_list(weft_launched_t *run)
{
    while (run != NULL) {
        weft_launched_t *next = run->next;
        weft_os_free(run);
        run = next;
    }
}

void weft_launch_free(weft_comm_state_t *state)
{
    weft_stream_t *s = state->stream;
    free_list(s->first);
    free_list(s->recorded);
    s->first = s->last = s->recorded = NULL;
}
