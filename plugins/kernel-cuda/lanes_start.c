/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Starting runs: all of them are made ready, then they go to the device as one launch. */
#include "lanes_start.h"

#include <string.h>

#include "cuda_device.h"
#include "cuda_access.h"
#include "cuda_memory.h"
#include "cuda_pool.h"
#include "lanes_types.h"
#include "lanes_meeting.h"
#include "lanes_order.h"
#include "lanes_poll.h"
#include "lanes_protocol.h"
#include "lanes_queue.h"
#include "lanes_retained.h"
#include "lanes_stream.h"
#include "launch.h"

/* Jobs ----------------------------------------------------------------------------------------- */

static weft_status_t lanes_start_buffers_check(const weft_lanes_handle_t *handle,
                                               const weft_lanes_call_t *call)
{
    weft_kernel_t *kernel = handle->kernel;
    const bool some = call->segmentation.count > 0 || call->nin > 0 || call->nout > 0;
    weft_status_t status = WEFT_OK;
    if (some && call->in != NULL) {
        status = call->staging != NULL ? cuda_check_access_async(kernel, call->in, "input")
                                       : cuda_check_access(kernel, call->in, "input");
    }
    if (some && call->out != NULL && status == WEFT_OK) {
        status = cuda_check_access(kernel, call->out, "output");
    }
    if (call->scalar_at != NULL && status == WEFT_OK) {
        status = cuda_check_access(kernel, call->scalar_at, "factor");
    }
    for (uint64_t i = 0; i < call->nmessages && status == WEFT_OK; i++) {
        const weft_lanes_message_t *m = &call->messages[i];
        status = m->count > 0 ? cuda_check_access(kernel, m->memory, "message") : WEFT_OK;
    }
    return status;
}

/* Memory that runs started before may use. */
static weft_status_t lanes_start_block_retire(weft_lanes_handle_t *handle, void *block)
{
    if (block == NULL || (lanes_poll_idle(handle) && !handle->captured)) {
        cuda_device_free(handle->kernel, block);
        return WEFT_OK;
    }
    lanes_retained_t *entry = lanes_retained_create(handle);
    if (entry == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    entry->device = block;
    lanes_retained_add(handle, entry, handle->captured ? 0 : handle->started);
    return WEFT_OK;
}

/* Puts a block of `bytes` in the place of an old one. */
static weft_status_t lanes_start_block_renew(weft_lanes_handle_t *handle, uint64_t bytes,
                                             void **block_p)
{
    void *block = NULL;
    weft_status_t status = cuda_device_alloc(handle->kernel, bytes, &block);
    if (status != WEFT_OK) {
        return status;
    }
    status = lanes_start_block_retire(handle, *block_p);
    if (status == WEFT_OK) {
        *block_p = block;
    } else {
        cuda_device_free(handle->kernel, block);
    }
    return status;
}

static weft_status_t lanes_start_scratch_check(weft_lanes_handle_t *handle,
                                               const weft_lanes_call_t *call)
{
    const weft_lanes_program_t *program = &handle->image.program;
    const uint64_t whole = handle->run.meeting.may != 0 ? handle->run.meeting.whole.chunk : 0;
    const uint64_t chunk = call->segmentation.chunk > whole ? call->segmentation.chunk : whole;
    const uint64_t bytes =
        (uint64_t)program->channels * program->tmp_chunks * chunk * program->elem;
    void *tmp = handle->run.tmp;
    if (bytes <= handle->tmp_bytes) {
        return WEFT_OK;
    }
    weft_status_t status = lanes_start_block_renew(handle, bytes, &tmp);
    if (status == WEFT_OK) {
        handle->run.tmp = tmp;
        handle->tmp_bytes = bytes;
    }
    return status;
}

static bool lanes_start_is_aimed(const weft_lanes_handle_t *handle, const weft_lanes_call_t *call)
{
    bool aimed = true;
    for (uint32_t p = 0; aimed && p < lanes_image_nports(&handle->image.program); p++) {
        aimed = handle->aimed[p] == call->ends[p]->number;
    }
    return aimed;
}

static void lanes_start_ports_note(weft_lanes_handle_t *handle, const weft_lanes_call_t *call)
{
    handle->slot_bytes = UINT64_MAX;
    for (uint32_t p = 0; p < lanes_image_nports(&handle->image.program); p++) {
        const weft_lanes_endpoint_t *end = call->ends[p];
        handle->aimed[p] = end->number;
        handle->slot_bytes =
            end->slot_bytes < handle->slot_bytes ? end->slot_bytes : handle->slot_bytes;
    }
}

/* Tells the device where the ends are, unless it knows. */
static weft_status_t lanes_start_ports_aim(weft_lanes_handle_t *handle,
                                           const weft_lanes_call_t *call)
{
    weft_kernel_t *kernel = handle->kernel;
    const uint32_t nports = lanes_image_nports(&handle->image.program);
    const uint64_t bytes = nports * sizeof(lanes_port_t);
    void *there = handle->run.ports;
    if (lanes_start_is_aimed(handle, call)) {
        return WEFT_OK;
    }
    lanes_port_t *ports = kernel->host->alloc(kernel->host, bytes, 0);
    if (ports == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    for (uint32_t p = 0; p < nports; p++) {
        ports[p] = call->ends[p]->port;
        lanes_protocol_limit(&handle->image.program, &ports[p].flagged);
    }
    weft_status_t status = lanes_start_block_renew(handle, bytes, &there);
    handle->run.ports = there;
    handle->aimed[0] = 0; /* until the copy is there */
    status = status == WEFT_OK ? cuda_device_write(kernel, there, ports, bytes) : status;
    kernel->host->free(kernel->host, ports);
    if (status == WEFT_OK) {
        lanes_start_ports_note(handle, call);
    }
    return status;
}

/* After a failure, when all runs have ended, the handle begins anew; what became of them is
 * kept. */
static weft_status_t lanes_start_failure_clear(weft_lanes_handle_t *handle)
{
    const lanes_image_t *image = &handle->image;
    const bool failed =
        handle->aborted || handle->broken || lanes_image_failed(image, handle->visible);
    if (!failed || !lanes_poll_idle(handle)) {
        return WEFT_OK;
    }
    weft_status_t status =
        cuda_device_zero(handle->kernel, handle->device + image->words, image->words_bytes);
    if (status == WEFT_OK) {
        handle->good = lanes_image_completed(image, handle->visible);
        handle->lost = handle->started;
        lanes_image_reset(image, handle->visible);
        handle->aborted = handle->broken = false;
    }
    return status;
}

/* Everything of a run but its vectors and messages. */
static weft_status_t lanes_start_job_prepare(weft_lanes_queue_t *queue, const weft_lanes_job_t *job,
                                             bool recorded, lanes_run_t *run)
{
    weft_lanes_handle_t *handle = job->handle;
    const weft_lanes_call_t *call = job->call;
    const weft_host_t *host = handle->kernel->host;
    char why[160];
    if (call->size < sizeof *call) {
        return host->set_error(host, WEFT_ERR_ARG, 0, "the call is of an older layout");
    }
    lanes_retained_reclaim(handle);
    weft_status_t status = lanes_start_buffers_check(handle, call);
    status = status == WEFT_OK ? lanes_start_failure_clear(handle) : status;
    status = status == WEFT_OK ? lanes_start_ports_aim(handle, call) : status;
    if (status == WEFT_OK &&
        !lanes_image_fits(&handle->image, call, handle->slot_bytes, why, sizeof why)) {
        status = host->set_error(host, WEFT_ERR_ARG, 0, "%s", why);
    }
    if (status == WEFT_OK) {
        lanes_meeting_set(handle, call, recorded);
        status = lanes_start_scratch_check(handle, call);
    }
    if (status == WEFT_OK) {
        *run = handle->run;
        lanes_image_call(run, call);
        run->in = call->staging != NULL ? call->staging : call->in;
        run->number = recorded ? 0 : ++handle->started;
        handle->captured = handle->captured || recorded;
        handle->queue = queue;
    }
    return status;
}

/* Launches ------------------------------------------------------------------------------------- */

/* Copies one vector behind the others; NULL stays NULL. */
static const uint64_t *lanes_start_vector_put(uint64_t **to, const uint64_t *vector, uint32_t n)
{
    const uint64_t *there = *to;
    if (vector == NULL) {
        return NULL;
    }
    memcpy(*to, vector, n * sizeof *vector);
    *to += n;
    return there;
}

static uint64_t lanes_start_vectors_words(const weft_lanes_call_t *call)
{
    const weft_lanes_vectors_t *v = &call->vectors;
    return v->in_counts == NULL && v->out_counts == NULL ? 0
                                                         : 2 * ((uint64_t)call->nin + call->nout);
}

static void lanes_start_vectors_put(lanes_run_t *run, uint64_t **to, const weft_lanes_call_t *call)
{
    const weft_lanes_vectors_t *v = &call->vectors;
    run->vectors.at = *to;
    run->vectors.of.in_counts = lanes_start_vector_put(to, v->in_counts, call->nin);
    run->vectors.of.in_displs = lanes_start_vector_put(to, v->in_displs, call->nin);
    run->vectors.of.out_counts = lanes_start_vector_put(to, v->out_counts, call->nout);
    run->vectors.of.out_displs = lanes_start_vector_put(to, v->out_displs, call->nout);
    run->vectors.words = (uint64_t)(*to - run->vectors.at);
}

static void lanes_start_messages_put(lanes_run_t *run, uint64_t **to, const weft_lanes_call_t *call)
{
    const uint64_t bytes = call->nmessages * sizeof *call->messages;
    run->messages = (const weft_lanes_message_t *)(const void *)*to;
    memcpy(*to, call->messages, bytes);
    *to += bytes / sizeof **to;
}

static uint64_t lanes_start_launch_bytes(const weft_lanes_job_t *jobs, uint32_t njobs)
{
    uint64_t bytes = njobs > 1 ? njobs * sizeof(lanes_run_copy_t) : 0;
    for (uint32_t i = 0; i < njobs; i++) {
        bytes += lanes_start_vectors_words(jobs[i].call) * sizeof(uint64_t) +
                 jobs[i].call->nmessages * sizeof(weft_lanes_message_t);
    }
    return bytes;
}

/* Allocates the memory that the runs of a launch need beside themselves: a copy of each run, if
 * they are several, their vectors and their messages. The last of them retains it. */
static weft_status_t lanes_start_launch_retain(lanes_launch_t *launch, const weft_lanes_job_t *jobs,
                                               lanes_run_t *runs)
{
    const uint32_t njobs = launch->nruns;
    weft_lanes_handle_t *last = jobs[njobs - 1].handle;
    const uint64_t bytes = lanes_start_launch_bytes(jobs, njobs);
    if (bytes == 0) {
        return WEFT_OK;
    }
    lanes_retained_t *entry = lanes_retained_create(last);
    void *block = entry != NULL ? cuda_mapped_alloc(last->kernel, bytes) : NULL;
    if (block == NULL) {
        last->kernel->host->free(last->kernel->host, entry);
        return WEFT_ERR_RESOURCE;
    }
    lanes_run_copy_t *copies = block;
    uint64_t *words = (uint64_t *)(copies + (njobs > 1 ? njobs : 0));
    for (uint32_t i = 0; i < njobs; i++) {
        if (lanes_start_vectors_words(jobs[i].call) > 0) {
            lanes_start_vectors_put(&runs[i], &words, jobs[i].call);
        }
        if (jobs[i].call->nmessages > 0) {
            lanes_start_messages_put(&runs[i], &words, jobs[i].call);
        }
        if (njobs > 1) {
            copies[i].run = runs[i];
            copies[i].run.stepped.nsteps = 0; /* see lanes_fetch() */
        }
    }
    launch->runs = copies;
    entry->visible = block;
    lanes_retained_add(last, entry, runs[njobs - 1].number);
    return WEFT_OK;
}

/* One launch; only its first run may have an input to be staged. */
static weft_status_t lanes_start_launch(weft_lanes_queue_t *queue, const lanes_stream_t *target,
                                        const weft_lanes_job_t *jobs, lanes_run_t *runs,
                                        uint32_t njobs)
{
    weft_kernel_t *kernel = queue->kernel;
    const weft_lanes_call_t *first = jobs[0].call;
    lanes_launch_t launch = {.nruns = njobs};
    cudaError_t error = cudaSuccess;
    weft_status_t status = lanes_start_launch_retain(&launch, jobs, runs);
    if (status != WEFT_OK) {
        return status;
    }
    for (uint32_t i = 0; i < njobs; i++) {
        launch.nblocks = runs[i].nblocks > launch.nblocks ? runs[i].nblocks : launch.nblocks;
    }
    launch.run.run = runs[0];
    launch.arrived = queue->arrived;
    if (first->staging != NULL) {
        error = cudaMemcpyAsync(first->staging, first->in, first->staging_bytes, cudaMemcpyDefault,
                                target->stream);
    }
    if (error == cudaSuccess) {
        error = cuda_launch_lanes(&launch, kernel->threads, kernel->facts.domains, target->stream);
    }
    kernel->counts.launches++;
    kernel->counts.runs += njobs;
    return error == cudaSuccess ? WEFT_OK : lanes_stream_failed(queue, error, "starting a plan");
}

/* A staged input may be what a run before it has written: such a run begins a launch. */
static weft_status_t lanes_start_launch_all(weft_lanes_queue_t *queue, const lanes_stream_t *target,
                                            const weft_lanes_job_t *jobs, uint32_t njobs,
                                            uint32_t *launched_p)
{
    cudaError_t error = lanes_queue_join(queue, target);
    weft_status_t status =
        error == cudaSuccess ? WEFT_OK : lanes_stream_failed(queue, error, "ordering a plan");
    while (status == WEFT_OK && *launched_p < njobs) {
        const uint32_t from = *launched_p;
        uint32_t to = from + 1;
        while (to < njobs && jobs[to].call->staging == NULL) {
            to++;
        }
        status = lanes_start_launch(queue, target, &jobs[from], &queue->runs[from], to - from);
        *launched_p = status == WEFT_OK ? to : from;
    }
    error = status == WEFT_OK ? lanes_queue_record(queue, target) : cudaSuccess;
    return error == cudaSuccess ? status : lanes_stream_failed(queue, error, "ordering a plan");
}

/* The same when there is room for the widest of them. */
static weft_status_t lanes_start_in_order(weft_lanes_queue_t *queue, const lanes_stream_t *target,
                                          const weft_lanes_job_t *jobs, uint32_t njobs,
                                          uint32_t *launched_p)
{
    uint32_t blocks = 0;
    for (uint32_t i = 0; i < njobs; i++) {
        blocks = queue->runs[i].nblocks > blocks ? queue->runs[i].nblocks : blocks;
    }
    cudaError_t error = lanes_order_enter(queue, target, blocks);
    weft_status_t status =
        error == cudaSuccess
            ? lanes_start_launch_all(queue, target, jobs, njobs, launched_p)
            : lanes_stream_failed(queue, error, "ordering the runs of communicators");
    lanes_order_leave(queue);
    return status;
}

/* All or none: what could not be launched was never started, what was launched is stopped. */
static void lanes_start_release_unused(const weft_lanes_queue_t *queue,
                                       const weft_lanes_job_t *jobs, uint32_t launched,
                                       uint32_t ready)
{
    for (uint32_t i = 0; i < ready; i++) {
        if (i < launched) {
            lanes_abort(jobs[i].handle);
        } else {
            jobs[i].handle->started -= queue->runs[i].number != 0;
        }
    }
}

static weft_status_t lanes_start_runs_room(weft_lanes_queue_t *queue, uint32_t njobs)
{
    const weft_host_t *host = queue->kernel->host;
    if (njobs <= queue->runs_room) {
        return WEFT_OK;
    }
    lanes_run_t *runs = host->alloc(host, njobs * sizeof *runs, 0);
    if (runs == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    host->free(host, queue->runs);
    queue->runs = runs;
    queue->runs_room = njobs;
    return WEFT_OK;
}

static weft_status_t start(weft_lanes_queue_t *queue, void *const *stream, weft_lanes_job_t *jobs,
                           uint32_t njobs)
{
    const weft_host_t *host = queue->kernel->host;
    uint32_t ready = 0, launched = 0;
    lanes_stream_t target;
    weft_status_t status = lanes_stream_resolve(queue, stream, &target);
    status = status == WEFT_OK ? lanes_start_runs_room(queue, njobs) : status;
    while (status == WEFT_OK && ready < njobs) {
        status =
            lanes_start_job_prepare(queue, &jobs[ready], target.capture != 0, &queue->runs[ready]);
        ready += status == WEFT_OK;
    }
    if (status == WEFT_OK) {
        cuda_flight_launch_begin();
        status = lanes_start_in_order(queue, &target, jobs, njobs, &launched);
        cuda_flight_launch_end();
    }
    if (status != WEFT_OK) {
        lanes_start_release_unused(queue, jobs, launched, ready);
        return status;
    }
    for (uint32_t i = 0; i < njobs; i++) {
        jobs[i].run = queue->runs[i].number;
        jobs[i].handle->asked_ns = host->clock_ns(host);
    }
    return WEFT_OK;
}

weft_status_t lanes_start(weft_lanes_queue_t *queue, void *const *stream, weft_lanes_job_t *jobs,
                          uint32_t njobs)
{
    cuda_guard_t guard;
    weft_status_t status = cuda_guard_enter(queue->kernel, &guard);
    if (status == WEFT_OK) {
        status = start(queue, stream, jobs, njobs);
        cuda_guard_leave(&guard);
    }
    return status;
}
