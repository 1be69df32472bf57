/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gates: streams that wait for the host. */
#include <sched.h>
#include <stdlib.h>

#include "tests/cuda/bench.h"

static _Alignas(4096) uint8_t fifo[8 * 4096];
static plan_t plan;
static cudaStream_t stream[2];

static int open_all(void **state)
{
    bench_open(state);
    plan_open(&plan, PLAN_SENDS, fifo);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking), cudaSuccess);
    }
    return 0;
}

static int close_all(void **state)
{
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cudaStreamSynchronize(stream[i]), cudaSuccess);
        assert_int_equal(cudaStreamDestroy(stream[i]), cudaSuccess);
    }
    plan_close(&plan);
    return bench_close(state);
}

static void put(cudaStream_t *in, uint64_t number)
{
    bool recorded = true;
    assert_int_equal(
        bench.lanes->host_wait_enqueue(plan.queue, (void *const *)in, number, &recorded), WEFT_OK);
    assert_false(recorded);
}

static uint64_t wait_reached(void)
{
    uint64_t number = 0;
    while (!bench.lanes->host_wait_reached(plan.queue, &number)) {
        sched_yield();
    }
    return number;
}

static void what_is_behind_a_gate_waits(void **state)
{
    weft_lanes_state_t now;
    uint64_t before = 0, behind = 0, number = 0;
    (void)state;
    assert_false(bench.lanes->host_wait_reached(plan.queue, &number));
    assert_int_equal(plan_start_in(&plan, &stream[0], &before), WEFT_OK);
    put(&stream[0], 17);
    assert_int_equal(plan_start_in(&plan, &stream[0], &behind), WEFT_OK);
    assert_int_equal(wait_reached(), 17);
    assert_int_equal(plan_finish(&plan, before), WEFT_OK);
    assert_int_equal(plan_look(&plan, behind, &now), WEFT_IN_PROGRESS);
    assert_int_equal(now.begun, 0);
    /* What the host does meanwhile is seen behind the gate: here it moves a message itself. */
    bench.lanes->endpoint_seek(plan.end, 2);
    plan.in[5] = 6;
    bench.lanes->host_wait_release(plan.queue);
    assert_int_equal(plan_finish(&plan, behind), WEFT_OK);
    assert_true(fifo_payload(fifo, 2)[5] == 6);
    assert_int_equal(bench.lanes->endpoint_next(plan.end), 3);
    assert_false(bench.lanes->host_wait_reached(plan.queue, &number));
}

/* The host runs a part of what a gate stands for on the device, in the queue's own stream. */
static void runs_of_the_host_start_while_a_stream_waits(void **state)
{
    (void)state;
    put(&stream[0], 1);
    assert_int_equal(wait_reached(), 1);
    assert_int_equal(plan_run(&plan), WEFT_OK);
    bench.lanes->host_wait_release(plan.queue);
}

static void gates_of_a_queue_are_reached_one_after_another(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 6; i++) {
        put(&stream[i % 2], i + 1);
    }
    for (uint64_t i = 0; i < 6; i++) {
        assert_int_equal(wait_reached(), i + 1);
        assert_int_equal(cudaStreamQuery(stream[1]), cudaErrorNotReady);
        bench.lanes->host_wait_release(plan.queue);
    }
}

static void a_broken_queue_holds_nothing_up(void **state)
{
    uint64_t run = 0;
    (void)state;
    put(&stream[0], 1);
    put(&stream[1], 2);
    assert_int_equal(wait_reached(), 1);
    bench.lanes->host_wait_cancel(plan.queue);
    put(&stream[1], 3);
    assert_int_equal(plan_start_in(&plan, &stream[1], &run), WEFT_OK);
    assert_int_equal(plan_finish(&plan, run), WEFT_OK);
}

static void a_queue_may_be_closed_before_streams_come_to_its_gates(void **state)
{
    weft_lanes_queue_t *first = NULL;
    uint64_t number = 0;
    bool recorded = false;
    (void)state;
    assert_int_equal(bench.lanes->queue_open(bench.kernel, &first), WEFT_OK);
    assert_int_equal(bench.lanes->host_wait_enqueue(first, (void *const *)&stream[0], 1, &recorded),
                     WEFT_OK);
    put(&stream[0], 2);
    bench.lanes->host_wait_cancel(plan.queue);
    bench.lanes->queue_close(plan.queue);
    plan.queue = NULL;
    while (!bench.lanes->host_wait_reached(first, &number)) {
        sched_yield();
    }
    bench.lanes->host_wait_release(first);
    assert_int_equal(cudaStreamSynchronize(stream[0]), cudaSuccess);
    bench.lanes->queue_close(first);
}

static void a_gate_that_cannot_be_put_is_an_error(void **state)
{
    bool recorded = false;
    (void)state;
    fake_cuda.fails = "cuda_launch_host_wait";
    fake_cuda.error = cudaErrorLaunchFailure;
    assert_int_equal(
        bench.lanes->host_wait_enqueue(plan.queue, (void *const *)&stream[0], 1, &recorded),
        WEFT_ERR_SYSTEM);
    bench_take_error();
    bench_says("making a stream wait for the host");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

/* The launch would wait for the host, which does its part behind the launch. */
static void a_launch_that_waits_for_its_kernel_is_refused(void **state)
{
    weft_kernel_t *first = bench.kernel;
    weft_lanes_queue_t *queue = NULL;
    bool recorded = false;
    (void)state;
    assert_int_equal(setenv("CUDA_LAUNCH_BLOCKING", "1", 1), 0);
    assert_int_equal(bench_create(NULL), WEFT_OK);
    assert_int_equal(unsetenv("CUDA_LAUNCH_BLOCKING"), 0);
    assert_int_equal(bench.lanes->queue_open(bench.kernel, &queue), WEFT_OK);
    assert_int_equal(bench.lanes->host_wait_enqueue(queue, (void *const *)&stream[0], 1, &recorded),
                     WEFT_ERR_UNSUPPORTED);
    bench_said("CUDA_LAUNCH_BLOCKING is set");
    bench.lanes->queue_close(queue);
    bench.ops->destroy(bench.kernel);
    bench.kernel = first;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_is_behind_a_gate_waits),
        CASE(runs_of_the_host_start_while_a_stream_waits),
        CASE(gates_of_a_queue_are_reached_one_after_another),
        CASE(a_broken_queue_holds_nothing_up),
        CASE(a_queue_may_be_closed_before_streams_come_to_its_gates),
        CASE(a_gate_that_cannot_be_put_is_an_error),
        CASE(a_launch_that_waits_for_its_kernel_is_refused),
    };
    return bench_main(tests);
}
