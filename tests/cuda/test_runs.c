/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs of plans in streams: several of one plan that wait behind each other, order between streams
 * of one queue, several plans in one launch, and what becomes of the others when one fails. */
#include "tests/cuda/bench.h"

static _Alignas(4096) uint8_t fifos[2][8 * 4096];
static plan_t plan, other;
static cudaStream_t stream[2];

static void streams_open(void)
{
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking), cudaSuccess);
    }
}

static void streams_close(void)
{
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cudaStreamSynchronize(stream[i]), cudaSuccess);
        assert_int_equal(cudaStreamDestroy(stream[i]), cudaSuccess);
    }
}

/* Starts as many runs as there are slots, and one for which there is none. Returns its number. */
static uint64_t fill_and_block(cudaStream_t *in)
{
    uint64_t run = 0;
    for (uint64_t i = 1; i <= SLOTS + 1; i++) {
        assert_int_equal(plan_start_in(&plan, in, &run), WEFT_OK);
        assert_int_equal(run, i);
    }
    plan_wait_blocked(&plan, run);
    return run;
}

static void runs_of_one_plan_wait_in_a_stream(void **state)
{
    static float last[COUNT];
    weft_lanes_state_t now;
    uint64_t run = 0;
    (void)state;
    streams_open();
    plan_open(&plan, PLAN_SENDS, fifos[0]);
    uint64_t blocked = fill_and_block(&stream[0]);
    last[7] = 8;
    plan.call.in = last; /* of this run only */
    assert_int_equal(plan_start_in(&plan, &stream[0], &run), WEFT_OK);
    assert_int_equal(plan_finish(&plan, SLOTS), WEFT_OK);
    assert_int_equal(plan_look(&plan, run, &now), WEFT_IN_PROGRESS);
    assert_int_equal(now.begun, 0);
    plan.in[7] = 7;
    fifo_release(plan.fifo, 2);
    assert_int_equal(plan_finish(&plan, run), WEFT_OK);
    assert_int_equal(plan_finish(&plan, blocked), WEFT_OK);
    assert_int_equal(bench.lanes->endpoint_next(plan.end), SLOTS + 2);
    assert_true(fifo_payload(plan.fifo, SLOTS)[7] == 7);
    assert_true(fifo_payload(plan.fifo, SLOTS + 1)[7] == 8);
    plan_close(&plan);
    streams_close();
}

static void runs_of_a_queue_keep_their_order_in_two_streams(void **state)
{
    weft_lanes_state_t now;
    uint64_t run = 0;
    (void)state;
    streams_open();
    plan_open(&plan, PLAN_SENDS, fifos[0]);
    fill_and_block(&stream[0]);
    assert_int_equal(plan_start_in(&plan, &stream[1], &run), WEFT_OK);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(plan_look(&plan, run, &now), WEFT_IN_PROGRESS);
        assert_int_equal(now.begun, 0);
    }
    fifo_release(plan.fifo, 2);
    assert_int_equal(plan_finish(&plan, run), WEFT_OK);
    assert_int_equal(bench.lanes->endpoint_next(plan.end), SLOTS + 2);
    plan_close(&plan);
    streams_close();
}

static void queues_do_not_wait_for_each_other(void **state)
{
    uint64_t run = 0;
    (void)state;
    streams_open();
    plan_open(&plan, PLAN_SENDS, fifos[0]);
    plan_open(&other, PLAN_SENDS, fifos[1]);
    uint64_t blocked = fill_and_block(&stream[0]);
    assert_int_equal(plan_start_in(&other, &stream[1], &run), WEFT_OK);
    assert_int_equal(plan_finish(&other, run), WEFT_OK);
    /* A run in a stream of the queue's own waits for none of the others. */
    weft_lanes_job_t job = {.handle = other.handle, .call = &other.call};
    assert_int_equal(bench.lanes->start(plan.queue, NULL, &job, 1), WEFT_OK);
    assert_int_equal(plan_finish(&other, job.run), WEFT_OK);
    fifo_release(plan.fifo, 1);
    assert_int_equal(plan_finish(&plan, blocked), WEFT_OK);
    plan_close(&plan);
    plan_close(&other);
    streams_close();
}

static void a_failure_ends_the_runs_behind_it(void **state)
{
    weft_lanes_state_t now;
    uint64_t run[3];
    (void)state;
    plan_open(&plan, PLAN_RECEIVES, fifos[0]);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(plan_start(&plan, &run[i]), WEFT_OK);
    }
    fifo_send(plan.fifo, 0, 0);
    fifo_send(plan.fifo, 1, 5);
    fifo_send(plan.fifo, 2, 0);
    assert_int_equal(plan_finish(&plan, run[2]), WEFT_ERR_ABORTED);
    assert_int_equal(plan_finish(&plan, run[0]), WEFT_OK);
    assert_int_equal(plan_look(&plan, run[1], &now), WEFT_ERR_MISMATCH);
    assert_int_equal(now.mismatch, 0);
    assert_int_equal(now.theirs[0], 5);
    assert_int_equal(bench.lanes->endpoint_next(plan.end), 1);
    /* All have ended: it begins anew, and what became of them is known still. */
    fifo_send(plan.fifo, 1, 0);
    assert_int_equal(plan_run(&plan), WEFT_OK);
    assert_int_equal(plan_finish(&plan, run[0]), WEFT_OK);
    assert_int_equal(plan_finish(&plan, run[1]), WEFT_ERR_ABORTED);
    assert_int_equal(plan_run(&plan), WEFT_OK);
    assert_int_equal(bench.lanes->endpoint_next(plan.end), 3);
    plan_close(&plan);
}

static void an_abort_ends_the_runs_that_wait(void **state)
{
    uint64_t run = 0;
    (void)state;
    streams_open();
    plan_open(&plan, PLAN_SENDS, fifos[0]);
    uint64_t blocked = fill_and_block(&stream[0]);
    assert_int_equal(plan_start_in(&plan, &stream[0], &run), WEFT_OK);
    bench.lanes->abort(plan.handle);
    assert_int_equal(plan_finish(&plan, run), WEFT_ERR_ABORTED);
    assert_int_equal(plan_finish(&plan, blocked), WEFT_ERR_ABORTED);
    fifo_release(plan.fifo, SLOTS);
    assert_int_equal(plan_run(&plan), WEFT_OK);
    /* Release ends what waits. */
    bench.lanes->endpoint_seek(plan.end, 3 * SLOTS);
    assert_int_equal(plan_start_in(&plan, &stream[0], &run), WEFT_OK);
    assert_int_equal(plan_start_in(&plan, &stream[1], &run), WEFT_OK);
    plan_close(&plan);
    streams_close();
}

/* Several plans in one launch ------------------------------------------------------------------ */

/* Two lanes; lane l moves chunk l of IN to OUT and port l, or, crossed, chunk 1 − l and port 1 −
 * l. */
static const weft_lanes_code_t two_code[] = {{.opcode = WEFT_LANES_MOVE, .n = 0},
                                             {.opcode = WEFT_LANES_STOP},
                                             {.opcode = WEFT_LANES_MOVE, .n = 1},
                                             {.opcode = WEFT_LANES_STOP}};
static const uint32_t two_lane[] = {0, 2, 4}, one_lane[] = {0, 3};
static const weft_lanes_code_t one_code[] = {{.opcode = WEFT_LANES_MOVE, .n = 1},
                                             {.opcode = WEFT_LANES_MOVE, .n = 0},
                                             {.opcode = WEFT_LANES_STOP}};
#define CHUNK(l)                                                                                   \
    {.kind = WEFT_OPERAND_OUT, .index = (l), .chunks = 2},                                         \
        {.kind = WEFT_OPERAND_PORT, .index = (l)},                                                 \
    {                                                                                              \
        .kind = WEFT_OPERAND_IN, .index = (l), .chunks = 2                                         \
    }
static const weft_lanes_operand_t chunks[] = {CHUNK(0), CHUNK(1)};
static const weft_lanes_move_t straight[] = {{.operand = 0, .cnt = 1, .ndst = 2, .nsrc = 1},
                                             {.operand = 3, .cnt = 1, .ndst = 2, .nsrc = 1}};
static const weft_lanes_move_t crossed[] = {{.operand = 3, .cnt = 1, .ndst = 2, .nsrc = 1},
                                            {.operand = 0, .cnt = 1, .ndst = 2, .nsrc = 1}};

typedef struct batch {
    weft_lanes_queue_t *queue;
    weft_lanes_endpoint_t *end[2];
    weft_lanes_handle_t *handle[3];
    weft_lanes_call_t call[3];
    weft_lanes_job_t job[3];
    float data[4][2 * COUNT];
} batch_t;

static batch_t batch;

/* Three plans, each of which reads what the one before has written, in other lanes. */
static void batch_open(void)
{
    weft_lanes_program_t program = plan_sends;
    memset(&batch, 0, sizeof batch);
    program.noperands = 6;
    program.nports = program.nmoves = 2;
    program.operands = chunks;
    assert_int_equal(bench.lanes->queue_open(bench.kernel, &batch.queue), WEFT_OK);
    for (int i = 0; i < 2; i++) {
        const weft_lanes_port_t port = fifo_port(fifos[i], true);
        memset(fifos[i], 0, FIFO_BYTES);
        assert_int_equal(bench.lanes->endpoint_open(bench.kernel, &port, &batch.end[i]), WEFT_OK);
    }
    for (uint32_t i = 0; i < 3; i++) {
        program.nlanes = i < 2 ? 2 : 1;
        program.lane = i < 2 ? two_lane : one_lane;
        program.ncode = i < 2 ? 4 : 3;
        program.code = i < 2 ? two_code : one_code;
        program.moves = i == 1 ? crossed : straight;
        assert_int_equal(bench.lanes->prepare(bench.kernel, &program, &batch.handle[i]), WEFT_OK);
        batch.call[i] = (weft_lanes_call_t){.size = sizeof batch.call[i],
                                            .in = batch.data[i],
                                            .out = batch.data[i + 1],
                                            .segmentation = {.count = 2 * COUNT,
                                                             .slice = COUNT,
                                                             .chunk = COUNT,
                                                             .pass = 2 * COUNT,
                                                             .passes = 1,
                                                             .slices = 1,
                                                             .k = 2},
                                            .ends = batch.end};
        batch.job[i] = (weft_lanes_job_t){.handle = batch.handle[i], .call = &batch.call[i]};
    }
    for (uint32_t i = 0; i < 2 * COUNT; i++) {
        batch.data[0][i] = (float)i;
    }
}

static void batch_finish(void)
{
    for (uint32_t i = 0; i < 3; i++) {
        weft_lanes_state_t now = {.size = sizeof now};
        weft_status_t status = WEFT_IN_PROGRESS;
        while (status == WEFT_IN_PROGRESS) {
            status = bench.lanes->poll(batch.job[i].handle, batch.job[i].run, &now);
        }
        assert_int_equal(status, WEFT_OK);
    }
}

static void batch_close(void)
{
    for (uint32_t i = 0; i < 3; i++) {
        bench.lanes->release(batch.handle[i]);
    }
    bench.lanes->queue_close(batch.queue);
    bench.lanes->endpoint_close(batch.end[0]);
    bench.lanes->endpoint_close(batch.end[1]);
}

static void plans_of_one_launch_run_one_after_another(void **state)
{
    (void)state;
    streams_open();
    batch_open();
    for (uint64_t round = 1; round <= 20; round++) {
        const uint32_t launches = atomic_load(&fake_cuda.launches);
        memset(batch.data[1], 0, 3 * sizeof batch.data[1]);
        fifo_release(fifos[0], 3 * (round - 1));
        fifo_release(fifos[1], 3 * (round - 1));
        assert_int_equal(bench.lanes->start(batch.queue, (void *const *)&stream[0], batch.job, 3),
                         WEFT_OK);
        assert_int_equal(atomic_load(&fake_cuda.launches), launches + 1);
        batch_finish();
        assert_int_equal(batch.job[2].run, round);
        assert_memory_equal(batch.data[3], batch.data[0], sizeof batch.data[0]);
        for (uint32_t i = 0; i < 2; i++) {
            assert_int_equal(bench.lanes->endpoint_next(batch.end[i]), 3 * round);
            assert_memory_equal(fifo_payload(fifos[i], 3 * round - 1), batch.data[0] + i * COUNT,
                                COUNT * sizeof(float));
        }
    }
    batch_close();
    streams_close();
}

static void a_plan_may_come_twice_in_one_launch(void **state)
{
    (void)state;
    batch_open();
    batch.job[1].handle = batch.handle[0];
    assert_int_equal(bench.lanes->start(batch.queue, NULL, batch.job, 3), WEFT_OK);
    assert_int_equal(batch.job[0].run, 1);
    assert_int_equal(batch.job[1].run, 2);
    batch_finish();
    assert_memory_equal(batch.data[3], batch.data[0], sizeof batch.data[0]);
    batch_close();
}

static uint32_t remote_launches(void)
{
    const uint32_t before = atomic_load(&fake_cuda.remote);
    batch_open();
    assert_int_equal(bench.lanes->start(batch.queue, NULL, batch.job, 3), WEFT_OK);
    batch_finish();
    batch_close();
    return atomic_load(&fake_cuda.remote) - before;
}

static void plans_have_a_domain_of_fences_where_the_device_has_several(void **state)
{
    assert_int_equal(remote_launches(), 1);
    bench_close(state);
    fake_cuda.no_domains = true;
    bench_open(state);
    fake_cuda.no_domains = false;
    assert_int_equal(remote_launches(), 0);
}

static void all_plans_of_a_launch_start_or_none(void **state)
{
    (void)state;
    batch_open();
    batch.call[2].segmentation.slice = 2 * COUNT;
    assert_int_equal(bench.lanes->start(batch.queue, NULL, batch.job, 3), WEFT_ERR_ARG);
    bench_take_error();
    bench_says("slices have 8000 bytes, the slots of a port 4096");
    batch.call[2].segmentation.slice = COUNT;
    fake_cuda.fails = "cuda_launch_lanes";
    fake_cuda.error = cudaErrorLaunchFailure;
    assert_int_equal(bench.lanes->start(batch.queue, NULL, batch.job, 3), WEFT_ERR_SYSTEM);
    assert_int_equal(bench.lanes->endpoint_next(batch.end[0]), 0);
    assert_int_equal(bench.lanes->start(batch.queue, NULL, batch.job, 3), WEFT_OK);
    assert_int_equal(batch.job[0].run, 1);
    batch_finish();
    batch_close();
}

/* A run that copies its input first reads what the run before it has written. */
static void an_input_is_staged_when_its_run_begins(void **state)
{
    static float staging[2 * COUNT];
    (void)state;
    batch_open();
    batch.call[2].in = batch.data[2];
    batch.call[2].out = batch.data[2];
    batch.call[2].staging = staging;
    batch.call[2].staging_bytes = sizeof staging;
    assert_int_equal(bench.lanes->start(batch.queue, NULL, batch.job, 3), WEFT_ERR_UNSUPPORTED);
    bench_take_error();
    bench_says("is pageable host memory, which a stream cannot copy");
    bench_place(0, batch.data, sizeof batch.data, cudaMemoryTypeDevice, 0);
    bench_place(1, staging, sizeof staging, cudaMemoryTypeDevice, 0);
    assert_int_equal(bench.lanes->start(batch.queue, NULL, batch.job, 3), WEFT_OK);
    batch_finish();
    assert_memory_equal(staging, batch.data[0], sizeof staging);
    assert_memory_equal(batch.data[2], batch.data[0], sizeof staging);
    batch_close();
}

/* What belongs to one run ---------------------------------------------------------------------- */

static void runs_that_wait_have_vectors_of_their_own(void **state)
{
    uint64_t counts[1], displs[1], run[2];
    (void)state;
    plan_open(&plan, PLAN_SENDS, fifos[0]);
    uint64_t blocked = fill_and_block(NULL);
    plan.call.nin = plan.call.nout = 1;
    plan.call.vectors = (weft_lanes_vectors_t){counts, displs, counts, displs};
    for (uint64_t i = 0; i < 2; i++) {
        counts[0] = 100 + i;
        displs[0] = 200 * i;
        assert_int_equal(plan_start(&plan, &run[i]), WEFT_OK);
    }
    counts[0] = displs[0] = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        plan.in[i] = (float)(i + 1);
    }
    memset(plan.out, 0, sizeof plan.out);
    fifo_release(plan.fifo, SLOTS - 1);
    assert_int_equal(plan_finish(&plan, run[1]), WEFT_OK);
    assert_int_equal(plan_finish(&plan, blocked), WEFT_OK);
    assert_true(fifo_payload(plan.fifo, SLOTS + 1)[99] == 100);
    assert_true(fifo_payload(plan.fifo, SLOTS + 2)[0] == 201);
    assert_true(fifo_payload(plan.fifo, SLOTS + 2)[100] == 301);
    plan_close(&plan);
}

static void a_factor_is_read_when_its_run_begins(void **state)
{
    weft_lanes_program_t program = plan_sends;
    float two = 2, factor = 0;
    uint64_t run = 0;
    (void)state;
    plan_open(&plan, PLAN_SENDS, fifos[0]);
    bench.lanes->release(plan.handle);
    program.op = WEFT_PREMULSUM;
    program.pre = 1;
    assert_int_equal(bench.lanes->prepare(bench.kernel, &program, &plan.handle), WEFT_OK);
    plan.in[3] = 5;
    plan.call.scalar_at = &two;
    fill_and_block(NULL);
    plan.call.scalar_at = &factor;
    assert_int_equal(plan_start(&plan, &run), WEFT_OK);
    factor = 3;
    fifo_release(plan.fifo, 2);
    assert_int_equal(plan_finish(&plan, run), WEFT_OK);
    assert_true(fifo_payload(plan.fifo, SLOTS)[3] == 10);
    assert_true(fifo_payload(plan.fifo, SLOTS + 1)[3] == 15);
    plan_close(&plan);
}

static void scratch_that_waiting_runs_use_stays(void **state)
{
    uint64_t run[2];
    (void)state;
    plan_open(&plan, PLAN_SENDS, fifos[0]);
    const int before = atomic_load(&fake_cuda.allocated);
    fill_and_block(NULL);
    const int small = atomic_load(&fake_cuda.allocated);
    assert_int_equal(plan_start(&plan, &run[0]), WEFT_OK);
    plan.call.segmentation.chunk = 2 * COUNT;
    assert_int_equal(plan_start(&plan, &run[1]), WEFT_OK);
    assert_int_equal(atomic_load(&fake_cuda.allocated), small + 1);
    fifo_release(plan.fifo, SLOTS);
    assert_int_equal(plan_finish(&plan, run[1]), WEFT_OK);
    assert_int_equal(atomic_load(&fake_cuda.allocated), small);
    assert_true(small > before);
    plan_close(&plan);
}

/* Streams -------------------------------------------------------------------------------------- */

static void streams_that_cannot_be_used_are_refused(void **state)
{
    cudaStream_t theirs = NULL, thread = cudaStreamPerThread, legacy = NULL;
    uint64_t run = 0;
    bool records = true;
    (void)state;
    plan_open(&plan, PLAN_SENDS, fifos[0]);
    assert_int_equal(cudaSetDevice(1), cudaSuccess);
    assert_int_equal(cudaStreamCreateWithFlags(&theirs, cudaStreamNonBlocking), cudaSuccess);
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
    assert_int_equal(plan_start_in(&plan, &theirs, &run), WEFT_ERR_ARG);
    bench_says("the stream is one of CUDA device 1, this rank uses device 0");
    assert_int_equal(bench.lanes->is_capturing(plan.queue, (void *const *)&theirs, &records),
                     WEFT_ERR_ARG);
    assert_int_equal(plan_start_in(&plan, &thread, &run), WEFT_ERR_ARG);
    bench_says("another stream in every thread");
    assert_int_equal(cudaStreamDestroy(theirs), cudaSuccess);
    assert_int_equal(plan_start_in(&plan, &theirs, &run), WEFT_ERR_ARG);
    bench_says("was destroyed");
    assert_int_equal(plan_start_in(&plan, &legacy, &run), WEFT_OK);
    assert_int_equal(plan_finish(&plan, run), WEFT_OK);
    assert_int_equal(bench.lanes->is_capturing(plan.queue, (void *const *)&legacy, &records),
                     WEFT_OK);
    assert_false(records);
    plan_close(&plan);
}

static void another_device_may_be_current(void **state)
{
    uint64_t run = 0;
    (void)state;
    streams_open();
    plan_open(&plan, PLAN_SENDS, fifos[0]);
    assert_int_equal(cudaSetDevice(1), cudaSuccess);
    assert_int_equal(plan_start_in(&plan, &stream[0], &run), WEFT_OK);
    assert_int_equal(plan_finish(&plan, run), WEFT_OK);
    plan_close(&plan);
    assert_int_equal(bench_device(), 1);
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
    streams_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH(runs_of_one_plan_wait_in_a_stream),
        BENCH(runs_of_a_queue_keep_their_order_in_two_streams),
        BENCH(queues_do_not_wait_for_each_other),
        BENCH(a_failure_ends_the_runs_behind_it),
        BENCH(an_abort_ends_the_runs_that_wait),
        BENCH(plans_of_one_launch_run_one_after_another),
        BENCH(a_plan_may_come_twice_in_one_launch),
        BENCH(all_plans_of_a_launch_start_or_none),
        BENCH(plans_have_a_domain_of_fences_where_the_device_has_several),
        BENCH(an_input_is_staged_when_its_run_begins),
        BENCH(runs_that_wait_have_vectors_of_their_own),
        BENCH(a_factor_is_read_when_its_run_begins),
        BENCH(scratch_that_waiting_runs_use_stays),
        BENCH(streams_that_cannot_be_used_are_refused),
        BENCH(another_device_may_be_current),
    };
    return bench_main(tests);
}
