/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations that the device runs by itself: their launch. */
#include "core/comm/stream_launch.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/comm/binding.h"
#include "core/comm/bundle.h"
#include "core/comm/p2p_look.h"

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
            weft_launches_keep(state, launches, items[i].run, jobs[i].run);
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
        weft_launches_keep(state, launches, run, job.run);
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
