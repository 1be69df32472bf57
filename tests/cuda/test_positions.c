/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The number of an end's next slice stays on the device from run to run. It is read from the host's
 * memory when the host has set the number of an end since, and the right slice is used in whatever
 * order host, runs of several programs and graphs have the end. */
#include <sched.h>

#include "tests/cuda/bench.h"

static _Alignas(4096) uint8_t fifo[8 * 4096], other_fifo[8 * 4096];
static plan_t plan, other;

static int open_all(void **state)
{
    bench_open(state);
    plan_open(&plan, PLAN_SENDS, fifo);
    fifo_release(fifo, 1000);
    atomic_store(&fake_cuda.seeks, 0);
    fake_cuda.counts = true;
    return 0;
}

static int close_all(void **state)
{
    fake_cuda.counts = false;
    plan_close(&plan);
    return bench_close(state);
}

/* How many numbers were read from the host since the last call. */
static uint32_t reads(void)
{
    return atomic_exchange(&fake_cuda.seeks, 0);
}

/* A program that sends has sent slice n, no other. */
static void check_sent(const plan_t *sender, uint64_t n)
{
    uint64_t sequence;
    memcpy(&sequence, fifo + WEFT_FIFO_HEADERS + n % SLOTS * WEFT_FIFO_HEADER_BYTES,
           sizeof sequence);
    assert_int_equal(sequence, n + 1);
    assert_memory_equal(fifo_payload(fifo, n), sender->in, sizeof sender->in);
}

static void run_sends(plan_t *sender, uint64_t n)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        sender->in[i] = (float)(n * 7 + i);
    }
    assert_int_equal(plan_run(sender), WEFT_OK);
    check_sent(sender, n);
    assert_int_equal(bench.lanes->endpoint_next(plan.end), n + 1);
}

/* As if the host had moved slices below n itself. */
static void host_moves(uint64_t n)
{
    bench.lanes->endpoint_seek(plan.end, n);
}

/* Another program with the same ends. */
static void open_other(void)
{
    const weft_lanes_port_t port = fifo_port(other_fifo, true);
    memset(other_fifo, 0, FIFO_BYTES);
    plan_open_at(&other, PLAN_SENDS, &port);
    bench.lanes->endpoint_close(other.end);
    other.end = plan.end;
}

static void close_other(void)
{
    other.end = NULL;
    plan_close(&other);
}

static void only_the_run_behind_a_host_reads_its_number(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 5; n++) {
        run_sends(&plan, n);
    }
    assert_int_equal(reads(), 0);
    host_moves(7);
    run_sends(&plan, 7);
    assert_int_equal(reads(), 1);
    for (uint64_t n = 8; n < 12; n++) {
        run_sends(&plan, n);
    }
    assert_int_equal(reads(), 0);
    /* It has the end and moves nothing, or moves twice between two runs. */
    host_moves(12);
    run_sends(&plan, 12);
    assert_int_equal(reads(), 0);
    host_moves(20);
    host_moves(13);
    run_sends(&plan, 13);
    assert_int_equal(reads(), 1);
}

/* It is not known whose number was set: each end has one read. */
static void numbers_of_other_ends_cost_a_read(void **state)
{
    (void)state;
    run_sends(&plan, 0);
    plan_open(&other, PLAN_SENDS, other_fifo);
    bench.lanes->endpoint_seek(other.end, 3);
    run_sends(&plan, 1);
    assert_int_equal(reads(), 1);
    assert_int_equal(plan_run(&other), WEFT_OK);
    assert_int_equal(reads(), 1);
    assert_int_equal(bench.lanes->endpoint_next(other.end), 4);
    run_sends(&plan, 2);
    assert_int_equal(reads(), 0);
    plan_close(&other);
}

static void programs_leave_numbers_to_each_other(void **state)
{
    uint64_t n = 0;
    (void)state;
    run_sends(&plan, n++);
    host_moves(n = 3);
    run_sends(&plan, n++);
    assert_int_equal(reads(), 1);
    open_other(); /* later than the seek */
    run_sends(&other, n++);
    run_sends(&other, n++);
    run_sends(&plan, n++);
    run_sends(&other, n++);
    assert_int_equal(reads(), 0);
    host_moves(n = 100);
    run_sends(&other, n++);
    assert_int_equal(reads(), 1);
    run_sends(&plan, n++);
    run_sends(&other, n++);
    assert_int_equal(reads(), 0);
    close_other();
    host_moves(n = 200);
    run_sends(&plan, n++);
    assert_int_equal(reads(), 1);
}

/* Runs of one launch have no host between them. */
static void runs_of_a_launch_leave_numbers_to_each_other(void **state)
{
    weft_lanes_job_t jobs[3];
    (void)state;
    open_other();
    host_moves(5);
    for (uint32_t i = 0; i < 3; i++) {
        plan_t *p = i == 1 ? &other : &plan;
        jobs[i] = (weft_lanes_job_t){.handle = p->handle, .call = &p->call};
    }
    assert_int_equal(bench.lanes->start(plan.queue, NULL, jobs, 3), WEFT_OK);
    assert_int_equal(plan_finish(&plan, jobs[2].run), WEFT_OK);
    check_sent(&plan, 7);
    assert_int_equal(reads(), 1);
    close_other();
}

/* Starts a run behind a host wait, and returns its number when the stream stands there. */
static uint64_t start_behind_host_wait(cudaStream_t *stream)
{
    uint64_t run = 0, number = 0;
    bool captured = false;
    void *const *in = (void *const *)stream;
    assert_int_equal(bench.lanes->host_wait_enqueue(plan.queue, in, 1, &captured), WEFT_OK);
    assert_int_equal(plan_start_in(&plan, stream, &run), WEFT_OK);
    while (!bench.lanes->host_wait_reached(plan.queue, &number)) {
        sched_yield();
    }
    return run;
}

/* What was known when it was launched is of no use to a run that waits in its stream meanwhile. */
static void a_run_that_waits_sees_what_the_host_moves_meanwhile(void **state)
{
    cudaStream_t stream;
    (void)state;
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    run_sends(&plan, 0);
    uint64_t run = start_behind_host_wait(&stream);
    host_moves(9);
    bench.lanes->host_wait_release(plan.queue);
    assert_int_equal(plan_finish(&plan, run), WEFT_OK);
    check_sent(&plan, 9);
    assert_int_equal(reads(), 1);
    /* One that is told to stop before it begins moves nothing. */
    run = start_behind_host_wait(&stream);
    host_moves(20);
    bench.lanes->abort(plan.handle);
    bench.lanes->host_wait_release(plan.queue);
    assert_int_equal(plan_finish(&plan, run), WEFT_ERR_ABORTED);
    check_sent(&plan, 9);
    assert_int_equal(reads(), 1);
    run_sends(&plan, 20);
    assert_int_equal(reads(), 0);
    assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
}

static void graphs_and_other_runs_leave_numbers_to_each_other(void **state)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    uint64_t run = 0, n = 0;
    (void)state;
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    run_sends(&plan, n++);
    assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    assert_int_equal(plan_start_in(&plan, &stream, &run), WEFT_OK);
    assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    assert_int_equal(cudaGraphInstantiate(&replay, graph, 0), cudaSuccess);
    open_other();
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(cudaGraphLaunch(replay, stream), cudaSuccess);
            assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
            check_sent(&plan, n++);
            run_sends(i == 1 ? &plan : &other, n++);
            /* The host may come before a replay or before another run. */
            assert_int_equal(reads(), i == 1 && round == 1 ? 1 : 0);
            if (i == 0 && round == 1) {
                host_moves(n += 5);
            }
        }
    }
    host_moves(n += 3);
    assert_int_equal(cudaGraphLaunch(replay, stream), cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
    check_sent(&plan, n++);
    assert_int_equal(reads(), 1);
    host_moves(n += 3);
    run_sends(&other, n++);
    assert_int_equal(reads(), 1);
    close_other();
    assert_int_equal(cudaGraphExecDestroy(replay), cudaSuccess);
    assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
}

static void numbers_are_right_after_a_failure(void **state)
{
    uint64_t run = 0;
    (void)state;
    run_sends(&plan, 0);
    /* A run that waits for room is stopped where it is. */
    fifo_release(fifo, 0);
    host_moves(SLOTS);
    bench.lanes->release(plan.handle); /* what it knows of the room is new with it */
    assert_int_equal(bench.lanes->prepare(bench.kernel, &plan_sends, &plan.handle), WEFT_OK);
    assert_int_equal(plan_start(&plan, &run), WEFT_OK);
    plan_wait_blocked(&plan, run);
    bench.lanes->abort(plan.handle);
    assert_int_equal(plan_finish(&plan, run), WEFT_ERR_ABORTED);
    assert_int_equal(bench.lanes->endpoint_next(plan.end), SLOTS);
    assert_int_equal(reads(), 1);
    fifo_release(fifo, 1000);
    run_sends(&plan, SLOTS);
    assert_int_equal(reads(), 0);
    /* The host may set it back. */
    host_moves(0);
    run_sends(&plan, 0);
    run_sends(&plan, 1);
    assert_int_equal(reads(), 1);
}

/* A slice of another call stays where it is, and is found there again. */
static void a_mismatch_leaves_the_number(void **state)
{
    static plan_t receiver;
    (void)state;
    plan_open(&receiver, PLAN_RECEIVES, other_fifo);
    fifo_send(other_fifo, 0, 0);
    assert_int_equal(plan_run(&receiver), WEFT_OK);
    fifo_send(other_fifo, 1, 3);
    assert_int_equal(plan_run(&receiver), WEFT_ERR_MISMATCH);
    assert_int_equal(bench.lanes->endpoint_next(receiver.end), 1);
    fifo_send(other_fifo, 1, 0);
    fifo_payload(other_fifo, 1)[7] = 70;
    assert_int_equal(plan_run(&receiver), WEFT_OK);
    assert_true(receiver.out[7] == 70);
    assert_int_equal(bench.lanes->endpoint_next(receiver.end), 2);
    assert_int_equal(reads(), 0);
    plan_close(&receiver);
}

/* The memory of an end may come back with the next one. */
static void an_end_that_is_opened_again_begins_anew(void **state)
{
    const weft_lanes_port_t port = fifo_port(fifo, true);
    (void)state;
    run_sends(&plan, 0);
    run_sends(&plan, 1);
    for (uint64_t n = 0; n < 6; n += 3) {
        bench.lanes->endpoint_close(plan.end);
        assert_int_equal(bench.lanes->endpoint_open(bench.kernel, &port, &plan.end), WEFT_OK);
        host_moves(n);
        run_sends(&plan, n);
        run_sends(&plan, n + 1);
        assert_int_equal(reads(), n > 0 ? 1 : 0);
    }
    /* So does one that is never set, after others were. */
    bench.lanes->endpoint_close(plan.end);
    assert_int_equal(bench.lanes->endpoint_open(bench.kernel, &port, &plan.end), WEFT_OK);
    run_sends(&plan, 0);
    run_sends(&plan, 1);
    assert_int_equal(reads(), 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(only_the_run_behind_a_host_reads_its_number),
        CASE(numbers_of_other_ends_cost_a_read),
        CASE(programs_leave_numbers_to_each_other),
        CASE(runs_of_a_launch_leave_numbers_to_each_other),
        CASE(a_run_that_waits_sees_what_the_host_moves_meanwhile),
        CASE(graphs_and_other_runs_leave_numbers_to_each_other),
        CASE(numbers_are_right_after_a_failure),
        CASE(a_mismatch_leaves_the_number),
        CASE(an_end_that_is_opened_again_begins_anew),
    };
    return bench_main(tests);
}
