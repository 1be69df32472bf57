/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gates: streams that wait for the host. */
#include <sched.h>
#include <stdlib.h>

#include <weft/plugin/memory.h>

#include "tests/cuda/bench.h"

/* Hardware queues at most: each has one of so many streams, and so has any other stream of that
 * priority. */
enum { ALL = 32 };

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

static void make_all_wait(cudaStream_t *all, int priority)
{
    for (uint64_t i = 0; i < ALL; i++) {
        assert_int_equal(cudaStreamCreateWithPriority(&all[i], cudaStreamNonBlocking, priority),
                         cudaSuccess);
        put(&all[i], i + 1);
    }
    assert_int_equal(wait_reached(), 1);
}

static void release_all(cudaStream_t *all)
{
    bench.lanes->host_wait_cancel(plan.queue);
    for (int i = 0; i < ALL; i++) {
        assert_int_equal(cudaStreamSynchronize(all[i]), cudaSuccess);
        assert_int_equal(cudaStreamDestroy(all[i]), cudaSuccess);
    }
}

/* What a host wait is for may be to copy and to add on the device. */
static void the_host_works_on_the_device_while_streams_wait(void **state)
{
    const weft_kernel_memory_t *memory = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_MEMORY);
    cudaStream_t all[ALL];
    weft_combine_fn_t sum = NULL;
    float in[4] = {1, 2, 3, 4}, out[4] = {0};
    void *at = NULL;
    (void)state;
    assert_int_equal(bench.ops->select(bench.kernel, WEFT_FP32, WEFT_SUM, &sum), WEFT_OK);
    make_all_wait(all, 0);
    assert_int_equal(memory->alloc(bench.kernel, sizeof in, &at), WEFT_OK);
    assert_int_equal(memory->copy(bench.kernel, at, in, sizeof in), WEFT_OK);
    weft_combine_t twice = {.src = {at, at}, .dst = {at}, .count = 4, .nsrc = 2, .ndst = 1};
    sum(&twice);
    assert_int_equal(memory->copy(bench.kernel, out, at, sizeof out), WEFT_OK);
    assert_true(out[0] == 2 && out[3] == 8);
    memory->free(bench.kernel, at);
    release_all(all);
}

/* How many streams the device gets with a queue. */
static int queue_streams(weft_lanes_queue_t **queue_p)
{
    const int before = atomic_load(&fake_cuda.streams);
    assert_int_equal(bench.lanes->queue_open(bench.kernel, queue_p), WEFT_OK);
    return atomic_load(&fake_cuda.streams) - before;
}

static void each_device_has_a_stream_for_the_host_before_a_stream_waits(void **state)
{
    weft_kernel_t *first = bench.kernel;
    weft_lanes_queue_t *queue[3];
    (void)state;
    assert_int_equal(bench_create("device=1"), WEFT_OK);
    weft_kernel_t *second = bench.kernel;
    bench.kernel = first;
    assert_int_equal(queue_streams(&queue[0]), 1); /* the plan's queue has made one */
    bench.kernel = second;
    assert_int_equal(queue_streams(&queue[1]), 4); /* one for the pool, and two for the host */
    assert_int_equal(queue_streams(&queue[2]), 1);
    bench.lanes->queue_close(queue[2]);
    bench.lanes->queue_close(queue[1]);
    const int before = atomic_load(&fake_cuda.streams);
    bench.ops->destroy(second);
    assert_int_equal(atomic_load(&fake_cuda.streams), before - 3);
    bench.kernel = first;
    bench.lanes->queue_close(queue[0]);
}

/* Each look at the clock takes two seconds. */
static uint64_t slow_clock(const weft_host_t *host)
{
    static uint64_t now;
    (void)host;
    return now += UINT64_C(2000000000);
}

/* A driver with no hardware queue to spare makes no stream beside one that waits: what is late is
 * waited for. */
static void what_is_behind_a_stream_that_waits_has_a_deadline(void **state)
{
    weft_combine_fn_t sum = NULL;
    const weft_kernel_memory_t *memory = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_MEMORY);
    cudaStream_t all[ALL];
    weft_kernel_t *first = bench.kernel;
    weft_lanes_queue_t *queue = NULL;
    weft_lanes_handle_t *handle = NULL;
    void *at = NULL, *other = NULL, *both = NULL;
    int least, greatest;
    (void)state;
    assert_int_equal(bench.ops->select(bench.kernel, WEFT_FP32, WEFT_SUM, &sum), WEFT_OK);
    assert_int_equal(memory->alloc(bench.kernel, 64, &at), WEFT_OK);
    assert_int_equal(memory->alloc(bench.kernel, 64, &other), WEFT_OK);
    assert_int_equal(memory->alloc(bench.kernel, 64, &both), WEFT_OK);
    assert_int_equal(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
    assert_int_equal(bench_create("device=0"), WEFT_OK);
    weft_kernel_t *second = bench.kernel;
    assert_int_equal(bench.lanes->queue_open(second, &queue), WEFT_OK);
    bench.kernel = first;
    make_all_wait(all, greatest);
    const int streams = fake_cuda.strict.streams = atomic_load(&fake_cuda.streams);
    uint64_t (*clock)(const weft_host_t *) = bench.fake.host.clock_ns;
    bench.fake.host.clock_ns = slow_clock;
    assert_int_equal(memory->copy(bench.kernel, other, at, 64), WEFT_ERR_TIMEOUT);
    bench_said("copying memory on CUDA device 0 is not done after 10 s: a kernel that waits may be "
               "in front of it in its hardware queue (set CUDA_DEVICE_MAX_CONNECTIONS=32");
    bench.fake.host.clock_ns = clock;
    weft_combine_t twice = {.src = {at, at}, .dst = {both}, .count = 4, .nsrc = 2, .ndst = 1};
    sum(&twice); /* by the clock of the machine: it takes ten seconds */
    assert_int_equal(bench.ops->combine_status(bench.kernel), WEFT_ERR_TIMEOUT);
    bench_said("combining on CUDA device 0 is not done after 10 s");
    bench.fake.host.clock_ns = slow_clock;
    assert_int_equal(memory->copy(bench.kernel, other, at, 64),
                     WEFT_ERR_TIMEOUT); /* all are late */
    bench_said("copying memory on CUDA device 0 is not done after 10 s");
    assert_int_equal(bench.lanes->prepare(bench.kernel, &plan_sends, &handle), WEFT_ERR_TIMEOUT);
    bench_said("clearing device memory on CUDA device 0 is not done after 10 s");
    assert_int_equal(atomic_load(&fake_cuda.streams), streams);
    bench.lanes->queue_close(queue);
    bench.ops->destroy(second);
    bench.fake.host.clock_ns = clock;
    release_all(all);
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess); /* what was late is done now */
    assert_int_equal(memory->copy(bench.kernel, other, at, 64), WEFT_OK);
    sum(&twice);
    assert_int_equal(bench.ops->combine_status(bench.kernel), WEFT_OK);
    memory->free(bench.kernel, at);
    memory->free(bench.kernel, other);
    memory->free(bench.kernel, both);
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
        CASE(the_host_works_on_the_device_while_streams_wait),
        CASE(each_device_has_a_stream_for_the_host_before_a_stream_waits),
        CASE(what_is_behind_a_stream_that_waits_has_a_deadline),
        CASE(a_gate_that_cannot_be_put_is_an_error),
        CASE(a_launch_that_waits_for_its_kernel_is_refused),
    };
    return bench_main(tests);
}
