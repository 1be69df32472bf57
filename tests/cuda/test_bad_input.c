/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is said of wrong buffers, devices and moments: the status, and the words that must occur. Then
 * what a whole communicator makes of memory that its device does not reach. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <weft/plugin/lanes.h>
#include <weft/plugin/memory.h>
#include <weft/plugin/plan.h>

#include "tests/cuda/fake_cuda.h"
#include "tests/support/fake_host.h"
#include "tests/support/ranks.h"

#define COUNT 1000u

typedef struct bench {
    const weft_kernel_ops_t *ops;
    const weft_kernel_lanes_t *lanes;
    const weft_kernel_memory_t *memory;
    weft_kernel_t *kernel;
    weft_lanes_queue_t *queue;
    weft_lanes_handle_t *handle;
    fake_host_t fake;
} bench_t;

static bench_t bench;
static const weft_plugin_t *plugin;
static float in[COUNT], out[COUNT], factor;

/* One lane that copies IN to OUT. */
static const weft_lanes_code_t code[] = {{.opcode = WEFT_LANES_MOVE}, {.opcode = WEFT_LANES_STOP}};
static const uint32_t lane[] = {0, 2};
static const weft_lanes_operand_t operands[] = {{.kind = WEFT_OPERAND_OUT, .chunks = 1},
                                                {.kind = WEFT_OPERAND_IN, .chunks = 1}};
static const weft_lanes_move_t copies = {.cnt = 1, .ndst = 1, .nsrc = 1};
static const weft_lanes_program_t program = {.size = sizeof program,
                                             .nlanes = 1,
                                             .ncode = 2,
                                             .nmoves = 1,
                                             .noperands = 2,
                                             .lane = lane,
                                             .code = code,
                                             .moves = &copies,
                                             .operands = operands,
                                             .largest_par = 1,
                                             .tmp_chunks = 1,
                                             .nranks = 1,
                                             .dtype = WEFT_FP32,
                                             .op = WEFT_SUM,
                                             .elem = 4};

static void place(uint32_t number, const void *at, uint64_t bytes, int device)
{
    fake_cuda.place[number] = (fake_place_t){at, bytes, cudaMemoryTypeDevice, device};
}

static void runtime_fails(const char *call, cudaError_t error)
{
    fake_cuda.fails = call;
    fake_cuda.error = error;
}

/* Life ---------------------------------------------------------------------------------------------- */

static void cuda_reset(void)
{
    fake_cuda.not_pageable = fake_cuda.no_peers = false;
    fake_cuda.fails = NULL;
    memset(fake_cuda.place, 0, sizeof fake_cuda.place);
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
}

/* A kernel on device 0, which reaches no host memory but what is registered. */
static int open_kernel(void **state)
{
    char why[256];
    (void)state;
    cuda_reset();
    fake_cuda.not_pageable = true;
    void *config = fake_config_create(plugin, NULL, why, sizeof why);
    assert_non_null(config);
    assert_int_equal(bench.ops->create(&bench.fake.host, config, &bench.kernel), WEFT_OK);
    fake_config_destroy(config);
    bench.lanes = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_LANES);
    bench.memory = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_MEMORY);
    assert_int_equal(bench.lanes->queue_open(bench.kernel, &bench.queue), WEFT_OK);
    assert_int_equal(bench.lanes->prepare(bench.kernel, &program, &bench.handle), WEFT_OK);
    place(0, in, sizeof in, 0);
    place(1, out, sizeof out, 0);
    return 0;
}

static int close_kernel(void **state)
{
    (void)state;
    bench.lanes->release(bench.handle);
    bench.lanes->queue_close(bench.queue);
    bench.ops->destroy(bench.kernel);
    assert_int_equal(atomic_load(&bench.fake.live), 0);
    assert_int_equal(atomic_load(&fake_cuda.allocated), 0);
    return 0;
}

/* Calls --------------------------------------------------------------------------------------------- */

static weft_status_t start_with(const void *scalar_at)
{
    const weft_lanes_call_t call = {.size = sizeof call,
                                    .in = in,
                                    .out = out,
                                    .scalar_at = scalar_at,
                                    .cut = {.count = COUNT,
                                            .slice = COUNT,
                                            .chunk = COUNT,
                                            .pass = COUNT,
                                            .passes = 1,
                                            .slices = 1,
                                            .k = 1}};
    weft_lanes_job_t job = {.handle = bench.handle, .call = &call};
    weft_lanes_state_t now = {.size = sizeof now};
    weft_status_t status = bench.lanes->start(bench.queue, NULL, &job, 1);
    if (status == WEFT_OK) {
        do {
            status = bench.lanes->poll(bench.handle, job.run, &now);
        } while (status == WEFT_IN_PROGRESS);
    }
    return status;
}

static weft_status_t start(void)
{
    return start_with(NULL);
}

static weft_status_t start_with_factor(void)
{
    return start_with(&factor);
}

static weft_status_t prepare(void)
{
    weft_lanes_handle_t *handle = NULL;
    return bench.lanes->prepare(bench.kernel, &program, &handle);
}

static weft_status_t allocate(void)
{
    void *memory = NULL;
    return bench.memory->alloc(bench.kernel, 4096, &memory);
}

static weft_status_t copy(void)
{
    return bench.memory->copy(bench.kernel, out, in, sizeof in);
}

/* The table ----------------------------------------------------------------------------------------- */

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
    place(0, in, sizeof in, 1);
    fake_cuda.no_peers = true;
}

static void two_devices(void)
{
    place(1, out, sizeof out, 1);
    fake_cuda.no_peers = true;
}

static void refused_peer(void)
{
    place(1, out, sizeof out, 1);
    runtime_fails("cudaDeviceEnablePeerAccess", cudaErrorTooManyPeers);
}

static void no_scratch(void)
{
    runtime_fails("cudaMallocAsync", cudaErrorMemoryAllocation);
}

static void no_buffer(void)
{
    runtime_fails("cudaMalloc", cudaErrorMemoryAllocation);
}

static void no_locked_pages(void)
{
    runtime_fails("cudaHostAlloc", cudaErrorMemoryAllocation);
}

static void recording(void)
{
    runtime_fails("cudaMemcpyAsync", cudaErrorStreamCaptureUnsupported);
}

static void lost_device(void)
{
    runtime_fails("cuda_launch_lanes", cudaErrorIllegalAddress);
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
     {"device 1", "CUDA device 0", "use memory of this device"}},
    {"no memory for a program's scratch",
     no_scratch,
     start,
     WEFT_ERR_RESOURCE,
     {"4000 bytes", "CUDA device 0 has no memory left", "free some"}},
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
     recording,
     copy,
     WEFT_ERR_STATE,
     {"copying memory", "records a graph", "end the recording"}},
    {"a device that was lost",
     lost_device,
     start,
     WEFT_ERR_SYSTEM,
     {"starting a plan on CUDA device 0", "has lost the device", "compute-sanitizer"}},
};

static void each_mistake_is_told_in_words_that_help(void **state)
{
    char error[512];
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const bad_t *bad = &table[i];
        (void)open_kernel(NULL);
        if (bad->arrange != NULL) {
            bad->arrange();
        }
        weft_status_t status = bad->call();
        fake_host_take_error(&bench.fake, error, sizeof error);
        if (status != bad->status) {
            fail_msg("%s: status %d, expected %d: %s", bad->what, status, bad->status, error);
        }
        for (size_t w = 0; w < 3; w++) {
            if (strstr(error, bad->words[w]) == NULL) {
                fail_msg("%s: no \"%s\" in: %s", bad->what, bad->words[w], error);
            }
        }
        /* The mistake is the caller's; what comes after it works. */
        cuda_reset();
        place(0, in, sizeof in, 0);
        place(1, out, sizeof out, 0);
        in[COUNT - 1] = (float)i + 1;
        assert_int_equal(start(), WEFT_OK);
        assert_true(out[COUNT - 1] == (float)i + 1);
        (void)close_kernel(NULL);
    }
}

/* Another device may be current in the thread that calls, and a graph be recorded by it. */
static void the_callers_device_and_recording_are_left_alone(void **state)
{
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    int device = -1;
    (void)state;
    assert_int_equal(cudaSetDevice(1), cudaSuccess);
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    assert_int_equal(start(), WEFT_OK);
    assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
    assert_int_equal(cudaGetDevice(&device), cudaSuccess);
    assert_int_equal(device, 1);
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
}

/* Whole communicators ------------------------------------------------------------------------------- */

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
    cuda_reset();
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
        cmocka_unit_test_setup_teardown(the_callers_device_and_recording_are_left_alone,
                                        open_kernel, close_kernel),
        cmocka_unit_test(a_call_on_memory_of_the_host_runs_there_and_says_so_once),
    };
    char why[256] = "";
    plugin = fake_plugin_open(WEFT_KERNEL_CUDA_FILE, WEFT_KIND_KERNEL, why, sizeof why);
    if (plugin == NULL) {
        print_error("%s\n", why);
        return 1;
    }
    bench.ops = plugin->ops;
    fake_host_init(&bench.fake, "kernel-cuda");
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    fake_host_fini(&bench.fake);
    return failures;
}
