/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What kernel-cuda does on the host: the words for missing devices, where combinations are computed,
 * which pages are registered, and that no failure of the runtime leaves anything behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <dlfcn.h>
#include <cmocka.h>

#include <weft/plugin/lanes.h>
#include <weft/plugin/memory.h>
#include <weft/plugin/plan.h>

#include "tests/cuda/fake_cuda.h"
#include "tests/support/fake_host.h"

#define ELEMENTS 40000u

typedef struct bench {
    fake_cuda_t *cuda;
    const weft_plugin_t *plugin;
    const weft_kernel_ops_t *ops;
    fake_host_t fake;
    weft_kernel_t *kernel;
    const weft_kernel_lanes_t *lanes;
    char error[512];
} bench_t;

static bench_t bench;
static float source[2][ELEMENTS], result[ELEMENTS];

/* The runtime as it is on a machine with two devices. */
static void cuda_reset(void)
{
    bench.cuda->no_driver = false;
    bench.cuda->no_device = cudaSuccess;
    bench.cuda->capability = 90;
    bench.cuda->not_pageable = bench.cuda->no_peers = bench.cuda->swallow = false;
    bench.cuda->fails = NULL;
    memset(bench.cuda->place, 0, sizeof bench.cuda->place);
    atomic_store(&bench.cuda->current, 0);
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
    assert_int_equal(atomic_load(&bench.cuda->registered), 0);
    assert_int_equal(atomic_load(&bench.cuda->visible), 0);
    assert_int_equal(atomic_load(&bench.cuda->allocated), 0);
    assert_int_equal(atomic_load(&bench.cuda->streams), 0);
    assert_int_equal(atomic_load(&bench.fake.live), 0);
    assert_int_equal(atomic_load(&bench.cuda->current), 0);
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
    bench.cuda->no_driver = true;
    refused(NULL, WEFT_ERR_UNSUPPORTED, "no CUDA driver on this machine", "kernel-cpu");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench.cuda->no_device = cases[i].error;
        refused(NULL, WEFT_ERR_UNSUPPORTED, cases[i].cause, cases[i].help);
    }
    bench.cuda->capability = 61;
    refused(NULL, WEFT_ERR_UNSUPPORTED, "compute capability 6.1 is below 7.5", "kernel-cpu");
    bench.cuda->fails = "cuda_launch_usable";
    bench.cuda->error = cudaErrorNoKernelImageForDevice;
    refused(NULL, WEFT_ERR_UNSUPPORTED, "no code for the device", "WEFT_CUDA_ARCHITECTURES");
    refused("device=2", WEFT_ERR_CONFIG, "device = 2", "0 to 1");
    refused("device=first", WEFT_ERR_CONFIG, "device = first", "expected auto or a number");
}

static void the_named_device_is_used_and_the_callers_stays_current(void **state)
{
    (void)state;
    cuda_reset();
    assert_int_equal(create("device=1"), WEFT_OK);
    assert_int_equal(atomic_load(&bench.cuda->current), 0);
    close_kernel(state);
}

/* Combinations ------------------------------------------------------------------------------------- */

static void place(uint32_t number, const void *at, uint64_t bytes, enum cudaMemoryType type,
                  int device)
{
    bench.cuda->place[number] = (fake_place_t){at, bytes, type, device};
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
    const uint32_t before = atomic_load(&bench.cuda->combines);
    add();
    assert_int_equal(atomic_load(&bench.cuda->combines), before);
    place(0, source, sizeof source, cudaMemoryTypeDevice, 1);
    add();
    assert_int_equal(atomic_load(&bench.cuda->combines), before + 1);
    assert_int_equal(atomic_load(&bench.cuda->current), 0);
}

static void what_no_device_reaches_alone_goes_through_the_host(void **state)
{
    (void)state;
    const uint32_t before = atomic_load(&bench.cuda->combines);
    place(0, source, sizeof source, cudaMemoryTypeDevice, 0);
    bench.cuda->not_pageable = true;
    add();
    place(1, result, sizeof result, cudaMemoryTypeDevice, 1);
    add();
    assert_int_equal(atomic_load(&bench.cuda->combines), before);
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
#define FIFO_BYTES (WEFT_FIFO_HEADS + SLOTS * (WEFT_FIFO_HEAD_BYTES + 4096u))
static _Alignas(4096) uint8_t fifo[16 * 4096];

static weft_lanes_call_t call_of(weft_lanes_port_t *port)
{
    *port = (weft_lanes_port_t){.fifo = fifo + 512,
                                .fifo_bytes = FIFO_BYTES,
                                .slot_bytes = 4096,
                                .slots = SLOTS,
                                .sends = 1};
    memset(fifo, 0, sizeof fifo);
    return (weft_lanes_call_t){.size = sizeof(weft_lanes_call_t),
                               .in = source[0],
                               .out = result,
                               .cut = {.count = 1000,
                                       .slice = 1000,
                                       .chunk = 1000,
                                       .pass = 1000,
                                       .passes = 1,
                                       .slices = 1,
                                       .k = 1},
                               .ports = port};
}

/* Until it is over; a deadline of the suite ends one that never is. */
static weft_status_t finish(weft_lanes_handle_t *handle)
{
    weft_lanes_state_t state = {.size = sizeof state};
    weft_status_t status = WEFT_IN_PROGRESS;
    while (status == WEFT_IN_PROGRESS) {
        status = bench.lanes->poll(handle, &state);
    }
    fake_host_take_error(&bench.fake, bench.error, sizeof bench.error);
    return status;
}

static void a_plan_runs_and_leaves_its_message_in_the_slot(void **state)
{
    weft_lanes_handle_t *handle = NULL;
    weft_lanes_port_t port;
    weft_lanes_call_t call = call_of(&port);
    (void)state;
    source[0][999] = 7;
    assert_int_equal(bench.lanes->prepare(bench.kernel, &program, &handle), WEFT_OK);
    for (uint64_t run = 1; run <= SLOTS; run++) {
        result[999] = 0;
        assert_int_equal(bench.lanes->start(handle, &call), WEFT_OK);
        assert_int_equal(finish(handle), WEFT_OK);
        assert_int_equal(port.next, run);
        assert_true(result[999] == 7);
        assert_memory_equal(fifo + 512 + WEFT_FIFO_HEADS + SLOTS * WEFT_FIFO_HEAD_BYTES +
                                (run - 1) * 4096,
                            source[0], 4000);
    }
    /* The same FIFO is registered once, however often it is used. */
    assert_int_equal(atomic_load(&bench.cuda->registered), 1);
    bench.lanes->release(handle);
    assert_int_equal(atomic_load(&bench.cuda->registered), 0);
}

static void a_run_that_waits_for_ever_ends_when_it_is_told_to(void **state)
{
    weft_lanes_handle_t *handle = NULL;
    weft_lanes_port_t port;
    weft_lanes_call_t call = call_of(&port);
    weft_lanes_state_t now = {.size = sizeof now};
    (void)state;
    port.next = SLOTS; /* all slots are full */
    assert_int_equal(bench.lanes->prepare(bench.kernel, &program, &handle), WEFT_OK);
    assert_int_equal(bench.lanes->start(handle, &call), WEFT_OK);
    assert_int_equal(bench.lanes->poll(handle, &now), WEFT_IN_PROGRESS);
    bench.lanes->abort(handle);
    assert_int_equal(finish(handle), WEFT_ERR_ABORTED);
    port.next = 0;
    assert_int_equal(bench.lanes->start(handle, &call), WEFT_OK);
    assert_int_equal(finish(handle), WEFT_OK);
    /* Release ends what is under way. */
    port.next = SLOTS + 1;
    assert_int_equal(bench.lanes->start(handle, &call), WEFT_OK);
    bench.lanes->release(handle);
}

static void fifos_that_share_pages_are_registered_once(void **state)
{
    weft_lanes_handle_t *first = NULL, *second = NULL;
    weft_lanes_port_t port, other;
    weft_lanes_call_t call = call_of(&port), next = call_of(&other);
    (void)state;
    other.fifo = port.fifo + FIFO_BYTES; /* begins in the page where the first one ends */
    assert_int_equal(bench.lanes->prepare(bench.kernel, &program, &first), WEFT_OK);
    assert_int_equal(bench.lanes->prepare(bench.kernel, &program, &second), WEFT_OK);
    assert_int_equal(bench.lanes->start(first, &call), WEFT_OK);
    assert_int_equal(finish(first), WEFT_OK);
    assert_int_equal(bench.lanes->start(second, &next), WEFT_OK);
    assert_int_equal(finish(second), WEFT_OK);
    assert_int_equal(atomic_load(&bench.cuda->registered), 2);
    bench.lanes->release(first);
    /* The page in the middle has a user still. */
    assert_int_equal(atomic_load(&bench.cuda->registered), 2);
    assert_int_equal(bench.lanes->start(second, &next), WEFT_OK);
    assert_int_equal(finish(second), WEFT_OK);
    bench.lanes->release(second);
    assert_int_equal(atomic_load(&bench.cuda->registered), 0);
}

static void buffers_that_the_device_cannot_reach_are_named(void **state)
{
    weft_lanes_handle_t *handle = NULL;
    weft_lanes_port_t port;
    weft_lanes_call_t call = call_of(&port);
    (void)state;
    bench.ops->destroy(bench.kernel);
    bench.cuda->not_pageable = true;
    assert_int_equal(create(NULL), WEFT_OK);
    assert_int_equal(bench.lanes->prepare(bench.kernel, &program, &handle), WEFT_OK);
    assert_int_equal(bench.lanes->start(handle, &call), WEFT_ERR_UNSUPPORTED);
    fake_host_take_error(&bench.fake, bench.error, sizeof bench.error);
    says("input");
    says("host memory that CUDA device 0 cannot reach");
    place(0, source, sizeof source, cudaMemoryTypeDevice, 0);
    place(1, result, sizeof result, cudaMemoryTypeDevice, 1);
    bench.cuda->no_peers = true;
    assert_int_equal(bench.lanes->start(handle, &call), WEFT_ERR_UNSUPPORTED);
    fake_host_take_error(&bench.fake, bench.error, sizeof bench.error);
    says("output");
    says("memory of CUDA device 1, which device 0");
    bench.cuda->no_peers = false;
    assert_int_equal(bench.lanes->start(handle, &call), WEFT_OK);
    assert_int_equal(finish(handle), WEFT_OK);
    bench.lanes->release(handle);
}

static void a_device_that_fails_is_reported(void **state)
{
    weft_lanes_handle_t *handle = NULL;
    weft_lanes_port_t port;
    weft_lanes_call_t call = call_of(&port);
    (void)state;
    assert_int_equal(bench.lanes->prepare(bench.kernel, &program, &handle), WEFT_OK);
    bench.cuda->swallow = true;
    assert_int_equal(bench.lanes->start(handle, &call), WEFT_OK);
    bench.cuda->fails = "cudaStreamQuery";
    bench.cuda->error = cudaErrorIllegalAddress;
    assert_int_equal(finish(handle), WEFT_ERR_SYSTEM);
    says("running a plan on CUDA device 0: an illegal address (cudaErrorIllegalAddress)");
    assert_int_equal(bench.lanes->start(handle, &call), WEFT_OK);
    assert_int_equal(finish(handle), WEFT_ERR_SYSTEM);
    says("without its last word");
    bench.cuda->swallow = false;
    assert_int_equal(bench.lanes->start(handle, &call), WEFT_OK);
    assert_int_equal(finish(handle), WEFT_OK);
    bench.lanes->release(handle);
}

static void failures_of_the_runtime_leave_nothing_behind(void **state)
{
    static const char *const calls[] = {
        "cuda_launch_lanes_most", "cudaStreamCreateWithFlags", "cudaHostAlloc",  "cudaMallocAsync",
        "cudaMemsetAsync",        "cudaStreamSynchronize",     "cudaMemcpyAsync"};
    weft_lanes_handle_t *handle = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        bench.cuda->fails = calls[i];
        bench.cuda->error = cudaErrorMemoryAllocation;
        assert_int_equal(bench.lanes->prepare(bench.kernel, &program, &handle), WEFT_ERR_RESOURCE);
        fake_host_take_error(&bench.fake, bench.error, sizeof bench.error);
        says("has no memory left");
        assert_int_equal(atomic_load(&bench.cuda->allocated), 0);
        assert_int_equal(atomic_load(&bench.cuda->streams), 0);
    }
}

static void a_failed_start_can_be_tried_again(void **state)
{
    static const char *const calls[] = {"cudaPointerGetAttributes", "cudaMallocAsync",
                                        "cudaHostRegister", "cudaMemcpyAsync", "cuda_launch_lanes"};
    weft_lanes_handle_t *handle = NULL;
    weft_lanes_port_t port;
    (void)state;
    assert_int_equal(bench.lanes->prepare(bench.kernel, &program, &handle), WEFT_OK);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        weft_lanes_call_t call = call_of(&port);
        bench.cuda->fails = calls[i];
        bench.cuda->error = cudaErrorLaunchFailure;
        assert_int_equal(bench.lanes->start(handle, &call), WEFT_ERR_SYSTEM);
    }
    weft_lanes_call_t call = call_of(&port);
    assert_int_equal(bench.lanes->start(handle, &call), WEFT_OK);
    assert_int_equal(finish(handle), WEFT_OK);
    bench.lanes->release(handle);
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
    assert_int_equal(atomic_load(&bench.cuda->allocated), 0);
    assert_int_equal(atomic_load(&bench.cuda->current), 0);
}

static void buffers_that_cannot_be_had_leave_nothing_behind(void **state)
{
    static const char *const calls[] = {"cudaMalloc", "cudaMemsetAsync", "cudaStreamSynchronize"};
    const weft_kernel_memory_t *memory = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_MEMORY);
    void *at = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        bench.cuda->fails = calls[i];
        bench.cuda->error = i == 0 ? cudaErrorMemoryAllocation : cudaErrorLaunchFailure;
        assert_int_equal(memory->alloc(bench.kernel, 8, &at),
                         i == 0 ? WEFT_ERR_RESOURCE : WEFT_ERR_SYSTEM);
        fake_host_take_error(&bench.fake, bench.error, sizeof bench.error);
        says(i == 0 ? "8 bytes on CUDA device 0, which has 1000 of 5000 free" : "clearing memory");
        assert_null(at);
        assert_int_equal(atomic_load(&bench.cuda->allocated), 0);
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
        WITH_KERNEL(fifos_that_share_pages_are_registered_once),
        WITH_KERNEL(buffers_that_the_device_cannot_reach_are_named),
        WITH_KERNEL(a_device_that_fails_is_reported),
        WITH_KERNEL(failures_of_the_runtime_leave_nothing_behind),
        WITH_KERNEL(a_failed_start_can_be_tried_again),
    };
    char why[256] = "no symbol fake_cuda";
    void *module = dlopen(WEFT_KERNEL_CUDA_FILE, RTLD_NOW | RTLD_LOCAL);
    bench.cuda = module != NULL ? dlsym(module, "fake_cuda") : NULL;
    bench.plugin = fake_plugin_open(WEFT_KERNEL_CUDA_FILE, WEFT_KIND_KERNEL, why, sizeof why);
    if (bench.cuda == NULL || bench.plugin == NULL) {
        print_error("%s\n", why);
        return 1;
    }
    bench.ops = bench.plugin->ops;
    fake_host_init(&bench.fake, "kernel-cuda");
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    fake_host_fini(&bench.fake);
    return failures;
}
