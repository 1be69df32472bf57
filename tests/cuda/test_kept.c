/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an instance leaves behind while kernels of another one wait for ranks: the driver would wait
 * for those before it takes memory back, so it stays with the process. */
#include <weft/plugin/memory.h>

#include "tests/cuda/bench.h"

static _Alignas(4096) uint8_t fifo[FIFO_BYTES];
static plan_t plan;

/* A second instance, as of another rank. */
static weft_kernel_t *second_open(void)
{
    weft_kernel_t *first = bench.kernel;
    assert_int_equal(bench_create(NULL), WEFT_OK);
    weft_kernel_t *second = bench.kernel;
    bench.kernel = first;
    return second;
}

static const weft_kernel_memory_t *memory_of(weft_kernel_t *kernel)
{
    return bench.ops->get_extension(kernel, WEFT_KERNEL_MEMORY);
}

/* It comes and goes with memory of the device and page-locked memory of the host. */
static void another_rank_leaves(void)
{
    void *buffer = NULL;
    weft_lanes_queue_t *queue = NULL;
    weft_kernel_t *second = second_open();
    assert_int_equal(memory_of(second)->alloc(second, 10000, &buffer), WEFT_OK);
    assert_int_equal(bench.lanes->queue_open(second, &queue), WEFT_OK);
    bench.lanes->queue_close(queue);
    memory_of(second)->free(second, buffer);
    bench.ops->destroy(second);
}

static void a_rank_leaves_while_a_kernel_of_another_one_waits(void **state)
{
    uint64_t run = 0;
    (void)state;
    plan_open(&plan, PLAN_RECEIVES, fifo);
    assert_int_equal(plan_start(&plan, &run), WEFT_OK);
    plan_wait_blocked(&plan, run);
    const int allocated = atomic_load(&fake_cuda.allocated);
    const int visible = atomic_load(&fake_cuda.visible);
    another_rank_leaves();
    assert_int_equal(atomic_load(&fake_cuda.allocated), allocated + 1);
    assert_int_equal(atomic_load(&fake_cuda.visible), visible + 1);
    /* The next rank has it: ranks that come and go do not pile it up. */
    for (int round = 0; round < 5; round++) {
        another_rank_leaves();
    }
    assert_int_equal(atomic_load(&fake_cuda.allocated), allocated + 1);
    assert_int_equal(atomic_load(&fake_cuda.visible), visible + 1);
    fifo_send(fifo, 0, 0);
    assert_int_equal(plan_finish(&plan, run), WEFT_OK);
    plan_close(&plan);
}

static void without_a_kernel_that_waits_all_of_it_goes_back(void **state)
{
    (void)state;
    another_rank_leaves(); /* the device has its side streams then, as long as it has a rank */
    const int allocated = atomic_load(&fake_cuda.allocated);
    const int visible = atomic_load(&fake_cuda.visible);
    another_rank_leaves();
    assert_int_equal(atomic_load(&fake_cuda.allocated), allocated);
    assert_int_equal(atomic_load(&fake_cuda.visible), visible);
}

static void a_captured_run_may_be_launched_at_any_time(void **state)
{
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    uint64_t run = 0;
    (void)state;
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    plan_open(&plan, PLAN_RECEIVES, fifo);
    assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    assert_int_equal(plan_start_in(&plan, &stream, &run), WEFT_OK);
    assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    const int allocated = atomic_load(&fake_cuda.allocated);
    another_rank_leaves();
    assert_int_equal(atomic_load(&fake_cuda.allocated), allocated + 1);
    assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
    plan_close(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH(a_rank_leaves_while_a_kernel_of_another_one_waits),
        BENCH(without_a_kernel_that_waits_all_of_it_goes_back),
        BENCH(a_captured_run_may_be_launched_at_any_time),
    };
    return bench_main(tests);
}
