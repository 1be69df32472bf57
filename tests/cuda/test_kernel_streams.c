/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams, marks and recordings of kernel-cuda, as a program uses them that knows weft only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include <weft/plugin/memory.h>
#include <weft/plugin/stream.h>

#include "tests/cuda/fake.h"
#include "tests/support/fake_host.h"

#define NS_PER_MS 1000000u
#define LONG (10000ull * NS_PER_MS)

typedef struct bench {
    const weft_plugin_t *plugin;
    const weft_kernel_ops_t *ops;
    fake_host_t fake;
    weft_kernel_t *kernel;
    const weft_kernel_stream_t *streams;
    const weft_kernel_memory_t *memory;
    void *stream;
    char *buffer; /* of the device, 8 bytes */
    int events;   /* of the kernel itself */
} bench_t;

static bench_t bench;

/* The kernel computes on the second of two devices; the first is the caller's. */
static int open_stream(void **state)
{
    const char *settings[] = {"device=1", NULL};
    char why[256] = "";
    void *buffer = NULL;
    (void)state;
    void *config = fake_config_create(bench.plugin, settings, why, sizeof why);
    assert_non_null(config);
    assert_int_equal(bench.ops->create(&bench.fake.host, config, &bench.kernel), WEFT_OK);
    fake_config_destroy(config);
    bench.streams = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_STREAM);
    bench.memory = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_MEMORY);
    assert_non_null(bench.streams);
    assert_int_equal(bench.memory->alloc(bench.kernel, 8, &buffer), WEFT_OK);
    bench.buffer = buffer;
    bench.events = atomic_load(&fake_cuda.events);
    assert_int_equal(bench.streams->open(bench.kernel, &bench.stream), WEFT_OK);
    return 0;
}

/* Nothing of a test is left, and the caller's device is current. */
static int close_stream(void **state)
{
    int device = -1;
    (void)state;
    bench.streams->close(bench.kernel, bench.stream);
    bench.memory->free(bench.kernel, bench.buffer);
    bench.ops->destroy(bench.kernel);
    assert_int_equal(atomic_load(&fake_cuda.streams), 0);
    assert_int_equal(atomic_load(&fake_cuda.events), bench.events);
    assert_int_equal(atomic_load(&bench.fake.live), 0);
    assert_int_equal(cudaGetDevice(&device), cudaSuccess);
    assert_int_equal(device, 0);
    return 0;
}

static void says(const char *part)
{
    char text[512];
    fake_host_take_error(&bench.fake, text, sizeof text);
    if (strstr(text, part) == NULL) {
        fail_msg("no \"%s\" in: %s", part, text);
    }
}

static weft_status_t settle(void)
{
    return bench.streams->wait(bench.kernel, bench.stream, LONG);
}

/* Puts a change of the buffer's first byte into the stream. */
static void put_value(int value)
{
    assert_int_equal(cudaSetDevice(1), cudaSuccess);
    assert_int_equal(cudaMemsetAsync(bench.buffer, value, 1, bench.stream), cudaSuccess);
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
}

static int value(void)
{
    char byte = -1;
    assert_int_equal(bench.memory->copy(bench.kernel, &byte, bench.buffer, 1), WEFT_OK);
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
    assert_int_equal(fake_put(bench.stream, gate, NULL, 0), cudaSuccess);
    assert_int_equal(bench.streams->wait(bench.kernel, bench.stream, 0), WEFT_IN_PROGRESS);
    assert_int_equal(bench.streams->wait(bench.kernel, bench.stream, NS_PER_MS), WEFT_IN_PROGRESS);
    atomic_store(&gate_open, 1);
    assert_int_equal(settle(), WEFT_OK);
}

static void the_time_between_marks_is_the_streams(void **state)
{
    weft_kernel_mark_t *before = NULL, *after = NULL;
    double ns = -1;
    (void)state;
    atomic_store(&gate_open, 0);
    assert_int_equal(bench.streams->mark(bench.kernel, bench.stream, &before), WEFT_OK);
    assert_int_equal(fake_put(bench.stream, nap_long, NULL, 0), cudaSuccess);
    assert_int_equal(fake_put(bench.stream, gate, NULL, 0), cudaSuccess);
    assert_int_equal(bench.streams->mark(bench.kernel, bench.stream, &after), WEFT_OK);
    assert_int_equal(bench.streams->between(bench.kernel, before, after, &ns), WEFT_ERR_STATE);
    says("has not passed them yet");
    assert_true(ns == -1);
    atomic_store(&gate_open, 1);
    assert_int_equal(settle(), WEFT_OK);
    assert_int_equal(bench.streams->between(bench.kernel, before, after, &ns), WEFT_OK);
    assert_true(ns >= 3 * NS_PER_MS && ns < (double)LONG);
    bench.streams->mark_free(bench.kernel, before);
    bench.streams->mark_free(bench.kernel, after);
    bench.streams->mark_free(bench.kernel, NULL);
}

static void what_is_recorded_happens_with_every_replay(void **state)
{
    weft_kernel_recording_t *recording = NULL;
    (void)state;
    assert_int_equal(bench.streams->record_begin(bench.kernel, bench.stream), WEFT_OK);
    put_value(5);
    assert_int_equal(bench.streams->record_end(bench.kernel, bench.stream, &recording), WEFT_OK);
    assert_int_equal(settle(), WEFT_OK);
    assert_int_equal(value(), 0);
    for (int i = 0; i < 2; i++) {
        put_value(9);
        assert_int_equal(bench.streams->replay(bench.kernel, bench.stream, recording), WEFT_OK);
        assert_int_equal(settle(), WEFT_OK);
        assert_int_equal(value(), 5);
    }
    bench.streams->recording_free(bench.kernel, recording);
    bench.streams->recording_free(bench.kernel, NULL);
}

static void a_spoilt_recording_is_said_to_be_one(void **state)
{
    weft_kernel_recording_t *recording = NULL;
    (void)state;
    assert_int_equal(bench.streams->record_end(bench.kernel, bench.stream, &recording),
                     WEFT_ERR_STATE);
    assert_int_equal(bench.streams->record_begin(bench.kernel, bench.stream), WEFT_OK);
    assert_int_equal(settle(), WEFT_ERR_STATE);
    says("waiting for a stream on CUDA device 1");
    assert_int_equal(bench.streams->record_end(bench.kernel, bench.stream, &recording),
                     WEFT_ERR_STATE);
    says("ending a recording on CUDA device 1");
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
    weft_kernel_mark_t *mark = NULL;
    weft_kernel_recording_t *recording = NULL;
    void *stream = NULL;
    (void)state;
    fails_next("cudaStreamCreateWithFlags");
    assert_int_equal(bench.streams->open(bench.kernel, &stream), WEFT_ERR_RESOURCE);
    says("making a stream: CUDA device 1 has no memory left");
    fails_next("cudaStreamQuery");
    assert_int_equal(settle(), WEFT_ERR_RESOURCE);
    fails_next("cudaEventCreateWithFlags");
    assert_int_equal(bench.streams->mark(bench.kernel, bench.stream, &mark), WEFT_ERR_RESOURCE);
    fails_next("cudaEventRecord");
    assert_int_equal(bench.streams->mark(bench.kernel, bench.stream, &mark), WEFT_ERR_RESOURCE);
    assert_int_equal(bench.streams->record_begin(bench.kernel, bench.stream), WEFT_OK);
    assert_int_equal(bench.streams->record_begin(bench.kernel, bench.stream), WEFT_ERR_STATE);
    says("beginning a recording");
    fails_next("cudaGraphInstantiate");
    assert_int_equal(bench.streams->record_end(bench.kernel, bench.stream, &recording),
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
        WITH_STREAM(a_spoilt_recording_is_said_to_be_one),
        WITH_STREAM(failures_of_the_runtime_leave_nothing_behind),
    };
    char why[256] = "";
    bench.plugin = fake_plugin_open(WEFT_KERNEL_CUDA_FILE, WEFT_KIND_KERNEL, why, sizeof why);
    if (bench.plugin == NULL) {
        print_error("%s\n", why);
        return 1;
    }
    bench.ops = bench.plugin->ops;
    fake_host_init(&bench.fake, "kernel-cuda");
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    fake_host_fini(&bench.fake);
    return failures;
}
