/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers of the caller in the device's memory. */
#include <weft/plugin/memory.h>

#include "tests/cuda/bench.h"

static void buffers_are_allocated_and_copied(void **state)
{
    const weft_kernel_memory_t *memory = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_MEMORY);
    void *at = NULL;
    char in[8] = "abcdefg", out[8] = "1234567";
    (void)state;
    assert_non_null(memory);
    assert_int_equal(memory->alloc(bench.kernel, 8, &at), WEFT_OK);
    assert_int_equal(memory->copy(bench.kernel, out, at, 8), WEFT_OK);
    assert_true(out[0] == 0 && out[7] == 0);
    assert_int_equal(memory->copy(bench.kernel, at, in, 8), WEFT_OK);
    assert_int_equal(memory->copy(bench.kernel, out, at, 8), WEFT_OK);
    assert_string_equal(out, in);
    memory->free(bench.kernel, at);
    assert_int_equal(bench_device(), 0);
}

/* cudaFree() waits for kernels, and those for ranks. */
static void freed_buffers_serve_the_next_of_their_size(void **state)
{
    const weft_kernel_memory_t *memory = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_MEMORY);
    void *first = NULL, *second = NULL, *large = NULL;
    char in[8] = "abcdefg";
    (void)state;
    assert_int_equal(memory->alloc(bench.kernel, 1000, &first), WEFT_OK);
    assert_int_equal(memory->copy(bench.kernel, first, in, 8), WEFT_OK);
    memory->free(bench.kernel, first);
    assert_int_equal(memory->alloc(bench.kernel, 600, &second), WEFT_OK);
    assert_ptr_equal(second, first);
    assert_int_equal(memory->copy(bench.kernel, in, second, 8), WEFT_OK);
    assert_int_equal(in[0], 0);
    memory->free(bench.kernel, second);
    /* Neither too small nor much too large is fit. */
    assert_int_equal(memory->alloc(bench.kernel, 1001, &large), WEFT_OK);
    assert_int_equal(memory->alloc(bench.kernel, 8, &second), WEFT_OK);
    assert_int_equal(atomic_load(&fake_cuda.allocated), 3);
    /* With no memory left, what waits goes back. */
    fake_cuda.fails = "cudaMalloc";
    fake_cuda.error = cudaErrorMemoryAllocation;
    assert_int_equal(memory->alloc(bench.kernel, 5000, &first), WEFT_OK);
    assert_int_equal(atomic_load(&fake_cuda.allocated), 3);
}

static void buffers_that_cannot_be_had_leave_nothing_behind(void **state)
{
    static const char *const calls[] = {"cudaMalloc", "cudaMemsetAsync", "cudaStreamQuery"};
    const weft_kernel_memory_t *memory = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_MEMORY);
    void *at = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        fake_cuda.fails = calls[i];
        fake_cuda.error = i == 0 ? cudaErrorMemoryAllocation : cudaErrorLaunchFailure;
        assert_int_equal(memory->alloc(bench.kernel, 8, &at),
                         i == 0 ? WEFT_ERR_RESOURCE : WEFT_ERR_SYSTEM);
        bench_take_error();
        bench_says(i == 0 ? "8 bytes on CUDA device 0, which has 1000 of 5000 free"
                          : "clearing memory");
        assert_null(at);
        assert_true(atomic_load(&fake_cuda.allocated) <= 1); /* for the next of its size */
    }
}

static _Alignas(4096) uint8_t fifo[FIFO_BYTES];
static plan_t plan;

static void a_plan_runs(void)
{
    plan_open(&plan, PLAN_SENDS, fifo);
    assert_int_equal(plan_run(&plan), WEFT_OK);
    plan_close(&plan);
}

/* The application's pool is none of ours: it may be limited, and maps memory anew each time. */
static void plans_have_a_pool_of_their_own(void **state)
{
    (void)state;
    fake_cuda.pool_full = true;
    atomic_store(&fake_cuda.remaps, 0);
    a_plan_runs();
    fake_cuda.pool_full = false;
    assert_int_equal(atomic_load(&fake_cuda.remaps), 0);
    assert_int_equal(atomic_load(&fake_cuda.pools), 1);
}

static void a_driver_without_pools_will_do(void **state)
{
    (void)state;
    fake_cuda.no_pools = true;
    a_plan_runs();
    fake_cuda.no_pools = false;
    assert_int_equal(atomic_load(&fake_cuda.pools), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH(buffers_are_allocated_and_copied),
        BENCH(freed_buffers_serve_the_next_of_their_size),
        BENCH(buffers_that_cannot_be_had_leave_nothing_behind),
        BENCH(plans_have_a_pool_of_their_own),
        BENCH(a_driver_without_pools_will_do),
    };
    return bench_main(tests);
}
