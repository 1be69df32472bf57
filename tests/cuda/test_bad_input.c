/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is said of wrong buffers, devices and moments: the status, and the words that must occur.
 * Then what a whole communicator makes of memory that its device does not reach. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/cuda/bench.h"

#include <weft/plugin/memory.h>

#include "tests/support/ranks.h"

static _Alignas(4096) uint8_t fifo[FIFO_BYTES];
static plan_t plan;
static float factor;
static cudaStream_t stream;

static void place(uint32_t number, const void *at, int device)
{
    bench_place(number, at, sizeof plan.in, cudaMemoryTypeDevice, device);
}

static void runtime_fails(const char *call, cudaError_t error)
{
    fake_cuda.fails = call;
    fake_cuda.error = error;
}

/* A plan on device 0, which reaches no host memory but what is registered. */
static void open_plan(void)
{
    bench_reset();
    fake_cuda.not_pageable = true;
    assert_int_equal(bench_create(NULL), WEFT_OK);
    bench.lanes = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_LANES);
    plan_open(&plan, PLAN_SENDS, fifo);
    place(0, plan.in, 0);
    place(1, plan.out, 0);
}

/* Calls ---------------------------------------------------------------------------------------- */

static weft_status_t start(void)
{
    return plan_run(&plan);
}

static weft_status_t start_with_factor(void)
{
    plan.call.scalar_at = &factor;
    weft_status_t status = plan_run(&plan);
    plan.call.scalar_at = NULL;
    return status;
}

static weft_status_t start_in_stream(void)
{
    uint64_t run = 0;
    return plan_start_in(&plan, &stream, &run);
}

static weft_status_t prepare(void)
{
    weft_lanes_handle_t *handle = NULL;
    return bench.lanes->prepare(bench.kernel, &plan_sends, &handle);
}

static const weft_kernel_memory_t *memory(void)
{
    return bench.ops->get_extension(bench.kernel, WEFT_KERNEL_MEMORY);
}

static weft_status_t allocate(void)
{
    void *at = NULL;
    return memory()->alloc(bench.kernel, 4096, &at);
}

static weft_status_t copy(void)
{
    return memory()->copy(bench.kernel, plan.out, plan.in, sizeof plan.in);
}

/* The table ------------------------------------------------------------------------------------ */

static void host_in(void)
{
    fake_cuda.place[0].at = NULL;
}

static void host_out(void)
{
    fake_cuda.place[1].at = NULL;
}

static void far_in(void)
{
    place(0, plan.in, 1);
    fake_cuda.no_peers = true;
}

static void two_devices(void)
{
    place(1, plan.out, 1);
    fake_cuda.no_peers = true;
}

static void refused_peer(void)
{
    place(1, plan.out, 1);
    runtime_fails("cudaDeviceEnablePeerAccess", cudaErrorTooManyPeers);
}

static void no_plan_memory(void)
{
    runtime_fails("cudaMallocFromPoolAsync", cudaErrorMemoryAllocation);
}

static void no_buffer(void)
{
    runtime_fails("cudaMalloc", cudaErrorMemoryAllocation);
}

static void no_locked_pages(void)
{
    runtime_fails("cudaHostAlloc", cudaErrorMemoryAllocation);
}

static void capturing(void)
{
    runtime_fails("cudaMemcpyAsync", cudaErrorStreamCaptureUnsupported);
}

static void lost_device(void)
{
    runtime_fails("cuda_launch_lanes", cudaErrorIllegalAddress);
}

static void far_stream(void)
{
    assert_int_equal(cudaSetDevice(1), cudaSuccess);
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
}

/* Somebody has done in the middle of the recording what is not allowed there. */
static void invalidated_capture(void)
{
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
    assert_int_not_equal(cudaStreamSynchronize(stream), cudaSuccess);
}

typedef struct bad {
    const char *what;
    void (*arrange)(void);
    weft_status_t (*call)(void);
    weft_status_t status;
    const char *words[3];
} bad_t;

static const bad_t table[] = {
    {"input on the host",
     host_in,
     start,
     WEFT_ERR_UNSUPPORTED,
     {"input", "host memory that CUDA device 0 cannot reach", "use cudaMalloc"}},
    {"output on the host",
     host_out,
     start,
     WEFT_ERR_UNSUPPORTED,
     {"output", "host memory that CUDA device 0 cannot reach", "use cudaMalloc"}},
    {"factor on the host",
     NULL,
     start_with_factor,
     WEFT_ERR_UNSUPPORTED,
     {"factor", "host memory that CUDA device 0 cannot reach", "use cudaMalloc"}},
    {"input of another device, as if another one had been current",
     far_in,
     start,
     WEFT_ERR_UNSUPPORTED,
     {"input", "CUDA device 1, which device 0", "use memory of device 0"}},
    {"buffers of two devices",
     two_devices,
     start,
     WEFT_ERR_UNSUPPORTED,
     {"output", "CUDA device 1, which device 0", "use memory of device 0"}},
    {"peer access refused",
     refused_peer,
     start,
     WEFT_ERR_UNSUPPORTED,
     {"memory of CUDA device 1", "on CUDA device 0", "use memory of this device"}},
    {"no memory for a plan",
     no_plan_memory,
     start,
     WEFT_ERR_RESOURCE,
     {"bytes for a plan", "CUDA device 0 has no memory left", "free some"}},
    {"no memory for a buffer",
     no_buffer,
     allocate,
     WEFT_ERR_RESOURCE,
     {"4096 bytes", "CUDA device 0", "free some"}},
    {"no page-locked memory",
     no_locked_pages,
     prepare,
     WEFT_ERR_RESOURCE,
     {"page-locked memory", "CUDA device 0", "free some"}},
    {"a copy while a graph is recorded",
     capturing,
     copy,
     WEFT_ERR_STATE,
     {"copying memory", "captures a graph", "end the capture"}},
    {"a stream of another device",
     far_stream,
     start_in_stream,
     WEFT_ERR_ARG,
     {"stream", "device 1", "device 0"}},
    {"a capture that was invalidated",
     invalidated_capture,
     start_in_stream,
     WEFT_ERR_STATE,
     {"capture", "invalidated", "capture again"}},
    {"a device that was lost",
     lost_device,
     start,
     WEFT_ERR_SYSTEM,
     {"starting a plan on CUDA device 0", "has lost the device", "compute-sanitizer"}},
};

static void end_capture(void)
{
    cudaGraph_t graph = NULL;
    if (stream != NULL) {
        cudaError_t error = cudaStreamEndCapture(stream, &graph);
        (void)error; /* most did not record */
        assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
        stream = NULL;
    }
}

static void each_mistake_is_told_in_words_that_help(void **state)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const bad_t *bad = &table[i];
        open_plan();
        if (bad->arrange != NULL) {
            bad->arrange();
        }
        bench.error[0] = '\0';
        weft_status_t status = bad->call();
        if (bench.error[0] == '\0') {
            bench_take_error();
        }
        if (status != bad->status) {
            fail_msg("%s: status %d, expected %d: %s", bad->what, status, bad->status, bench.error);
        }
        for (size_t w = 0; w < 3; w++) {
            if (strstr(bench.error, bad->words[w]) == NULL) {
                fail_msg("%s: no \"%s\" in: %s", bad->what, bad->words[w], bench.error);
            }
        }
        end_capture();
        /* The mistake is the caller's; what comes after it works. */
        bench_reset();
        place(0, plan.in, 0);
        place(1, plan.out, 0);
        plan.in[COUNT - 1] = (float)i + 1;
        assert_int_equal(start(), WEFT_OK);
        assert_true(plan.out[COUNT - 1] == (float)i + 1);
        plan_close(&plan);
        (void)bench_close(state);
    }
}

/* Another device may be current in the thread that calls, and a graph be recorded by it. */
static void the_callers_device_and_capture_are_left_alone(void **state)
{
    cudaStream_t other = NULL;
    cudaGraph_t graph = NULL;
    open_plan();
    assert_int_equal(cudaSetDevice(1), cudaSuccess);
    assert_int_equal(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
    assert_int_equal(cudaStreamBeginCapture(other, cudaStreamCaptureModeGlobal), cudaSuccess);
    assert_int_equal(start(), WEFT_OK);
    assert_int_equal(cudaStreamEndCapture(other, &graph), cudaSuccess);
    assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(other), cudaSuccess);
    assert_int_equal(bench_device(), 1);
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
    plan_close(&plan);
    (void)bench_close(state);
}

/* Whole communicators -------------------------------------------------------------------------- */

static int reduce_on_the_host(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int32_t mine[COUNT], sum[COUNT];
    int wrong = 0;
    (void)arg;
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            mine[i] = (int32_t)(i + rank + round);
        }
        wrong += weft_all_reduce(mine, sum, COUNT, WEFT_INT32, WEFT_SUM, comm, NULL) != WEFT_OK;
        for (uint32_t i = 0; i < COUNT; i++) {
            wrong += sum[i] != (int32_t)(n * (i + round) + n * (n - 1) / 2);
        }
    }
    return wrong;
}

/* Stderr of `job`, in memory of the caller. */
static char *log_of(const ranks_job_t *job, int *failed_p)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    const int kept = dup(STDERR_FILENO);
    assert_true(kept >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    *failed_p = ranks_run_threads(job);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    close(kept);
    const long bytes = ftell(file) >= 0 && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : 0;
    char *text = calloc(1, (size_t)bytes + 1);
    rewind(file);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)bytes, file), bytes);
    fclose(file);
    return text;
}

static void a_call_on_memory_of_the_host_runs_there_and_says_so_once(void **state)
{
    static const char path[] = "kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE;
    static const char *const settings[] = {"core.kernel=kernel-cuda", path, "core.log=info",
                                           "core.net=net-shm", "core.algo=algo-flat"};
    const ranks_job_t job = {
        .nranks = 2, .settings = settings, .settings_count = 5, .work = reduce_on_the_host};
    int failed = -1, times = 0;
    (void)state;
    bench_reset();
    fake_cuda.not_pageable = true;
    char *text = log_of(&job, &failed);
    for (const char *at = text; (at = strstr(at, "a run stays on the host: input")) != NULL; at++) {
        times++;
    }
    if (failed != 0 || times != 2) {
        print_error("%s", text);
    }
    free(text);
    assert_int_equal(failed, 0);
    assert_int_equal(times, 2); /* once a rank */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mistake_is_told_in_words_that_help),
        cmocka_unit_test(the_callers_device_and_capture_are_left_alone),
        cmocka_unit_test(a_call_on_memory_of_the_host_runs_there_and_says_so_once),
    };
    return bench_main(tests);
}
