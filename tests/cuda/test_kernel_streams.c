/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams, marks and recordings of kernel-cuda, as a program uses them that knows weft only. */
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <weft/plugin/memory.h>
#include <weft/plugin/draft/stream.h>

#include "tests/cuda/bench.h"
#include "tests/cuda/fake.h"
#include "tests/support/unit.h"

#define NS_PER_MS 1000000u
#define LONG (10000ull * NS_PER_MS)

static const weft_kernel_stream_t *streams;
static const weft_kernel_memory_t *memory;
static void *stream_here;
static char *buffer_there; /* of the device, 8 bytes */
static int events;         /* of the kernel itself */

/* The kernel computes on the second of two devices; the first is the caller's. */
static int open_stream(void **state)
{
    void *buffer = NULL;
    (void)state;
    bench_reset();
    assert_int_equal(bench_create("device=1"), WEFT_OK);
    streams = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_STREAM);
    memory = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_MEMORY);
    assert_non_null(streams);
    assert_int_equal(memory->alloc(bench.kernel, 8, &buffer), WEFT_OK);
    buffer_there = buffer;
    events = atomic_load(&fake_cuda.events);
    assert_int_equal(streams->open(bench.kernel, &stream_here), WEFT_OK);
    return 0;
}

static int close_stream(void **state)
{
    streams->close(bench.kernel, stream_here);
    memory->free(bench.kernel, buffer_there);
    assert_int_equal(atomic_load(&fake_cuda.events), events);
    return bench_close(state);
}

static weft_status_t settle(void)
{
    return streams->wait(bench.kernel, stream_here, LONG);
}

/* Puts a change of the buffer's first byte into the stream. */
static void put_value(int value)
{
    assert_int_equal(cudaSetDevice(1), cudaSuccess);
    assert_int_equal(cudaMemsetAsync(buffer_there, value, 1, stream_here), cudaSuccess);
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
}

static int value(void)
{
    signed char byte = -1;
    assert_int_equal(memory->copy(bench.kernel, &byte, buffer_there, 1), WEFT_OK);
    return byte;
}

static void nap(long ns)
{
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static _Atomic int gate_open;

static void gate(const void *arg)
{
    (void)arg;
    while (atomic_load(&gate_open) == 0) {
        nap(10000);
    }
}

static void nap_long(const void *arg)
{
    (void)arg;
    nap(3 * NS_PER_MS);
}

static void a_stream_is_waited_for_with_a_deadline(void **state)
{
    (void)state;
    atomic_store(&gate_open, 0);
    assert_int_equal(settle(), WEFT_OK);
    assert_int_equal(fake_put(stream_here, gate, NULL, 0), cudaSuccess);
    assert_int_equal(streams->wait(bench.kernel, stream_here, 0), WEFT_IN_PROGRESS);
    assert_int_equal(streams->wait(bench.kernel, stream_here, NS_PER_MS), WEFT_IN_PROGRESS);
    atomic_store(&gate_open, 1);
    assert_int_equal(settle(), WEFT_OK);
}

static void the_time_between_marks_is_the_streams(void **state)
{
    weft_kernel_event_t *before = NULL, *after = NULL;
    double ns = -1;
    (void)state;
    atomic_store(&gate_open, 0);
    assert_int_equal(streams->event_record(bench.kernel, stream_here, &before), WEFT_OK);
    assert_int_equal(fake_put(stream_here, nap_long, NULL, 0), cudaSuccess);
    assert_int_equal(fake_put(stream_here, gate, NULL, 0), cudaSuccess);
    assert_int_equal(streams->event_record(bench.kernel, stream_here, &after), WEFT_OK);
    assert_int_equal(streams->event_elapsed(bench.kernel, before, after, &ns), WEFT_ERR_STATE);
    bench_said("has not passed them yet");
    assert_true(ns == -1);
    atomic_store(&gate_open, 1);
    assert_int_equal(settle(), WEFT_OK);
    assert_int_equal(streams->event_elapsed(bench.kernel, before, after, &ns), WEFT_OK);
    assert_true(ns >= 3 * NS_PER_MS && ns < (double)LONG);
    streams->event_free(bench.kernel, before);
    streams->event_free(bench.kernel, after);
    streams->event_free(bench.kernel, NULL);
}

static void what_is_recorded_happens_with_every_replay(void **state)
{
    weft_kernel_graph_t *recording = NULL;
    (void)state;
    assert_int_equal(streams->capture_begin(bench.kernel, stream_here), WEFT_OK);
    put_value(5);
    assert_int_equal(streams->capture_end(bench.kernel, stream_here, &recording), WEFT_OK);
    assert_int_equal(settle(), WEFT_OK);
    assert_int_equal(value(), 0);
    for (int i = 0; i < 2; i++) {
        put_value(9);
        assert_int_equal(streams->graph_launch(bench.kernel, stream_here, recording), WEFT_OK);
        assert_int_equal(settle(), WEFT_OK);
        assert_int_equal(value(), 5);
    }
    streams->graph_free(bench.kernel, recording);
    streams->graph_free(bench.kernel, NULL);
}

static void a_invalidated_capture_is_said_to_be_one(void **state)
{
    weft_kernel_graph_t *recording = NULL;
    (void)state;
    assert_int_equal(streams->capture_end(bench.kernel, stream_here, &recording), WEFT_ERR_STATE);
    assert_int_equal(streams->capture_begin(bench.kernel, stream_here), WEFT_OK);
    assert_int_equal(settle(), WEFT_ERR_STATE);
    bench_said("waiting for a stream on CUDA device 1");
    assert_int_equal(streams->capture_end(bench.kernel, stream_here, &recording), WEFT_ERR_STATE);
    bench_said("ending a capture on CUDA device 1");
    assert_null(recording);
    put_value(7);
    assert_int_equal(settle(), WEFT_OK);
    assert_int_equal(value(), 7);
}

static void fails_next(const char *call)
{
    fake_cuda.error = cudaErrorMemoryAllocation;
    fake_cuda.fails = call;
}

static void failures_of_the_runtime_leave_nothing_behind(void **state)
{
    weft_kernel_event_t *mark = NULL;
    weft_kernel_graph_t *recording = NULL;
    void *stream = NULL;
    (void)state;
    fails_next("cudaStreamCreateWithFlags");
    assert_int_equal(streams->open(bench.kernel, &stream), WEFT_ERR_RESOURCE);
    bench_said("making a stream: CUDA device 1 has no memory left");
    fails_next("cudaStreamQuery");
    assert_int_equal(settle(), WEFT_ERR_RESOURCE);
    fails_next("cudaEventCreateWithFlags");
    assert_int_equal(streams->event_record(bench.kernel, stream_here, &mark), WEFT_ERR_RESOURCE);
    fails_next("cudaEventRecord");
    assert_int_equal(streams->event_record(bench.kernel, stream_here, &mark), WEFT_ERR_RESOURCE);
    assert_int_equal(streams->capture_begin(bench.kernel, stream_here), WEFT_OK);
    assert_int_equal(streams->capture_begin(bench.kernel, stream_here), WEFT_ERR_STATE);
    bench_said("beginning a capture");
    fails_next("cudaGraphInstantiate");
    assert_int_equal(streams->capture_end(bench.kernel, stream_here, &recording),
                     WEFT_ERR_RESOURCE);
    assert_null(stream);
    assert_null(mark);
    assert_null(recording);
}

int main(void)
{
#define WITH_STREAM(test) cmocka_unit_test_setup_teardown(test, open_stream, close_stream)
    const struct CMUnitTest tests[] = {
        WITH_STREAM(a_stream_is_waited_for_with_a_deadline),
        WITH_STREAM(the_time_between_marks_is_the_streams),
        WITH_STREAM(what_is_recorded_happens_with_every_replay),
        WITH_STREAM(a_invalidated_capture_is_said_to_be_one),
        WITH_STREAM(failures_of_the_runtime_leave_nothing_behind),
    };
    return bench_main(tests);
}
