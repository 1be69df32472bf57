/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs and gates in streams that record: they come with every replay, and nothing that is done for
 * them spoils the recording. */
#include <sched.h>
#include <unistd.h>

#include "tests/cuda/bench.h"

static _Alignas(4096) uint8_t fifo[8 * 4096];
static plan_t plan;
static cudaStream_t stream[2];
static cudaGraph_t graph;
static cudaGraphExec_t replay;
static cudaEvent_t event;

static int open_all(void **state)
{
    bench_open(state);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking), cudaSuccess);
    }
    assert_int_equal(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    graph = NULL;
    replay = NULL;
    return 0;
}

static int close_all(void **state)
{
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cudaStreamSynchronize(stream[i]), cudaSuccess);
    }
    if (graph != NULL) {
        assert_int_equal(cudaGraphExecDestroy(replay), cudaSuccess);
        assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
    }
    plan_close(&plan);
    assert_int_equal(cudaEventDestroy(event), cudaSuccess);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cudaStreamDestroy(stream[i]), cudaSuccess);
    }
    return bench_close(state);
}

/* The strictest of all modes: this thread may do nothing that could disturb it. */
static void begin(void)
{
    assert_int_equal(cudaStreamBeginCapture(stream[0], cudaStreamCaptureModeGlobal), cudaSuccess);
}

static void end(void)
{
    assert_int_equal(cudaStreamEndCapture(stream[0], &graph), cudaSuccess);
    assert_int_equal(cudaGraphInstantiate(&replay, graph, 0), cudaSuccess);
}

static void record_run(cudaStream_t *in)
{
    uint64_t run = 7;
    assert_int_equal(plan_start_in(&plan, in, &run), WEFT_OK);
    assert_int_equal(run, 0);
}

static void do_all(void)
{
    assert_int_equal(cudaGraphLaunch(replay, stream[0]), cudaSuccess);
}

static void put_gate(void)
{
    bool recorded = false;
    assert_int_equal(
        bench.lanes->host_wait_enqueue(plan.queue, (void *const *)&stream[0], 1, &recorded),
        WEFT_OK);
}

static void pass_gate(void)
{
    uint64_t number = 0;
    while (!bench.lanes->host_wait_reached(plan.queue, &number)) {
        sched_yield();
    }
    assert_int_equal(number, 1);
    bench.lanes->host_wait_release(plan.queue);
}

static void a_recorded_run_comes_with_every_replay(void **state)
{
    weft_lanes_state_t now;
    bool records = false;
    (void)state;
    plan_open(&plan, PLAN_SENDS, fifo);
    begin();
    assert_int_equal(bench.lanes->is_capturing(plan.queue, (void *const *)&stream[0], &records),
                     WEFT_OK);
    assert_true(records);
    record_run(&stream[0]);
    end();
    assert_int_equal(bench.lanes->endpoint_next(plan.end), 0);
    assert_int_equal(plan_look(&plan, 0, &now), WEFT_OK);
    assert_int_equal(now.begun, 0);
    for (uint64_t n = 0; n < 10; n++) {
        plan.in[9] = (float)n;
        fifo_release(fifo, n);
        do_all();
        assert_int_equal(cudaStreamSynchronize(stream[0]), cudaSuccess);
        assert_int_equal(bench.lanes->endpoint_next(plan.end), n + 1);
        assert_true(fifo_payload(fifo, n)[9] == (float)n);
        assert_int_equal(plan_look(&plan, 0, &now), WEFT_OK);
    }
}

static void replays_and_other_runs_go_on_from_each_other(void **state)
{
    uint64_t run = 0;
    (void)state;
    plan_open(&plan, PLAN_SENDS, fifo);
    fifo_release(fifo, 100);
    assert_int_equal(plan_start_in(&plan, &stream[0], &run), WEFT_OK);
    begin();
    record_run(&stream[0]);
    record_run(&stream[0]);
    end();
    assert_int_equal(plan_finish(&plan, run), WEFT_OK);
    do_all();
    do_all();
    assert_int_equal(plan_start_in(&plan, &stream[0], &run), WEFT_OK);
    assert_int_equal(run, 2);
    do_all();
    assert_int_equal(plan_finish(&plan, run), WEFT_OK);
    assert_int_equal(cudaStreamSynchronize(stream[0]), cudaSuccess);
    assert_int_equal(bench.lanes->endpoint_next(plan.end), 8);
}

/* What is put into the second stream is part of the recording from here to the join. */
static void fork_second(void)
{
    assert_int_equal(cudaEventRecord(event, stream[0]), cudaSuccess);
    assert_int_equal(cudaStreamWaitEvent(stream[1], event, 0), cudaSuccess);
}

static void join_second(void)
{
    assert_int_equal(cudaEventRecord(event, stream[1]), cudaSuccess);
    assert_int_equal(cudaStreamWaitEvent(stream[0], event, 0), cudaSuccess);
}

/* Two streams of one recording keep the queue's order, as two streams do else. */
static void the_order_of_a_queue_is_recorded(void **state)
{
    (void)state;
    plan_open(&plan, PLAN_SENDS, fifo);
    begin();
    fork_second();
    record_run(&stream[1]);
    record_run(&stream[0]);
    record_run(&stream[1]);
    join_second();
    end();
    for (uint64_t n = 0; n < 10; n++) {
        fifo_release(fifo, 3 * n);
        do_all();
        assert_int_equal(cudaStreamSynchronize(stream[0]), cudaSuccess);
        assert_int_equal(bench.lanes->endpoint_next(plan.end), 3 * n + 3);
    }
}

static void a_run_waits_for_a_gate_in_another_recorded_stream(void **state)
{
    bool recorded = false;
    (void)state;
    plan_open(&plan, PLAN_SENDS, fifo);
    begin();
    fork_second();
    assert_int_equal(
        bench.lanes->host_wait_enqueue(plan.queue, (void *const *)&stream[1], 1, &recorded),
        WEFT_OK);
    record_run(&stream[0]);
    join_second();
    end();
    do_all();
    usleep(20000);
    assert_int_equal(bench.lanes->endpoint_next(plan.end), 0);
    pass_gate();
    assert_int_equal(cudaStreamSynchronize(stream[0]), cudaSuccess);
    assert_int_equal(bench.lanes->endpoint_next(plan.end), 1);
}

static void a_replay_that_waits_can_be_seen_and_stopped(void **state)
{
    weft_lanes_state_t now = {.blocked = -1};
    (void)state;
    plan_open(&plan, PLAN_SENDS, fifo);
    begin();
    record_run(&stream[0]);
    end();
    bench.lanes->endpoint_seek(plan.end, SLOTS);
    do_all();
    while (now.blocked < 0) {
        (void)plan_look(&plan, 0, &now);
        sched_yield();
    }
    assert_int_equal(plan_look(&plan, 0, &now), WEFT_IN_PROGRESS);
    assert_int_equal(now.begun, 1);
    bench.lanes->abort(plan.handle);
    assert_int_equal(plan_finish(&plan, 0), WEFT_ERR_ABORTED);
    /* A start clears it; then the recording is of use again. */
    bench.lanes->endpoint_seek(plan.end, 0);
    assert_int_equal(plan_run(&plan), WEFT_OK);
    do_all();
    assert_int_equal(cudaStreamSynchronize(stream[0]), cudaSuccess);
    assert_int_equal(bench.lanes->endpoint_next(plan.end), 2);
    assert_int_equal(plan_finish(&plan, 0), WEFT_OK);
}

static void a_replay_that_fails_stops_the_runs_behind_it(void **state)
{
    weft_lanes_state_t now;
    uint64_t run = 0;
    (void)state;
    plan_open(&plan, PLAN_RECEIVES, fifo);
    begin();
    record_run(&stream[0]);
    end();
    fifo_send(fifo, 0, 0);
    fifo_send(fifo, 1, 3);
    put_gate(); /* so that all of it waits */
    do_all();
    do_all();
    assert_int_equal(plan_start_in(&plan, &stream[0], &run), WEFT_OK);
    pass_gate();
    assert_int_equal(plan_finish(&plan, run), WEFT_ERR_ABORTED);
    assert_int_equal(plan_look(&plan, 0, &now), WEFT_ERR_MISMATCH);
    assert_int_equal(now.mismatch, 0);
    assert_int_equal(now.theirs[0], 3);
}

static void vectors_of_a_recorded_run_stay(void **state)
{
    uint64_t counts[1] = {100}, displs[1] = {10}, run = 0;
    (void)state;
    plan_open(&plan, PLAN_SENDS, fifo);
    fifo_release(fifo, 100);
    plan.call.nin = plan.call.nout = 1;
    plan.call.vectors = (weft_lanes_vectors_t){counts, displs, counts, displs};
    begin();
    record_run(&stream[0]);
    end();
    counts[0] = 1;
    displs[0] = 0;
    plan.in[10] = 4;
    plan.in[109] = 5;
    assert_int_equal(plan_start(&plan, &run), WEFT_OK);
    assert_int_equal(plan_finish(&plan, run), WEFT_OK);
    do_all();
    assert_int_equal(cudaStreamSynchronize(stream[0]), cudaSuccess);
    assert_true(fifo_payload(fifo, 1)[0] == 4);
    assert_true(fifo_payload(fifo, 1)[99] == 5);
}

static void a_invalidated_capture_is_told(void **state)
{
    uint64_t run = 0;
    bool records = false;
    (void)state;
    plan_open(&plan, PLAN_SENDS, fifo);
    begin();
    assert_int_not_equal(cudaStreamSynchronize(stream[0]), cudaSuccess);
    assert_int_equal(plan_start_in(&plan, &stream[0], &run), WEFT_ERR_STATE);
    bench_says("was invalidated by an earlier call");
    assert_int_equal(bench.lanes->is_capturing(plan.queue, (void *const *)&stream[0], &records),
                     WEFT_ERR_STATE);
    assert_int_equal(
        bench.lanes->host_wait_enqueue(plan.queue, (void *const *)&stream[0], 1, &records),
        WEFT_ERR_STATE);
    assert_int_equal(cudaStreamEndCapture(stream[0], &graph), cudaErrorStreamCaptureInvalidated);
    assert_null(graph);
    assert_int_equal(plan_start_in(&plan, &stream[0], &run), WEFT_OK);
    assert_int_equal(plan_finish(&plan, run), WEFT_OK);
}

/* Nothing may be asked of such a stream, not even its device; it is the launch that fails. */
static void a_stream_of_another_device_that_records_is_refused(void **state)
{
    cudaStream_t there;
    uint64_t run = 0;
    bool recorded = false;
    (void)state;
    plan_open(&plan, PLAN_SENDS, fifo);
    assert_int_equal(cudaSetDevice(1), cudaSuccess);
    assert_int_equal(cudaStreamCreateWithFlags(&there, cudaStreamNonBlocking), cudaSuccess);
    assert_int_equal(cudaStreamBeginCapture(there, cudaStreamCaptureModeGlobal), cudaSuccess);
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
    assert_int_equal(plan_start_in(&plan, &there, &run), WEFT_ERR_ARG);
    bench_says("the stream is not one of this device, or was destroyed; use a stream of CUDA "
               "device 0");
    assert_int_equal(
        bench.lanes->host_wait_enqueue(plan.queue, (void *const *)&there, 1, &recorded),
        WEFT_ERR_ARG);
    bench_says("the stream is not one of this device, or was destroyed; use a stream of CUDA "
               "device 0");
    assert_int_equal(cudaStreamEndCapture(there, &graph), cudaSuccess);
    assert_int_equal(cudaGraphInstantiate(&replay, graph, 0), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(there), cudaSuccess);
    /* What was refused is in no order. */
    fifo_release(fifo, 0);
    assert_int_equal(plan_start_in(&plan, &stream[0], &run), WEFT_OK);
    assert_int_equal(plan_finish(&plan, run), WEFT_OK);
    assert_int_equal(bench.lanes->endpoint_next(plan.end), 1);
}

static void a_recorded_gate_comes_with_every_replay(void **state)
{
    uint64_t number = 0;
    bool recorded = false;
    (void)state;
    plan_open(&plan, PLAN_SENDS, fifo);
    begin();
    assert_int_equal(
        bench.lanes->host_wait_enqueue(plan.queue, (void *const *)&stream[0], 9, &recorded),
        WEFT_OK);
    assert_true(recorded);
    record_run(&stream[0]);
    end();
    for (uint64_t n = 0; n < 3; n++) {
        do_all();
        while (!bench.lanes->host_wait_reached(plan.queue, &number)) {
            sched_yield();
        }
        assert_int_equal(number, 9);
        assert_int_equal(bench.lanes->endpoint_next(plan.end), n);
        bench.lanes->host_wait_release(plan.queue);
        assert_int_equal(cudaStreamSynchronize(stream[0]), cudaSuccess);
        assert_int_equal(bench.lanes->endpoint_next(plan.end), n + 1);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_recorded_run_comes_with_every_replay),
        CASE(replays_and_other_runs_go_on_from_each_other),
        CASE(the_order_of_a_queue_is_recorded),
        CASE(a_run_waits_for_a_gate_in_another_recorded_stream),
        CASE(a_replay_that_waits_can_be_seen_and_stopped),
        CASE(a_replay_that_fails_stops_the_runs_behind_it),
        CASE(vectors_of_a_recorded_run_stay),
        CASE(a_invalidated_capture_is_told),
        CASE(a_stream_of_another_device_that_records_is_refused),
        CASE(a_recorded_gate_comes_with_every_replay),
    };
    return bench_main(tests);
}
