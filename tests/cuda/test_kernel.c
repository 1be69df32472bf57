/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What kernel-cuda does on the host: the words for missing devices, where combinations are computed,
 * which pages are registered, and that no failure of the runtime leaves anything behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <weft/plugin/lanes.h>
#include <weft/plugin/memory.h>
#include <weft/plugin/plan.h>

#include "tests/cuda/fake_cuda.h"
#include "tests/support/fake_host.h"

#define ELEMENTS 40000u

typedef struct bench {
    const weft_plugin_t *plugin;
    const weft_kernel_ops_t *ops;
    fake_host_t fake;
    weft_kernel_t *kernel;
    const weft_kernel_lanes_t *lanes;
    char error[512];
} bench_t;

static bench_t bench;
static float source[2][ELEMENTS], result[ELEMENTS];

static int current_device(void)
{
    int device = -1;
    assert_int_equal(cudaGetDevice(&device), cudaSuccess);
    return device;
}

/* The runtime as it is on a machine with two devices. */
static void cuda_reset(void)
{
    fake_cuda.no_driver = false;
    fake_cuda.no_device = cudaSuccess;
    fake_cuda.capability = 90;
    fake_cuda.not_pageable = fake_cuda.no_peers = fake_cuda.swallow = false;
    fake_cuda.fails = NULL;
    memset(fake_cuda.place, 0, sizeof fake_cuda.place);
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
}

static weft_status_t create(const char *setting)
{
    const char *settings[] = {setting, NULL};
    void *config = fake_config_create(bench.plugin, settings, bench.error, sizeof bench.error);
    assert_non_null(config);
    weft_status_t status = bench.ops->create(&bench.fake.host, config, &bench.kernel);
    fake_config_destroy(config);
    fake_host_take_error(&bench.fake, bench.error, sizeof bench.error);
    return status;
}

static int open_kernel(void **state)
{
    (void)state;
    cuda_reset();
    assert_int_equal(create(NULL), WEFT_OK);
    bench.lanes = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_LANES);
    assert_non_null(bench.lanes);
    return 0;
}

/* Nothing of a test is left. */
static int close_kernel(void **state)
{
    (void)state;
    bench.ops->destroy(bench.kernel);
    bench.kernel = NULL;
    assert_int_equal(atomic_load(&fake_cuda.registered), 0);
    assert_int_equal(atomic_load(&fake_cuda.visible), 0);
    assert_int_equal(atomic_load(&fake_cuda.allocated), 0);
    assert_int_equal(atomic_load(&fake_cuda.streams), 0);
    assert_int_equal(atomic_load(&bench.fake.live), 0);
    assert_int_equal(current_device(), 0);
    return 0;
}

static void says(const char *part)
{
    if (strstr(bench.error, part) == NULL) {
        fail_msg("no \"%s\" in: %s", part, bench.error);
    }
}

/* Devices ------------------------------------------------------------------------------------------ */

static void refused(const char *setting, weft_status_t status, const char *cause, const char *help)
{
    assert_int_equal(create(setting), status);
    says(cause);
    says(help);
    assert_int_equal(atomic_load(&bench.fake.live), 0);
    cuda_reset();
}

static void a_machine_without_driver_or_device_is_told_what_helps(void **state)
{
    static const struct {
        cudaError_t error;
        const char *cause, *help;
    } cases[] = {
        {cudaErrorInsufficientDriver, "older than this build needs", "update the NVIDIA driver"},
        {cudaErrorNoDevice, "finds no CUDA device", "CUDA_VISIBLE_DEVICES"},
        {cudaErrorDevicesUnavailable, "busy or its compute mode forbids", "nvidia-smi"},
        {cudaErrorOperatingSystem, "the system refuses the device", "/dev/nvidia"},
        {cudaErrorUnknown, "an error", "core.kernel = kernel-cpu"},
    };
    (void)state;
    cuda_reset();
    fake_cuda.no_driver = true;
    refused(NULL, WEFT_ERR_UNSUPPORTED, "no CUDA driver on this machine", "kernel-cpu");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fake_cuda.no_device = cases[i].error;
        refused(NULL, WEFT_ERR_UNSUPPORTED, cases[i].cause, cases[i].help);
    }
    fake_cuda.capability = 61;
    refused(NULL, WEFT_ERR_UNSUPPORTED, "compute capability 6.1 is below 7.5", "kernel-cpu");
    fake_cuda.fails = "cuda_launch_usable";
    fake_cuda.error = cudaErrorNoKernelImageForDevice;
    refused(NULL, WEFT_ERR_UNSUPPORTED, "no code for the device", "WEFT_CUDA_ARCHITECTURES");
    refused("device=2", WEFT_ERR_CONFIG, "device = 2", "0 to 1");
    refused("device=first", WEFT_ERR_CONFIG, "device = first", "expected auto, the number");
    refused("device=modulo:", WEFT_ERR_CONFIG, "device = modulo:", "modulo:N");
    refused("device=modulo:-1", WEFT_ERR_CONFIG, "device = modulo:-1", "modulo:N");
}

static void the_named_device_is_used_and_the_callers_stays_current(void **state)
{
    (void)state;
    cuda_reset();
    assert_int_equal(create("device=1"), WEFT_OK);
    assert_int_equal(current_device(), 0);
    close_kernel(state);
}

/* Combinations ------------------------------------------------------------------------------------- */

static void place(uint32_t number, const void *at, uint64_t bytes, enum cudaMemoryType type,
                  int device)
{
    fake_cuda.place[number] = (fake_place_t){at, bytes, type, device};
}

/* Adds two arrays and checks the sum. */
static void add(void)
{
    weft_combine_fn_t sum = NULL;
    weft_combine_t c = {.src = {source[0] + 1, source[1] + 2},
                        .dst = {result + 3},
                        .count = ELEMENTS - 3,
                        .nsrc = 2,
                        .ndst = 1};
    assert_int_equal(bench.ops->select(bench.kernel, WEFT_FP32, WEFT_SUM, &sum), WEFT_OK);
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        source[0][i] = (float)i;
        source[1][i] = (float)(2 * i);
        result[i] = -1;
    }
    sum(&c);
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        float want = i < 3 ? -1 : (float)(i - 2) + (float)(2 * (i - 1));
        assert_true(result[i] == want);
    }
}

static void combinations_run_where_their_operands_lie(void **state)
{
    (void)state;
    const uint32_t before = atomic_load(&fake_cuda.combines);
    add();
    assert_int_equal(atomic_load(&fake_cuda.combines), before);
    place(0, source, sizeof source, cudaMemoryTypeDevice, 1);
    add();
    assert_int_equal(atomic_load(&fake_cuda.combines), before + 1);
    assert_int_equal(current_device(), 0);
}

static void what_no_device_reaches_alone_goes_through_the_host(void **state)
{
    (void)state;
    const uint32_t before = atomic_load(&fake_cuda.combines);
    place(0, source, sizeof source, cudaMemoryTypeDevice, 0);
    fake_cuda.not_pageable = true;
    add();
    place(1, result, sizeof result, cudaMemoryTypeDevice, 1);
    add();
    assert_int_equal(atomic_load(&fake_cuda.combines), before);
}

/* Plans -------------------------------------------------------------------------------------------- */

/* One lane: OUT and a port, if there is one, get IN. */
static const weft_lanes_code_t code[] = {{.opcode = WEFT_LANES_MOVE}, {.opcode = WEFT_LANES_STOP}};
static const uint32_t lane[] = {0, 2};
static const weft_lanes_operand_t operands[] = {{.kind = WEFT_OPERAND_OUT, .chunks = 1},
                                                {.kind = WEFT_OPERAND_PORT},
                                                {.kind = WEFT_OPERAND_IN, .chunks = 1}};
static const weft_lanes_move_t copies = {.cnt = 1, .ndst = 2, .nsrc = 1};
static const weft_lanes_program_t program = {.size = sizeof program,
                                             .channels = 1,
                                             .nlanes = 1,
                                             .nports = 1,
                                             .ncode = 2,
                                             .nmoves = 1,
                                             .noperands = 3,
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

#define SLOTS 4u
#define HEADS_BYTES (WEFT_FIFO_HEADS + SLOTS * WEFT_FIFO_HEAD_BYTES)
#define FIFO_BYTES (HEADS_BYTES + SLOTS * 4096u)
static _Alignas(4096) uint8_t fifo[16 * 4096];

static weft_lanes_port_t port_at(uint8_t *at)
{
    return (weft_lanes_port_t){.size = sizeof(weft_lanes_port_t),
                               .fifo = at,
                               .fifo_bytes = HEADS_BYTES,
                               .payloads = at + HEADS_BYTES,
                               .stride = 4096,
                               .slot_bytes = 4096,
                               .slots = SLOTS,
                               .sends = 1};
}

static weft_lanes_end_t *open_end(uint8_t *at)
{
    const weft_lanes_port_t port = port_at(at);
    weft_lanes_end_t *end = NULL;
    memset(at, 0, FIFO_BYTES);
    assert_int_equal(bench.lanes->end_open(bench.kernel, &port, &end), WEFT_OK);
    return end;
}

/* A program, a queue to run it in, the end of its port. */
typedef struct plan {
    weft_lanes_queue_t *queue;
    weft_lanes_handle_t *handle;
    weft_lanes_end_t *end;
    weft_lanes_call_t call;
} plan_t;

static void plan_open(plan_t *plan, uint8_t *at)
{
    *plan = (plan_t){.end = open_end(at)};
    assert_int_equal(bench.lanes->queue_open(bench.kernel, &plan->queue), WEFT_OK);
    assert_int_equal(bench.lanes->prepare(bench.kernel, &program, &plan->handle), WEFT_OK);
    plan->call = (weft_lanes_call_t){.size = sizeof plan->call,
                                     .in = source[0],
                                     .out = result,
                                     .cut = {.count = 1000,
                                             .slice = 1000,
                                             .chunk = 1000,
                                             .pass = 1000,
                                             .passes = 1,
                                             .slices = 1,
                                             .k = 1},
                                     .ends = &plan->end};
}

static void plan_close(plan_t *plan)
{
    bench.lanes->release(plan->handle);
    bench.lanes->queue_close(plan->queue);
    bench.lanes->end_close(plan->end);
}

static weft_status_t start(plan_t *plan, uint64_t *run_p)
{
    weft_lanes_job_t job = {.handle = plan->handle, .call = &plan->call};
    weft_status_t status = bench.lanes->start(plan->queue, NULL, &job, 1);
    *run_p = job.run;
    return status;
}

/* Until it is over; a deadline of the suite ends one that never is. */
static weft_status_t finish(plan_t *plan, uint64_t run)
{
    weft_lanes_state_t state = {.size = sizeof state};
    weft_status_t status = WEFT_IN_PROGRESS;
    while (status == WEFT_IN_PROGRESS) {
        status = bench.lanes->poll(plan->handle, run, &state);
    }
    fake_host_take_error(&bench.fake, bench.error, sizeof bench.error);
    return status;
}

static weft_status_t run_once(plan_t *plan)
{
    uint64_t run = 0;
    weft_status_t status = start(plan, &run);
    fake_host_take_error(&bench.fake, bench.error, sizeof bench.error);
    return status == WEFT_OK ? finish(plan, run) : status;
}

static void a_plan_runs_and_leaves_its_message_in_the_slot(void **state)
{
    plan_t plan;
    (void)state;
    source[0][999] = 7;
    plan_open(&plan, fifo + 512);
    for (uint64_t run = 1; run <= SLOTS; run++) {
        result[999] = 0;
        assert_int_equal(run_once(&plan), WEFT_OK);
        assert_int_equal(bench.lanes->end_next(plan.end), run);
        assert_true(result[999] == 7);
        assert_memory_equal(fifo + 512 + HEADS_BYTES + (run - 1) * 4096, source[0], 4000);
    }
    /* The FIFO is registered once, however often it is used. */
    assert_int_equal(atomic_load(&fake_cuda.registered), 1);
    plan_close(&plan);
    assert_int_equal(atomic_load(&fake_cuda.registered), 0);
}

static void a_run_that_waits_for_ever_ends_when_it_is_told_to(void **state)
{
    plan_t plan;
    uint64_t run = 0;
    weft_lanes_state_t now = {.size = sizeof now};
    (void)state;
    plan_open(&plan, fifo + 512);
    bench.lanes->end_seek(plan.end, SLOTS); /* all slots are full */
    assert_int_equal(start(&plan, &run), WEFT_OK);
    assert_int_equal(bench.lanes->poll(plan.handle, run, &now), WEFT_IN_PROGRESS);
    bench.lanes->abort(plan.handle);
    assert_int_equal(finish(&plan, run), WEFT_ERR_ABORTED);
    bench.lanes->end_seek(plan.end, 0);
    assert_int_equal(run_once(&plan), WEFT_OK);
    /* What became of a run is known when others have followed it. */
    assert_int_equal(finish(&plan, run), WEFT_ERR_ABORTED);
    /* Release ends what is under way. */
    bench.lanes->end_seek(plan.end, SLOTS + 1);
    assert_int_equal(start(&plan, &run), WEFT_OK);
    plan_close(&plan);
}

static void an_abort_without_a_run_stops_nothing(void **state)
{
    plan_t plan;
    (void)state;
    plan_open(&plan, fifo + 512);
    bench.lanes->abort(plan.handle);
    assert_int_equal(run_once(&plan), WEFT_OK);
    bench.lanes->abort(plan.handle);
    assert_int_equal(run_once(&plan), WEFT_OK);
    plan_close(&plan);
}

static void a_run_tells_whether_it_has_begun(void **state)
{
    plan_t plan;
    uint64_t run = 0;
    weft_lanes_state_t now = {.size = sizeof now};
    (void)state;
    plan_open(&plan, fifo + 512);
    fake_cuda.swallow = true;
    assert_int_equal(start(&plan, &run), WEFT_OK);
    assert_int_equal(bench.lanes->poll(plan.handle, run, &now), WEFT_IN_PROGRESS);
    assert_int_equal(now.begun, 0);
    assert_int_equal(finish(&plan, run), WEFT_ERR_SYSTEM);
    fake_cuda.swallow = false;
    assert_int_equal(start(&plan, &run), WEFT_OK);
    assert_int_equal(finish(&plan, run), WEFT_OK);
    assert_int_equal(bench.lanes->poll(plan.handle, run, &now), WEFT_OK);
    assert_int_equal(now.begun, 1);
    assert_int_equal(now.moved, 1);
    assert_int_equal(bench.lanes->poll(plan.handle, run + 1, &now), WEFT_ERR_STATE);
    plan_close(&plan);
}

static void fifos_that_share_pages_are_registered_once(void **state)
{
    plan_t first, second;
    (void)state;
    plan_open(&first, fifo + 512);
    plan_open(&second, fifo + 512 + FIFO_BYTES); /* begins in the page where the first one ends */
    assert_int_equal(run_once(&first), WEFT_OK);
    assert_int_equal(run_once(&second), WEFT_OK);
    assert_int_equal(atomic_load(&fake_cuda.registered), 2);
    plan_close(&first);
    /* The page in the middle has a user still. */
    assert_int_equal(atomic_load(&fake_cuda.registered), 2);
    assert_int_equal(run_once(&second), WEFT_OK);
    plan_close(&second);
    assert_int_equal(atomic_load(&fake_cuda.registered), 0);
}

static void payloads_may_lie_apart(void **state)
{
    static _Alignas(4096) uint8_t far[SLOTS * 8192];
    static uint32_t lengths[SLOTS];
    plan_t plan;
    weft_lanes_port_t port = port_at(fifo);
    (void)state;
    source[0][999] = 3;
    port.payloads = far + 64;
    port.stride = 8192;
    port.lengths = lengths;
    plan_open(&plan, fifo);
    bench.lanes->end_close(plan.end);
    assert_int_equal(bench.lanes->end_open(bench.kernel, &port, &plan.end), WEFT_OK);
    assert_int_equal(atomic_load(&fake_cuda.registered), 2);
    assert_int_equal(run_once(&plan), WEFT_OK);
    assert_int_equal(run_once(&plan), WEFT_OK);
    assert_memory_equal(far + 64 + 8192, source[0], 4000);
    assert_int_equal(lengths[1], 4000);
    bench.lanes->end_close(plan.end);
    /* Memory of the device is not the host's to register. */
    port.near = 1;
    assert_int_equal(bench.lanes->end_open(bench.kernel, &port, &plan.end), WEFT_OK);
    assert_int_equal(atomic_load(&fake_cuda.registered), 1);
    assert_int_equal(run_once(&plan), WEFT_OK);
    plan_close(&plan);
}

static void ports_that_make_no_sense_are_refused(void **state)
{
    weft_lanes_port_t port = port_at(fifo);
    weft_lanes_end_t *end = NULL;
    (void)state;
    port.slots = 3;
    assert_int_equal(bench.lanes->end_open(bench.kernel, &port, &end), WEFT_ERR_ARG);
    fake_host_take_error(&bench.fake, bench.error, sizeof bench.error);
    says("3 slots of 4096 bytes");
    port = port_at(fifo);
    fake_cuda.fails = "cudaHostRegister";
    fake_cuda.error = cudaErrorOperatingSystem;
    assert_int_equal(bench.lanes->end_open(bench.kernel, &port, &end), WEFT_ERR_SYSTEM);
    assert_null(end);
}

static void buffers_that_the_device_cannot_reach_are_named(void **state)
{
    plan_t plan;
    (void)state;
    bench.ops->destroy(bench.kernel);
    fake_cuda.not_pageable = true;
    assert_int_equal(create(NULL), WEFT_OK);
    plan_open(&plan, fifo + 512);
    assert_int_equal(run_once(&plan), WEFT_ERR_UNSUPPORTED);
    says("input");
    says("host memory that CUDA device 0 cannot reach");
    place(0, source, sizeof source, cudaMemoryTypeDevice, 0);
    place(1, result, sizeof result, cudaMemoryTypeDevice, 1);
    fake_cuda.no_peers = true;
    assert_int_equal(run_once(&plan), WEFT_ERR_UNSUPPORTED);
    says("output");
    says("memory of CUDA device 1, which device 0");
    fake_cuda.no_peers = false;
    plan.call.scalar_at = &plan;
    assert_int_equal(run_once(&plan), WEFT_ERR_UNSUPPORTED);
    says("factor");
    plan.call.scalar_at = NULL;
    assert_int_equal(run_once(&plan), WEFT_OK);
    plan_close(&plan);
}

static void a_device_that_fails_is_reported(void **state)
{
    plan_t plan;
    uint64_t run = 0;
    (void)state;
    plan_open(&plan, fifo + 512);
    fake_cuda.swallow = true;
    assert_int_equal(start(&plan, &run), WEFT_OK);
    fake_cuda.fails = "cudaStreamQuery";
    fake_cuda.error = cudaErrorIllegalAddress;
    assert_int_equal(finish(&plan, run), WEFT_ERR_SYSTEM);
    says("running a plan on CUDA device 0: an illegal address (cudaErrorIllegalAddress)");
    assert_int_equal(run_once(&plan), WEFT_ERR_SYSTEM);
    says("without its last word");
    fake_cuda.swallow = false;
    assert_int_equal(run_once(&plan), WEFT_OK);
    plan_close(&plan);
}

static void failures_of_the_runtime_leave_nothing_behind(void **state)
{
    static const char *const calls[] = {
        "cuda_launch_lanes_most", "cudaHostAlloc",         "cudaStreamCreateWithFlags",
        "cudaMallocAsync",        "cudaStreamSynchronize", "cudaMemsetAsync",
        "cudaMemcpyAsync"};
    weft_lanes_handle_t *handle = NULL;
    weft_lanes_queue_t *queue = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        fake_cuda.fails = calls[i];
        fake_cuda.error = cudaErrorMemoryAllocation;
        assert_int_equal(bench.lanes->prepare(bench.kernel, &program, &handle), WEFT_ERR_RESOURCE);
        fake_host_take_error(&bench.fake, bench.error, sizeof bench.error);
        says("has no memory left");
        assert_int_equal(atomic_load(&fake_cuda.allocated), 0);
        assert_true(atomic_load(&fake_cuda.streams) <= 1); /* the kernel's own */
    }
    for (size_t i = 2; i < 6; i++) {
        fake_cuda.fails = calls[i];
        assert_int_equal(bench.lanes->queue_open(bench.kernel, &queue), WEFT_ERR_RESOURCE);
        assert_int_equal(atomic_load(&fake_cuda.allocated), 0);
        assert_int_equal(atomic_load(&fake_cuda.streams), 1);
    }
}

static void a_failed_start_can_be_tried_again(void **state)
{
    static const char *const calls[] = {"cudaPointerGetAttributes", "cudaMallocAsync",
                                        "cudaMemcpyAsync", "cuda_launch_lanes"};
    plan_t plan;
    (void)state;
    plan_open(&plan, fifo + 512);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        fake_cuda.fails = calls[i];
        fake_cuda.error = cudaErrorLaunchFailure;
        assert_int_equal(run_once(&plan), WEFT_ERR_SYSTEM);
    }
    assert_int_equal(run_once(&plan), WEFT_OK);
    plan_close(&plan);
}

static void buffers_are_allocated_and_copied(void **state)
{
    const weft_kernel_memory_t *memory = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_MEMORY);
    void *at = NULL;
    char in[8] = "abcdefg", out[8] = "";
    (void)state;
    assert_non_null(memory);
    assert_int_equal(memory->alloc(bench.kernel, 8, &at), WEFT_OK);
    assert_int_equal(((char *)at)[7], 0);
    assert_int_equal(memory->copy(bench.kernel, at, in, 8), WEFT_OK);
    assert_int_equal(memory->copy(bench.kernel, out, at, 8), WEFT_OK);
    assert_string_equal(out, in);
    memory->free(bench.kernel, at);
    assert_int_equal(atomic_load(&fake_cuda.allocated), 0);
    assert_int_equal(current_device(), 0);
}

static void buffers_that_cannot_be_had_leave_nothing_behind(void **state)
{
    static const char *const calls[] = {"cudaMalloc", "cudaMemsetAsync", "cudaStreamSynchronize"};
    const weft_kernel_memory_t *memory = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_MEMORY);
    void *at = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        fake_cuda.fails = calls[i];
        fake_cuda.error = i == 0 ? cudaErrorMemoryAllocation : cudaErrorLaunchFailure;
        assert_int_equal(memory->alloc(bench.kernel, 8, &at),
                         i == 0 ? WEFT_ERR_RESOURCE : WEFT_ERR_SYSTEM);
        fake_host_take_error(&bench.fake, bench.error, sizeof bench.error);
        says(i == 0 ? "8 bytes on CUDA device 0, which has 1000 of 5000 free" : "clearing memory");
        assert_null(at);
        assert_int_equal(atomic_load(&fake_cuda.allocated), 0);
    }
}

int main(void)
{
#define WITH_KERNEL(test) cmocka_unit_test_setup_teardown(test, open_kernel, close_kernel)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_without_driver_or_device_is_told_what_helps),
        cmocka_unit_test(the_named_device_is_used_and_the_callers_stays_current),
        WITH_KERNEL(buffers_are_allocated_and_copied),
        WITH_KERNEL(buffers_that_cannot_be_had_leave_nothing_behind),
        WITH_KERNEL(combinations_run_where_their_operands_lie),
        WITH_KERNEL(what_no_device_reaches_alone_goes_through_the_host),
        WITH_KERNEL(a_plan_runs_and_leaves_its_message_in_the_slot),
        WITH_KERNEL(a_run_that_waits_for_ever_ends_when_it_is_told_to),
        WITH_KERNEL(an_abort_without_a_run_stops_nothing),
        WITH_KERNEL(a_run_tells_whether_it_has_begun),
        WITH_KERNEL(fifos_that_share_pages_are_registered_once),
        WITH_KERNEL(payloads_may_lie_apart),
        WITH_KERNEL(ports_that_make_no_sense_are_refused),
        WITH_KERNEL(buffers_that_the_device_cannot_reach_are_named),
        WITH_KERNEL(a_device_that_fails_is_reported),
        WITH_KERNEL(failures_of_the_runtime_leave_nothing_behind),
        WITH_KERNEL(a_failed_start_can_be_tried_again),
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
