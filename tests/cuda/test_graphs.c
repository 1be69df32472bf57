/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Captures and graphs of the CUDA runtime of the tests: what is recorded and when it runs, and that
 * what CUDA forbids meanwhile spoils the capture. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake.h"
#include "tests/support/unit.h"

static cudaStream_t first, second;
static cudaEvent_t fork_event, join_event;
static _Atomic uint32_t passed, meetings;

static int open_streams(void **state)
{
    (void)state;
    atomic_store(&passed, 0);
    atomic_store(&meetings, 0);
    assert_int_equal(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking), cudaSuccess);
    assert_int_equal(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking), cudaSuccess);
    assert_int_equal(cudaEventCreate(&fork_event), cudaSuccess);
    assert_int_equal(cudaEventCreate(&join_event), cudaSuccess);
    return 0;
}

static int close_streams(void **state)
{
    (void)state;
    assert_int_equal(cudaStreamSynchronize(first), cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(second), cudaSuccess);
    assert_int_equal(cudaEventDestroy(fork_event), cudaSuccess);
    assert_int_equal(cudaEventDestroy(join_event), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(first), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(second), cudaSuccess);
    assert_int_equal(atomic_load(&fake_cuda.streams), 0);
    assert_int_equal(atomic_load(&fake_cuda.graphs), 0);
    return 0;
}

static void note_work(const void *arg)
{
    uint32_t turn;
    memcpy(&turn, arg, sizeof turn);
    /* Turns come in this order in every replay. */
    if (atomic_fetch_add(&passed, 1) % 4 != turn) {
        abort();
    }
}

static cudaError_t note(cudaStream_t stream, uint32_t turn)
{
    return fake_put(stream, note_work, &turn, sizeof turn);
}

/* Two kernels that wait for each other. */
static void meet_work(const void *arg)
{
    const uint32_t mine = atomic_fetch_add(&meetings, 1);
    (void)arg;
    while (atomic_load(&meetings) / 2 <= mine / 2) {
        sched_yield();
    }
}

static void begin(enum cudaStreamCaptureMode mode)
{
    assert_int_equal(cudaStreamBeginCapture(first, mode), cudaSuccess);
}

static enum cudaStreamCaptureStatus status_of(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus status;
    assert_int_equal(cudaStreamIsCapturing(stream, &status), cudaSuccess);
    return status;
}

/* Of a capture that must have been invalidated. */
static void end_invalidated(void)
{
    cudaGraph_t graph = (cudaGraph_t)1;
    assert_int_equal(note(first, 0), cudaErrorStreamCaptureInvalidated);
    assert_int_equal(status_of(first), cudaStreamCaptureStatusInvalidated);
    assert_int_equal(cudaStreamEndCapture(first, &graph), cudaErrorStreamCaptureInvalidated);
    assert_null(graph);
    assert_int_equal(status_of(first), cudaStreamCaptureStatusNone);
    assert_int_equal(cudaStreamQuery(first), cudaSuccess);
    assert_int_equal(atomic_load(&passed), 0);
}

/* Fork and join: 0 and 1 on the first stream, 2 and one of two that meet on the second, the other
 * one and 3 on the first. */
static cudaGraphExec_t record(void)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    begin(cudaStreamCaptureModeGlobal);
    assert_int_equal(note(first, 0), cudaSuccess);
    assert_int_equal(note(first, 1), cudaSuccess);
    assert_int_equal(cudaEventRecord(fork_event, first), cudaSuccess);
    assert_int_equal(cudaStreamWaitEvent(second, fork_event, 0), cudaSuccess);
    assert_int_equal(status_of(second), cudaStreamCaptureStatusActive);
    assert_int_equal(note(second, 2), cudaSuccess);
    assert_int_equal(fake_put(second, meet_work, NULL, 0), cudaSuccess);
    assert_int_equal(fake_put(first, meet_work, NULL, 0), cudaSuccess);
    assert_int_equal(cudaEventRecord(join_event, second), cudaSuccess);
    assert_int_equal(cudaStreamWaitEvent(first, join_event, 0), cudaSuccess);
    assert_int_equal(note(first, 3), cudaSuccess);
    assert_int_equal(cudaStreamEndCapture(first, &graph), cudaSuccess);
    assert_int_equal(status_of(second), cudaStreamCaptureStatusNone);
    assert_int_equal(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
    return exec;
}

static void a_graph_runs_what_was_recorded_at_every_replay(void **state)
{
    cudaGraphExec_t exec = record();
    (void)state;
    assert_int_equal(cudaStreamSynchronize(first), cudaSuccess);
    assert_int_equal(atomic_load(&passed), 0);
    for (uint32_t i = 0; i < 50; i++) {
        assert_int_equal(cudaGraphLaunch(exec, i % 3 == 0 ? second : first), cudaSuccess);
    }
    assert_int_equal(cudaGraphExecDestroy(exec), cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(first), cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(second), cudaSuccess);
    assert_int_equal(atomic_load(&passed), 200);
    assert_int_equal(atomic_load(&meetings), 100);
}

static void a_recorded_copy_reads_what_is_there_at_the_replay(void **state)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    char from[8] = "before", to[8] = "";
    (void)state;
    begin(cudaStreamCaptureModeGlobal);
    assert_int_equal(cudaMemcpyAsync(to, from, 8, cudaMemcpyDefault, first), cudaSuccess);
    assert_int_equal(cudaStreamEndCapture(first, &graph), cudaSuccess);
    assert_int_equal(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    memcpy(from, "after", 6);
    assert_int_equal(cudaGraphLaunch(exec, first), cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(first), cudaSuccess);
    assert_string_equal(to, "after");
    assert_int_equal(cudaGraphExecDestroy(exec), cudaSuccess);
    assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
}

/* The calls of the thread that captures, and of others. */
static cudaError_t allocate(void)
{
    void *at = NULL;
    cudaError_t error = cudaMalloc(&at, 8);
    return error == cudaSuccess ? cudaFree(at) : error;
}

static void *allocate_elsewhere(void *arg)
{
    enum cudaStreamCaptureMode mode = *(enum cudaStreamCaptureMode *)arg;
    cudaError_t *error = arg;
    assert_int_equal(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
    assert_int_equal(mode, cudaStreamCaptureModeGlobal);
    *error = allocate();
    return NULL;
}

static cudaError_t allocate_on_thread(enum cudaStreamCaptureMode mode)
{
    pthread_t thread;
    union {
        enum cudaStreamCaptureMode mode;
        cudaError_t error;
    } arg = {.mode = mode};
    assert_int_equal(pthread_create(&thread, NULL, allocate_elsewhere, &arg), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return arg.error;
}

static void an_unsafe_call_spoils_the_capture_of_its_thread(void **state)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaGraph_t graph;
    (void)state;
    begin(cudaStreamCaptureModeThreadLocal);
    assert_int_equal(allocate(), cudaErrorStreamCaptureUnsupported);
    end_invalidated();
    begin(cudaStreamCaptureModeGlobal);
    assert_int_equal(cudaStreamSynchronize(second), cudaErrorStreamCaptureUnsupported);
    end_invalidated();
    begin(cudaStreamCaptureModeGlobal);
    assert_int_equal(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
    assert_int_equal(allocate(), cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(second), cudaSuccess);
    assert_int_equal(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
    assert_int_equal(cudaStreamEndCapture(first, &graph), cudaSuccess);
    assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
}

static void an_unsafe_call_of_another_thread_depends_on_both_modes(void **state)
{
    cudaGraph_t graph;
    (void)state;
    begin(cudaStreamCaptureModeGlobal);
    assert_int_equal(allocate_on_thread(cudaStreamCaptureModeRelaxed), cudaSuccess);
    assert_int_equal(allocate_on_thread(cudaStreamCaptureModeThreadLocal), cudaSuccess);
    assert_int_equal(status_of(first), cudaStreamCaptureStatusActive);
    assert_int_equal(allocate_on_thread(cudaStreamCaptureModeGlobal),
                     cudaErrorStreamCaptureUnsupported);
    end_invalidated();
    begin(cudaStreamCaptureModeThreadLocal);
    assert_int_equal(allocate_on_thread(cudaStreamCaptureModeGlobal), cudaSuccess);
    assert_int_equal(cudaStreamEndCapture(first, &graph), cudaSuccess);
    assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
}

/* Even where unsafe calls are allowed. */
static void captured_streams_and_events_cannot_be_waited_for(void **state)
{
    (void)state;
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    assert_int_equal(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
    begin(cudaStreamCaptureModeRelaxed);
    assert_int_equal(cudaStreamSynchronize(first), cudaErrorStreamCaptureUnsupported);
    end_invalidated();
    begin(cudaStreamCaptureModeRelaxed);
    assert_int_equal(cudaStreamQuery(first), cudaErrorStreamCaptureUnsupported);
    end_invalidated();
    begin(cudaStreamCaptureModeRelaxed);
    assert_int_equal(cudaEventRecord(fork_event, first), cudaSuccess);
    assert_int_equal(cudaEventQuery(fork_event), cudaErrorCapturedEvent);
    end_invalidated();
    /* Nor is there anything to wait for afterwards. */
    assert_int_equal(cudaEventSynchronize(fork_event), cudaErrorCapturedEvent);
    assert_int_equal(cudaStreamWaitEvent(second, fork_event, 0), cudaErrorCapturedEvent);
    assert_int_equal(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
}

/* Not even its device, nor its number. */
static void a_captured_stream_tells_nothing_of_itself(void **state)
{
    int device = 7;
    unsigned long long number = 7;
    (void)state;
    begin(cudaStreamCaptureModeRelaxed);
    assert_int_equal(cudaStreamGetDevice(first, &device), cudaErrorStreamCaptureUnsupported);
    end_invalidated();
    begin(cudaStreamCaptureModeRelaxed);
    assert_int_equal(cudaStreamGetId(first, &number), cudaErrorStreamCaptureUnsupported);
    end_invalidated();
    assert_int_equal(device, 7);
    assert_int_equal(number, 7);
    assert_int_equal(cudaStreamGetDevice(first, &device), cudaSuccess);
    assert_int_equal(device, 0);
}

static void a_capture_waits_for_nothing_outside(void **state)
{
    (void)state;
    assert_int_equal(cudaEventRecord(fork_event, second), cudaSuccess);
    begin(cudaStreamCaptureModeGlobal);
    assert_int_equal(cudaStreamWaitEvent(first, fork_event, 0), cudaErrorStreamCaptureIsolation);
    end_invalidated();
    /* Nor for another capture. */
    begin(cudaStreamCaptureModeRelaxed);
    assert_int_equal(cudaStreamBeginCapture(second, cudaStreamCaptureModeRelaxed), cudaSuccess);
    assert_int_equal(cudaEventRecord(fork_event, second), cudaSuccess);
    assert_int_equal(cudaStreamWaitEvent(first, fork_event, 0), cudaErrorStreamCaptureMerge);
    cudaGraph_t graph;
    assert_int_equal(cudaStreamEndCapture(second, &graph), cudaErrorStreamCaptureInvalidated);
    end_invalidated();
}

static void a_forked_stream_must_be_joined(void **state)
{
    cudaGraph_t graph;
    (void)state;
    begin(cudaStreamCaptureModeGlobal);
    assert_int_equal(cudaEventRecord(fork_event, first), cudaSuccess);
    assert_int_equal(cudaStreamWaitEvent(second, fork_event, 0), cudaSuccess);
    assert_int_equal(note(second, 0), cudaSuccess);
    assert_int_equal(cudaEventRecord(join_event, second), cudaSuccess);
    assert_int_equal(cudaStreamWaitEvent(first, join_event, 0), cudaSuccess);
    assert_int_equal(note(second, 1), cudaSuccess); /* behind the join */
    assert_int_equal(cudaStreamEndCapture(first, &graph), cudaErrorStreamCaptureUnjoined);
    assert_int_equal(status_of(second), cudaStreamCaptureStatusNone);
    begin(cudaStreamCaptureModeGlobal);
    assert_int_equal(cudaEventRecord(fork_event, first), cudaSuccess);
    assert_int_equal(cudaStreamWaitEvent(second, fork_event, 0), cudaSuccess);
    assert_int_equal(cudaStreamEndCapture(second, &graph), cudaErrorStreamCaptureUnmatched);
    end_invalidated();
}

static void the_legacy_stream_is_kept_apart(void **state)
{
    cudaStream_t blocking;
    cudaGraph_t graph;
    (void)state;
    assert_int_equal(cudaStreamBeginCapture(NULL, cudaStreamCaptureModeGlobal),
                     cudaErrorStreamCaptureUnsupported);
    begin(cudaStreamCaptureModeGlobal);
    assert_int_equal(note(NULL, 0), cudaSuccess);
    assert_int_equal(cudaStreamEndCapture(first, &graph), cudaSuccess);
    assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
    assert_int_equal(cudaStreamCreateWithFlags(&blocking, cudaStreamDefault), cudaSuccess);
    assert_int_equal(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeGlobal), cudaSuccess);
    assert_int_equal(note(NULL, 0), cudaErrorStreamCaptureImplicit);
    assert_int_equal(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated);
    assert_int_equal(cudaStreamDestroy(blocking), cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(NULL), cudaSuccess);
}

int main(void)
{
#define WITH_STREAMS(test) cmocka_unit_test_setup_teardown(test, open_streams, close_streams)
    const struct CMUnitTest tests[] = {
        WITH_STREAMS(a_graph_runs_what_was_recorded_at_every_replay),
        WITH_STREAMS(a_recorded_copy_reads_what_is_there_at_the_replay),
        WITH_STREAMS(an_unsafe_call_spoils_the_capture_of_its_thread),
        WITH_STREAMS(an_unsafe_call_of_another_thread_depends_on_both_modes),
        WITH_STREAMS(captured_streams_and_events_cannot_be_waited_for),
        WITH_STREAMS(a_captured_stream_tells_nothing_of_itself),
        WITH_STREAMS(a_capture_waits_for_nothing_outside),
        WITH_STREAMS(a_forked_stream_must_be_joined),
        WITH_STREAMS(the_legacy_stream_is_kept_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
