/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The device of an instance: the words for machines without one, and its room for the ranks that
 * share it. */
#include "tests/cuda/bench.h"

static void refused(const char *setting, weft_status_t status, const char *cause, const char *help)
{
    assert_int_equal(bench_create(setting), status);
    bench_says(cause);
    bench_says(help);
    assert_int_equal(atomic_load(&bench.fake.live), 0);
    bench_reset();
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
    bench_reset();
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
    fake_cuda.fails = "cuda_launch_lanes_max";
    fake_cuda.error = cudaErrorMemoryAllocation;
    refused(NULL, WEFT_ERR_UNSUPPORTED, "no memory left for another context", "kernel-cpu");
    refused("device=2", WEFT_ERR_CONFIG, "device = 2", "0 to 1");
    refused("device=first", WEFT_ERR_CONFIG, "device = first", "expected auto, the number");
    refused("device=modulo:", WEFT_ERR_CONFIG, "device = modulo:", "modulo:N");
    refused("device=modulo:-1", WEFT_ERR_CONFIG, "device = modulo:-1", "modulo:N");
}

static void the_named_device_is_used_and_the_callers_stays_current(void **state)
{
    (void)state;
    bench_reset();
    assert_int_equal(bench_create("device=1"), WEFT_OK);
    assert_int_equal(bench_device(), 0);
    bench_close(state);
}

/* Who is alone takes a quarter, at most 32: the fake device holds 64 blocks, 60 of them for
 * lanes. */
static void a_rank_alone_leaves_most_of_the_device(void **state)
{
    static const struct {
        const char *option;
        int processors;
        uint32_t channels;
    } cases[] = {{NULL, 16, 15}, {"channels=0", 16, 15}, {"channels=40", 16, 40},
                 {NULL, 33, 32}, {NULL, 80, 32},         {NULL, 1, 1}};
    (void)state;
    bench_reset();
    const int processors = fake_cuda.processors;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        weft_kernel_props_t props = {.size = sizeof props};
        bench_reset();
        fake_cuda.processors = cases[i].processors;
        assert_int_equal(bench_create(cases[i].option), WEFT_OK);
        assert_int_equal(bench.ops->props(bench.kernel, &props), WEFT_OK);
        assert_int_equal(props.channels, cases[i].channels);
        bench_close(state);
    }
    fake_cuda.processors = processors;
}

/* A byte moves four times in memory, of which the driver tells clock and width: 3.35 TB/s. */
static void a_path_costs_what_is_known_of_the_device(void **state)
{
    weft_kernel_props_t props = {.size = sizeof props};
    bench_reset();
    const int clock = fake_cuda.clock;
    assert_int_equal(bench_create(NULL), WEFT_OK);
    assert_int_equal(bench.ops->props(bench.kernel, &props), WEFT_OK);
    assert_true(props.launch_ns > 0);
    for (uint32_t path = 0; path < WEFT_KERNEL_PATH_COUNT; path++) {
        const weft_kernel_edge_t *edge = &props.edge[path];
        assert_true(edge->latency_ns > 0 && edge->overhead_ns <= edge->latency_ns);
        assert_true(edge->bandwidth > 0 && edge->bandwidth <= edge->together);
        assert_true(path == 0 || edge->latency_ns >= edge[-1].latency_ns);
        assert_true(path == 0 || edge->together <= edge[-1].together);
    }
    assert_int_equal(props.edge[WEFT_KERNEL_PATH_SAME].together,
                     UINT64_C(2619000000) * 2 * 5120 / 8 / 4);
    bench_close(state);
    fake_cuda.clock = 40000; /* 51 GB/s */
    assert_int_equal(bench_create(NULL), WEFT_OK);
    assert_int_equal(bench.ops->props(bench.kernel, &props), WEFT_OK);
    assert_int_equal(props.edge[WEFT_KERNEL_PATH_DIRECT].bandwidth, UINT64_C(12800000000));
    bench_close(state);
    fake_cuda.clock = 0;
    assert_int_equal(bench_create(NULL), WEFT_OK);
    assert_int_equal(bench.ops->props(bench.kernel, &props), WEFT_OK);
    assert_int_equal(props.edge[WEFT_KERNEL_PATH_SAME].together, 0);
    fake_cuda.clock = clock;
    bench_close(state);
}

/* Of the four blocks of a device three are for lanes. */
static void blocks_of_all_ranks_fit_on_the_device_together(void **state)
{
    weft_kernel_t *rank[4];
    weft_lanes_handle_t *handle = NULL;
    bench_reset();
    const int processors = fake_cuda.processors;
    fake_cuda.processors = 1;
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(bench_create(NULL), WEFT_OK);
        rank[i] = bench.kernel;
    }
    bench.lanes = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_LANES);
    assert_int_equal(bench.lanes->prepare(rank[0], &plan_sends, &handle), WEFT_ERR_UNSUPPORTED);
    bench_take_error();
    assert_non_null(strstr(bench.error, "4 ranks share it"));
    bench.ops->destroy(rank[3]);
    assert_int_equal(bench.lanes->prepare(rank[0], &plan_sends, &handle), WEFT_OK);
    bench.lanes->release(handle);
    bench.ops->destroy(rank[2]);
    bench.ops->destroy(rank[1]);
    bench.kernel = rank[0];
    fake_cuda.processors = processors;
    bench_close(state);
}

/* Ranks of other processes are known from the job. Those that share the device take all of its 60
 * blocks, of a larger one of 128 blocks at most 64 each. */
static void ranks_of_other_processes_count(void **state)
{
    static const struct {
        const char *option;
        int processors;
        uint32_t ranks, channels;
    } cases[] = {{NULL, 16, 1, 15},          {NULL, 16, 2, 30},        {NULL, 16, 4, 15},
                 {NULL, 16, 8, 7},           {NULL, 16, 9, 6},         {NULL, 16, 60, 1},
                 {"channels=40", 16, 3, 20}, {"channels=5", 16, 2, 5}, {NULL, 33, 1, 32},
                 {NULL, 33, 2, 64},          {NULL, 33, 4, 32},        {NULL, 33, 8, 16},
                 {NULL, 33, 9, 14},          {NULL, 80, 2, 64}};
    weft_lanes_program_t wide = plan_sends;
    weft_lanes_handle_t *handle = NULL;
    const int processors = fake_cuda.processors;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        weft_kernel_props_t props = {.size = sizeof props};
        bench_reset();
        fake_cuda.processors = cases[i].processors;
        assert_int_equal(bench_create(cases[i].option), WEFT_OK);
        bench.lanes = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_LANES);
        assert_int_equal(bench.lanes->share_device(bench.kernel, cases[i].ranks), WEFT_OK);
        assert_int_equal(bench.ops->props(bench.kernel, &props), WEFT_OK);
        assert_int_equal(props.channels, cases[i].channels);
        wide.channels = (uint32_t)(4 * cases[i].processors - 4) / cases[i].ranks + 1;
        assert_int_equal(bench.lanes->prepare(bench.kernel, &wide, &handle), WEFT_ERR_UNSUPPORTED);
        bench_said("ranks share it");
        bench_close(state);
    }
    fake_cuda.processors = processors;
}

/* Two jobs of a process, as two communicators without a common family: the second takes what the
 * first would have left to each. */
static void ranks_of_other_jobs_of_the_process_count(void **state)
{
    weft_kernel_t *rank[4];
    weft_kernel_props_t props = {.size = sizeof props};
    bench_reset();
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(bench_create(NULL), WEFT_OK);
        rank[i] = bench.kernel;
    }
    bench.lanes = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_LANES);
    assert_int_equal(bench.lanes->share_device(rank[3], 2), WEFT_OK);
    assert_int_equal(bench.ops->props(rank[3], &props), WEFT_OK);
    assert_int_equal(props.channels, 15);
    bench.ops->destroy(rank[2]);
    bench.ops->destroy(rank[1]);
    bench.ops->destroy(rank[0]);
    bench_close(state);
}

static void ranks_that_find_no_room_at_all_are_refused(void **state)
{
    (void)state;
    assert_int_equal(bench.lanes->share_device(bench.kernel, 61), WEFT_ERR_UNSUPPORTED);
    bench_said("61 ranks of this host use CUDA device 0");
    bench_says("60 of them fit");
    bench_says("core.kernel = kernel-cpu");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_without_driver_or_device_is_told_what_helps),
        cmocka_unit_test(the_named_device_is_used_and_the_callers_stays_current),
        cmocka_unit_test(a_rank_alone_leaves_most_of_the_device),
        cmocka_unit_test(a_path_costs_what_is_known_of_the_device),
        cmocka_unit_test(blocks_of_all_ranks_fit_on_the_device_together),
        cmocka_unit_test(ranks_of_other_processes_count),
        cmocka_unit_test(ranks_of_other_jobs_of_the_process_count),
        BENCH(ranks_that_find_no_room_at_all_are_refused),
    };
    return bench_main(tests);
}
