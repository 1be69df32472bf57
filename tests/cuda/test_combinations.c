/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where kernel-cuda computes combinations, and what becomes of those that fail. */
#include "tests/cuda/bench.h"
#include "tests/support/kernel_reference.h"

#define ELEMENTS 40000u

static float source[2][ELEMENTS], result[ELEMENTS];

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

/* Tells it from every other: signs, and values that no two operators take to one. */
static void check_function(weft_dtype_t dtype, weft_op_t op)
{
    reference_case_t what = {.dtype = dtype,
                             .op = op,
                             .nsrc = 2,
                             .nranks = 2,
                             .final = op == WEFT_AVG,
                             .pre_mask = op == WEFT_PREMULSUM,
                             .src = {UINT64_MAX, 3}};
    weft_combine_fn_t fn = NULL;
    uint64_t in[2], out = 0, scalar;
    weft_combine_t c = {.src = {&in[0], &in[1]},
                        .dst = {&out},
                        .scalar = what.pre_mask != 0 ? &scalar : NULL,
                        .count = 1,
                        .nsrc = 2,
                        .ndst = 1,
                        .pre_mask = what.pre_mask,
                        .flags = what.final ? WEFT_COMBINE_FINAL : 0,
                        .nranks = 2};
    if (reference_is_float(dtype)) {
        what.src[0] = reference_encode(dtype, -1.5);
        what.src[1] = reference_encode(dtype, 3);
    }
    what.scalar = reference_is_float(dtype) ? reference_encode(dtype, 5) : 5;
    reference_store(dtype, &scalar, 0, what.scalar);
    for (uint32_t i = 0; i < 2; i++) {
        reference_store(dtype, &in[i], 0, what.src[i]);
        what.src[i] = reference_load(dtype, &in[i], 0);
    }
    assert_int_equal(bench.ops->select(bench.kernel, dtype, op, &fn), WEFT_OK);
    fn(&c);
    if (!reference_same(dtype, reference_load(dtype, &out, 0), reference_combine(&what))) {
        fail_msg("%s %s", reference_dtype_name(dtype), reference_op_name(op));
    }
}

static void every_type_and_operator_has_its_function(void **state)
{
    (void)state;
    for (weft_dtype_t dtype = 0; dtype < WEFT_DTYPE_COUNT; dtype++) {
        for (weft_op_t op = 0; op < WEFT_OP_COUNT; op++) {
            if (reference_has(dtype, op)) {
                check_function(dtype, op);
            }
        }
    }
}

static void combinations_run_where_their_operands_lie(void **state)
{
    (void)state;
    const uint32_t before = atomic_load(&fake_cuda.combines);
    add();
    assert_int_equal(atomic_load(&fake_cuda.combines), before);
    bench_place(0, source, sizeof source, cudaMemoryTypeDevice, 1);
    add();
    assert_int_equal(atomic_load(&fake_cuda.combines), before + 1);
    assert_int_equal(bench_device(), 0);
}

static void what_no_device_reaches_alone_goes_through_the_host(void **state)
{
    (void)state;
    const uint32_t before = atomic_load(&fake_cuda.combines);
    bench_place(0, source, sizeof source, cudaMemoryTypeDevice, 0);
    fake_cuda.not_pageable = true;
    add();
    bench_place(1, result, sizeof result, cudaMemoryTypeDevice, 1);
    add();
    assert_int_equal(atomic_load(&fake_cuda.combines), before);
}

/* The host would fetch them back. */
static void pages_that_would_move_to_the_device_stay(void **state)
{
    (void)state;
    const uint32_t before = atomic_load(&fake_cuda.combines);
    bench_place(0, source, sizeof source, cudaMemoryTypeDevice, 0);
    fake_cuda.migrates = true;
    add();
    assert_int_equal(atomic_load(&fake_cuda.combines), before);
}

/* A second call of the runtime would fail. */
static void what_is_a_copy_is_copied_at_once(void **state)
{
    weft_combine_fn_t sum = NULL;
    const weft_combine_t c = {
        .src = {source[0]}, .dst = {result}, .count = ELEMENTS, .nsrc = 1, .ndst = 1};
    (void)state;
    assert_int_equal(bench.ops->select(bench.kernel, WEFT_FP32, WEFT_SUM, &sum), WEFT_OK);
    bench_place(0, source, sizeof source, cudaMemoryTypeDevice, 0);
    fake_cuda.not_pageable = true;
    source[0][0] = source[0][ELEMENTS - 1] = 3;
    fake_cuda.fails = "cudaMemcpyAsync";
    fake_cuda.fails_after = 1;
    fake_cuda.error = cudaErrorLaunchFailure;
    sum(&c);
    fake_cuda.fails = NULL;
    assert_int_equal(bench.ops->combine_status(bench.kernel), WEFT_OK);
    assert_true(result[0] == 3 && result[ELEMENTS - 1] == 3);
}

/* What the functions cannot return. */
static void a_combination_that_fails_is_told_once(void **state)
{
    weft_combine_fn_t sum = NULL;
    const weft_combine_t c = {
        .src = {source[0], source[1]}, .dst = {result}, .count = ELEMENTS, .nsrc = 2, .ndst = 1};
    static const char *const calls[] = {"cudaPointerGetAttributes", "cudaMemcpyAsync"};
    (void)state;
    assert_int_equal(bench.ops->select(bench.kernel, WEFT_FP32, WEFT_SUM, &sum), WEFT_OK);
    bench_place(0, source, sizeof source, cudaMemoryTypeDevice, 0);
    bench_place(1, result, sizeof result, cudaMemoryTypeDevice, 1);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        fake_cuda.fails = calls[i];
        fake_cuda.error = cudaErrorLaunchFailure;
        sum(&c);
        add(); /* and nothing that goes well hides it */
        assert_int_equal(bench.ops->combine_status(bench.kernel), WEFT_ERR_SYSTEM);
        bench_said("combining on CUDA device 0");
        assert_int_equal(bench.ops->combine_status(bench.kernel), WEFT_OK);
    }
}

static void what_a_device_has_begun_is_not_done_again(void **state)
{
    weft_combine_fn_t sum = NULL;
    const weft_combine_t c = {
        .src = {result, source[0]}, .dst = {result}, .count = ELEMENTS, .nsrc = 2, .ndst = 1};
    (void)state;
    assert_int_equal(bench.ops->select(bench.kernel, WEFT_FP32, WEFT_SUM, &sum), WEFT_OK);
    bench_place(0, source, sizeof source, cudaMemoryTypeDevice, 0);
    bench_place(1, result, sizeof result, cudaMemoryTypeDevice, 0);
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        source[0][i] = result[i] = 1;
    }
    fake_cuda.fails = "cudaStreamQuery";
    fake_cuda.error = cudaErrorLaunchFailure;
    sum(&c);
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    assert_true(result[0] == 2 && result[ELEMENTS - 1] == 2);
    assert_int_equal(bench.ops->combine_status(bench.kernel), WEFT_ERR_SYSTEM);
    bench_take_error();
}

static void what_the_device_does_not_combine_the_host_does(void **state)
{
    (void)state;
    bench_place(0, source, sizeof source, cudaMemoryTypeDevice, 0);
    fake_cuda.fails = "cuda_launch_combine";
    fake_cuda.error = cudaErrorLaunchOutOfResources;
    add();
    assert_int_equal(bench.ops->combine_status(bench.kernel), WEFT_OK);
}

/* As of a progress thread while the application captures, or of the thread that captures. */
static void combinations_leave_captures_alone(void **state)
{
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    (void)state;
    bench_place(0, source, sizeof source, cudaMemoryTypeDevice, 0);
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    add();
    assert_int_equal(bench.ops->combine_status(bench.kernel), WEFT_OK);
    assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH(every_type_and_operator_has_its_function),
        BENCH(combinations_run_where_their_operands_lie),
        BENCH(what_no_device_reaches_alone_goes_through_the_host),
        BENCH(pages_that_would_move_to_the_device_stay),
        BENCH(what_is_a_copy_is_copied_at_once),
        BENCH(a_combination_that_fails_is_told_once),
        BENCH(what_a_device_has_begun_is_not_done_again),
        BENCH(what_the_device_does_not_combine_the_host_does),
        BENCH(combinations_leave_captures_alone),
    };
    return bench_main(tests);
}
