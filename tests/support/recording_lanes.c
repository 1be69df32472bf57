/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lanes that only note: what they are told is looked at by the test. */
#include <string.h>

#include "core/base/error.h"
#include "tests/support/recording_lanes.h"
#include "tests/support/unit.h"

recording_lanes_t recording;

void recording_lanes_reset(void)
{
    recording = (recording_lanes_t){.poll = WEFT_IN_PROGRESS, .advance = 3};
    recording.state =
        (weft_lanes_state_t){.size = sizeof recording.state, .blocked = -1, .mismatch = -1};
}

static weft_status_t recording_end_open(weft_kernel_t *kernel, const weft_lanes_port_t *port,
                                        weft_lanes_endpoint_t **end_p)
{
    (void)kernel;
    recording.ends[recording.nends].port = *port;
    *end_p = &recording.ends[recording.nends++];
    return WEFT_OK;
}

static void recording_end_close(weft_lanes_endpoint_t *end)
{
    (void)end;
    recording.closed++;
}

static uint64_t recording_end_next(const weft_lanes_endpoint_t *end)
{
    return end->next;
}

static void recording_end_seek(weft_lanes_endpoint_t *end, uint64_t next)
{
    end->next = next;
}

static weft_status_t recording_end_windows(weft_lanes_endpoint_t *end,
                                           const weft_lanes_window_t *windows)
{
    memcpy(end->windows, windows, sizeof end->windows);
    return WEFT_OK;
}

static weft_status_t recording_prepare(weft_kernel_t *kernel, const weft_lanes_program_t *program,
                                       weft_lanes_handle_t **handle_p)
{
    (void)kernel;
    recording.program = *program;
    memcpy(recording.code, program->code, program->ncode * sizeof *program->code);
    memcpy(recording.operands, program->operands, program->noperands * sizeof *program->operands);
    memcpy(recording.moves, program->moves, program->nmoves * sizeof *program->moves);
    memcpy(recording.afters, program->afters, program->nafters * sizeof *program->afters);
    if (recording.prepare != WEFT_OK) {
        return weft_fail(recording.prepare, 0, "the test says so");
    }
    *handle_p = (weft_lanes_handle_t *)&recording;
    return WEFT_OK;
}

static weft_status_t recording_start(weft_lanes_queue_t *queue, void *const *stream,
                                     weft_lanes_job_t *jobs, uint32_t njobs)
{
    assert_ptr_equal(queue, &recording);
    assert_null(stream);
    assert_int_equal(njobs, 1);
    recording.call = *jobs[0].call;
    recording.starts++;
    jobs[0].run = 40 + (uint64_t)recording.starts;
    return recording.start;
}

static weft_status_t recording_poll(weft_lanes_handle_t *handle, uint64_t run,
                                    weft_lanes_state_t *state)
{
    (void)handle;
    *state = recording.state;
    recording.run = run;
    for (int i = 0; recording.poll != WEFT_IN_PROGRESS && i < recording.nends; i++) {
        recording.ends[i].next += recording.advance;
    }
    return recording.poll;
}

static void recording_abort(weft_lanes_handle_t *handle)
{
    (void)handle;
    recording.aborts++;
    recording.poll = WEFT_ERR_ABORTED;
}

static void recording_release(weft_lanes_handle_t *handle)
{
    (void)handle;
    recording.releases++;
}

const weft_kernel_lanes_t recording_lanes = {.size = sizeof recording_lanes,
                                             .prepare = recording_prepare,
                                             .endpoint_open = recording_end_open,
                                             .endpoint_close = recording_end_close,
                                             .endpoint_next = recording_end_next,
                                             .endpoint_seek = recording_end_seek,
                                             .start = recording_start,
                                             .poll = recording_poll,
                                             .abort = recording_abort,
                                             .release = recording_release,
                                             .endpoint_windows = recording_end_windows};
