/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Iterations in a stream of the device: they are put there one after another, or recorded and
 * replayed, and the host waits once. */
#include "tools/perf_stream.h"

#include <stdlib.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "tools/perf_call.h"
#include "tools/perf_job.h"
#include "tools/perf_sync.h"

/* Points of the stream before the first iteration and behind each one. */
typedef struct stream_marks {
    weft_kernel_event_t *begin, *end;
    weft_kernel_event_t **each; /* NULL without -I and --stats */
    int64_t count;
} stream_marks_t;

weft_status_t perf_stream_open(perf_rank_t *rank)
{
    perf_device_t *device = &rank->device;
    if (device->streams == NULL || rank->options->loop.null_stream != 0) {
        return WEFT_OK;
    }
    return device->streams->open(device->kernel, &device->stream);
}

/* What an aborted communicator had put there ends soon; until then memory of the device cannot be
 * freed. */
void perf_stream_close(perf_rank_t *rank)
{
    const uint64_t patience_ns = 2000 * WEFT_NS_PER_MS;
    perf_device_t *device = &rank->device;
    if (device->streams != NULL) {
        device->streams->wait(device->kernel, device->stream, patience_ns);
    }
    if (device->stream != NULL) {
        device->streams->close(device->kernel, device->stream);
        device->stream = NULL;
    }
}

/* Why the stream will not end, or OK. */
static weft_status_t perf_stream_failure_of(perf_rank_t *rank)
{
    weft_error_t error = {.size = sizeof error};
    weft_status_t status = weft_comm_error(rank->comm, &error);
    if (status == WEFT_OK && error.status != WEFT_OK) {
        *weft_error_record() = error;
        status = error.status;
    }
    return status;
}

weft_status_t perf_stream_wait(perf_rank_t *rank)
{
    const perf_device_t *device = &rank->device;
    const double timeout = rank->options->timeout;
    const uint64_t deadline = timeout > 0 ? weft_os_deadline(timeout) : WEFT_NEVER;
    const uint64_t look_ns = 100 * WEFT_NS_PER_MS;
    weft_status_t status = device->streams == NULL ? WEFT_OK : WEFT_IN_PROGRESS;
    while (status == WEFT_IN_PROGRESS) {
        status = device->streams->wait(device->kernel, device->stream, look_ns);
        weft_status_t failed = status == WEFT_IN_PROGRESS ? perf_stream_failure_of(rank) : WEFT_OK;
        status = failed != WEFT_OK ? failed : status;
        if (status == WEFT_IN_PROGRESS && weft_os_clock_ns() >= deadline) {
            status =
                weft_fail(WEFT_ERR_TIMEOUT, 0,
                          "the stream of the device has not ended after %g s (--timeout)", timeout);
        }
    }
    return status;
}

/* M operations, which a group puts there together. */
static weft_status_t perf_stream_put_one(perf_rank_t *rank, const perf_case_t *test, uint64_t i)
{
    const uint64_t count = (uint64_t)rank->options->loop.agg_iters;
    weft_status_t status = count > 1 ? weft_group_start() : WEFT_OK;
    if (status != WEFT_OK) {
        return status;
    }
    for (uint64_t k = 0; k < count && status == WEFT_OK; k++) {
        status = perf_call_issue(rank, test, i * count + k, NULL);
    }
    weft_status_t ended = count > 1 ? weft_group_end() : WEFT_OK;
    return status != WEFT_OK ? status : ended;
}

/* What -z asks for behind an iteration; adds what is not to be timed to *untimed. */
static weft_status_t perf_stream_settle(perf_rank_t *rank, uint64_t *untimed)
{
    const int64_t blocking = rank->options->loop.blocking;
    weft_status_t status = blocking != 0 ? perf_stream_wait(rank) : WEFT_OK;
    uint64_t before = weft_os_clock_ns();
    if (status == WEFT_OK && (blocking == 1 || blocking == 3)) {
        status = perf_barrier(rank);
    }
    *untimed += blocking == 3 ? weft_os_clock_ns() - before : 0;
    return status;
}

static weft_status_t perf_stream_put_mark(perf_rank_t *rank, weft_kernel_event_t **mark_p)
{
    const perf_device_t *device = &rank->device;
    return device->streams->event_record(device->kernel, device->stream, mark_p);
}

/* The N iterations; the time to put them there is added to *issued. */
static weft_status_t perf_stream_put_all(perf_rank_t *rank, const perf_case_t *test,
                                         stream_marks_t *marks, uint64_t *issued, uint64_t *untimed)
{
    weft_status_t status = WEFT_OK;
    for (int64_t i = 0; i < rank->options->loop.iters && status == WEFT_OK; i++) {
        uint64_t before = weft_os_clock_ns();
        status = perf_stream_put_one(rank, test, (uint64_t)i);
        *issued += weft_os_clock_ns() - before;
        if (status == WEFT_OK && marks->each != NULL) {
            status = perf_stream_put_mark(rank, &marks->each[i]);
        }
        status = status != WEFT_OK ? status : perf_stream_settle(rank, untimed);
    }
    return status;
}

/* All iterations, or one operation, in a capture. One that fails is ended too, or the stream would
 * stay spoilt. */
static weft_status_t perf_stream_record(perf_rank_t *rank, const perf_case_t *test, bool all,
                                        weft_kernel_graph_t **recording_p)
{
    const perf_device_t *device = &rank->device;
    stream_marks_t none = {0};
    uint64_t ignored = 0;
    weft_status_t status = device->streams->capture_begin(device->kernel, device->stream);
    if (status != WEFT_OK) {
        return status;
    }
    status = all ? perf_stream_put_all(rank, test, &none, &ignored, &ignored)
                 : perf_call_issue(rank, test, 0, NULL);
    const weft_error_t first = *weft_error_record();
    weft_status_t ended = device->streams->capture_end(device->kernel, device->stream, recording_p);
    if (status != WEFT_OK) {
        *weft_error_record() = first;
    }
    return status != WEFT_OK ? status : ended;
}

weft_status_t perf_stream_once(perf_rank_t *rank, const perf_case_t *test)
{
    const perf_device_t *device = &rank->device;
    weft_kernel_graph_t *recording = NULL;
    if (rank->options->loop.graphs == 0) {
        weft_status_t status = perf_call_issue(rank, test, 0, NULL);
        return status != WEFT_OK ? status : perf_stream_wait(rank);
    }
    weft_status_t status = perf_stream_record(rank, test, false, &recording);
    if (status == WEFT_OK) {
        status = device->streams->graph_launch(device->kernel, device->stream, recording);
    }
    status = status != WEFT_OK ? status : perf_stream_wait(rank);
    device->streams->graph_free(device->kernel, recording);
    return status;
}

static weft_status_t perf_stream_replay_all(perf_rank_t *rank, weft_kernel_graph_t *recording,
                                            uint64_t *issued)
{
    const perf_device_t *device = &rank->device;
    const uint64_t before = weft_os_clock_ns();
    weft_status_t status = WEFT_OK;
    for (int64_t g = 0; g < rank->options->loop.graphs && status == WEFT_OK; g++) {
        status = device->streams->graph_launch(device->kernel, device->stream, recording);
    }
    *issued += weft_os_clock_ns() - before;
    return status;
}

/* What lies between the marks, in seconds. */
static weft_status_t perf_stream_read_marks(perf_rank_t *rank, const stream_marks_t *marks,
                                            double *device_p)
{
    const perf_device_t *device = &rank->device;
    double ns = 0;
    weft_status_t status =
        device->streams->event_elapsed(device->kernel, marks->begin, marks->end, &ns);
    *device_p = ns * 1e-9;
    for (int64_t i = 0; i < marks->count && status == WEFT_OK; i++) {
        status = device->streams->event_elapsed(device->kernel, marks->begin, marks->each[i], &ns);
        rank->samples[i] = ns * 1e-9;
    }
    return status;
}

static void perf_stream_free_marks(perf_rank_t *rank, stream_marks_t *marks)
{
    const perf_device_t *device = &rank->device;
    for (int64_t i = 0; i < marks->count; i++) {
        device->streams->event_free(device->kernel, marks->each[i]);
    }
    device->streams->event_free(device->kernel, marks->begin);
    device->streams->event_free(device->kernel, marks->end);
    free(marks->each);
}

static weft_status_t perf_stream_timed(perf_rank_t *rank, const perf_case_t *test,
                                       stream_marks_t *marks, weft_kernel_graph_t *recording,
                                       perf_lap_t *lap)
{
    uint64_t issued = 0;
    uint64_t untimed = 0;
    const uint64_t begin = weft_os_clock_ns();
    weft_status_t status = perf_stream_put_mark(rank, &marks->begin);
    if (status == WEFT_OK) {
        status = recording != NULL ? perf_stream_replay_all(rank, recording, &issued)
                                   : perf_stream_put_all(rank, test, marks, &issued, &untimed);
    }
    status = status != WEFT_OK ? status : perf_stream_put_mark(rank, &marks->end);
    status = status != WEFT_OK ? status : perf_stream_wait(rank);
    lap->wall = (double)(weft_os_clock_ns() - begin - untimed) * 1e-9;
    lap->issue = (double)issued * 1e-9;
    return status != WEFT_OK ? status : perf_stream_read_marks(rank, marks, &lap->device);
}

weft_status_t perf_stream_iterate(perf_rank_t *rank, const perf_case_t *test, perf_lap_t *lap)
{
    const perf_options_t *o = rank->options;
    stream_marks_t marks = {0};
    weft_kernel_graph_t *recording = NULL;
    if (rank->samples != NULL) {
        marks.each = calloc((size_t)o->loop.iters, sizeof(weft_kernel_event_t *));
        marks.count = marks.each != NULL ? o->loop.iters : 0;
        if (marks.each == NULL) {
            return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for the marks of all iterations");
        }
    }
    weft_status_t status =
        o->loop.graphs > 0 ? perf_stream_record(rank, test, true, &recording) : WEFT_OK;
    status = status != WEFT_OK ? status : perf_barrier(rank);
    status = status != WEFT_OK ? status : perf_stream_timed(rank, test, &marks, recording, lap);
    rank->device.streams->graph_free(rank->device.kernel, recording);
    perf_stream_free_marks(rank, &marks);
    return status;
}
