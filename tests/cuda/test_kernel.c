/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What kernel-cuda does on the host: which pages are registered, and that no failure of the runtime
 * leaves anything behind. */
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/cuda/bench.h"

static _Alignas(4096) uint8_t fifo[16 * 4096];
static plan_t plan;

/* Plans ---------------------------------------------------------------------------------------- */

static void a_plan_runs_and_leaves_its_message_in_the_slot(void **state)
{
    (void)state;
    plan_open(&plan, PLAN_SENDS, fifo + 512);
    plan.in[999] = 7;
    for (uint64_t run = 1; run <= SLOTS; run++) {
        plan.out[999] = 0;
        assert_int_equal(plan_run(&plan), WEFT_OK);
        assert_int_equal(bench.lanes->endpoint_next(plan.end), run);
        assert_true(plan.out[999] == 7);
        assert_memory_equal(fifo + 512 + HEADS_BYTES + (run - 1) * SLOT_BYTES, plan.in,
                            sizeof plan.in);
    }
    /* The FIFO is registered once, however often it is used. */
    assert_int_equal(atomic_load(&fake_cuda.registered), 1);
    plan_close(&plan);
    assert_int_equal(atomic_load(&fake_cuda.registered), 0);
}

static void a_run_that_waits_for_ever_ends_when_it_is_told_to(void **state)
{
    uint64_t run = 0;
    weft_lanes_state_t now;
    (void)state;
    plan_open(&plan, PLAN_SENDS, fifo + 512);
    bench.lanes->endpoint_seek(plan.end, SLOTS); /* all slots are full */
    assert_int_equal(plan_start(&plan, &run), WEFT_OK);
    assert_int_equal(plan_look(&plan, run, &now), WEFT_IN_PROGRESS);
    bench.lanes->abort(plan.handle);
    assert_int_equal(plan_finish(&plan, run), WEFT_ERR_ABORTED);
    bench.lanes->endpoint_seek(plan.end, 0);
    assert_int_equal(plan_run(&plan), WEFT_OK);
    /* What became of a run is known when others have followed it. */
    assert_int_equal(plan_finish(&plan, run), WEFT_ERR_ABORTED);
    /* Release ends what is under way. */
    bench.lanes->endpoint_seek(plan.end, SLOTS + 1);
    assert_int_equal(plan_start(&plan, &run), WEFT_OK);
    plan_close(&plan);
}

static void an_abort_without_a_run_stops_nothing(void **state)
{
    (void)state;
    plan_open(&plan, PLAN_SENDS, fifo + 512);
    bench.lanes->abort(plan.handle);
    assert_int_equal(plan_run(&plan), WEFT_OK);
    bench.lanes->abort(plan.handle);
    assert_int_equal(plan_run(&plan), WEFT_OK);
    plan_close(&plan);
}

static void a_run_tells_whether_it_has_begun(void **state)
{
    uint64_t run = 0;
    weft_lanes_state_t now;
    (void)state;
    plan_open(&plan, PLAN_SENDS, fifo + 512);
    fake_cuda.swallow = true;
    assert_int_equal(plan_start(&plan, &run), WEFT_OK);
    assert_int_equal(plan_look(&plan, run, &now), WEFT_IN_PROGRESS);
    assert_int_equal(now.begun, 0);
    assert_int_equal(plan_finish(&plan, run), WEFT_ERR_SYSTEM);
    fake_cuda.swallow = false;
    assert_int_equal(plan_start(&plan, &run), WEFT_OK);
    assert_int_equal(plan_finish(&plan, run), WEFT_OK);
    assert_int_equal(plan_look(&plan, run, &now), WEFT_OK);
    assert_int_equal(now.begun, 1);
    assert_int_equal(now.moved, 1);
    assert_int_equal(plan_look(&plan, run + 1, &now), WEFT_ERR_STATE);
    plan_close(&plan);
}

static void a_lane_that_waits_has_told_its_progress(void **state)
{
    uint64_t run = 0;
    weft_lanes_state_t now;
    (void)state;
    plan_open(&plan, PLAN_SENDS, fifo + 512);
    plan.call.segmentation.passes = SLOTS + 2;
    assert_int_equal(plan_start(&plan, &run), WEFT_OK);
    plan_wait_blocked(&plan, run);
    assert_int_equal(plan_look(&plan, run, &now), WEFT_IN_PROGRESS);
    assert_int_equal(now.moved, SLOTS);
    fifo_release(fifo + 512, SLOTS);
    assert_int_equal(plan_finish(&plan, run), WEFT_OK);
    assert_int_equal(plan_look(&plan, run, &now), WEFT_OK);
    assert_int_equal(now.moved, SLOTS + 2);
    plan_close(&plan);
}

/* A word for the host is a store over the bus, which the next fence waits for. */
static void progress_is_told_rarely(void **state)
{
    enum { SLICES = 640 };
    uint64_t run = 0;
    weft_lanes_state_t now;
    (void)state;
    plan_open(&plan, PLAN_SENDS, fifo + 512);
    fifo_release(fifo + 512, SLICES);
    plan.call.segmentation.passes = SLICES;
    atomic_store(&fake_cuda.notes, 0);
    fake_cuda.counts = true;
    assert_int_equal(plan_start(&plan, &run), WEFT_OK);
    assert_int_equal(plan_finish(&plan, run), WEFT_OK);
    fake_cuda.counts = false;
    assert_int_equal(plan_look(&plan, run, &now), WEFT_OK);
    assert_int_equal(now.moved, SLICES);
    const uint32_t notes = atomic_load(&fake_cuda.notes);
    assert_true(notes > SLICES / 64 && notes < SLICES / 16);
    plan_close(&plan);
}

static void fifos_that_share_pages_are_registered_once(void **state)
{
    static plan_t first, second;
    (void)state;
    plan_open(&first, PLAN_SENDS, fifo + 512);
    plan_open(&second, PLAN_SENDS,
              fifo + 512 + FIFO_BYTES); /* begins in the page where the first one ends */
    assert_int_equal(plan_run(&first), WEFT_OK);
    assert_int_equal(plan_run(&second), WEFT_OK);
    assert_int_equal(atomic_load(&fake_cuda.registered), 2);
    plan_close(&first);
    /* The page in the middle has a user still. */
    assert_int_equal(atomic_load(&fake_cuda.registered), 2);
    assert_int_equal(plan_run(&second), WEFT_OK);
    plan_close(&second);
    assert_int_equal(atomic_load(&fake_cuda.registered), 0);
}

/* As the driver would wait for kernels that wait for this rank. */
static void shared_pages_stay_registered_when_their_fifo_is_gone(void **state)
{
#if defined(WEFT_TSAN) || defined(__SANITIZE_THREAD__)
    print_message("left out: for TSan no memory is mapped twice, and none stays registered\n");
    skip();
#endif
    const size_t bytes = 4 * FIFO_BYTES;
    const uint32_t before = atomic_load(&fake_cuda.registrations);
    uint8_t *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    (void)state;
    assert_true(pages != MAP_FAILED);
    plan_open(&plan, PLAN_SENDS, pages + 512);
    plan.in[999] = 3;
    assert_int_equal(plan_run(&plan), WEFT_OK);
    uint32_t filled = 0;
    for (size_t i = 0; i < bytes; i++) {
        filled += pages[i] != 0;
    }
    assert_true(filled > 0); /* the host finds at its address what the device wrote at the other */
    assert_int_equal(atomic_load(&fake_cuda.registrations), before + 1);
    plan_close(&plan);
    assert_int_equal(munmap(pages, bytes), 0);
    assert_int_equal(atomic_load(&fake_cuda.registered), 1); /* until the kernel ends */
}

static void payloads_may_lie_apart(void **state)
{
    static _Alignas(4096) uint8_t far[SLOTS * 8192];
    static uint32_t lengths[SLOTS];
    weft_lanes_port_t port = fifo_port(fifo, true);
    (void)state;
    port.payloads = far + 64;
    port.stride = 8192;
    port.lengths = lengths;
    plan_open(&plan, PLAN_SENDS, fifo);
    plan.in[999] = 3;
    bench.lanes->endpoint_close(plan.end);
    assert_int_equal(bench.lanes->endpoint_open(bench.kernel, &port, &plan.end), WEFT_OK);
    assert_int_equal(atomic_load(&fake_cuda.registered), 2);
    assert_int_equal(plan_run(&plan), WEFT_OK);
    assert_int_equal(plan_run(&plan), WEFT_OK);
    assert_memory_equal(far + 64 + 8192, plan.in, sizeof plan.in);
    assert_int_equal(lengths[1], 4000);
    bench.lanes->endpoint_close(plan.end);
    /* Memory of the device is not the host's to register. */
    port.on_device = 1;
    assert_int_equal(bench.lanes->endpoint_open(bench.kernel, &port, &plan.end), WEFT_OK);
    assert_int_equal(atomic_load(&fake_cuda.registered), 1);
    assert_int_equal(plan_run(&plan), WEFT_OK);
    plan_close(&plan);
}

/* The head of a message that an adapter sends stands in front of its payload. */
static void heads_may_lie_with_the_payloads(void **state)
{
    static _Alignas(4096) uint8_t far[SLOTS * 8192], before[WEFT_FIFO_HEADER_BYTES];
    static uint32_t lengths[SLOTS];
    weft_lanes_port_t port = fifo_port(fifo, true);
    uint64_t head[4];
    (void)state;
    port.payloads = far + WEFT_MESSAGE_HEADER_BYTES;
    port.stride = 8192;
    port.lengths = lengths;
    port.on_device = port.gpudirect = 1;
    plan_open(&plan, PLAN_SENDS, fifo);
    bench.lanes->endpoint_close(plan.end);
    assert_int_equal(bench.lanes->endpoint_open(bench.kernel, &port, &plan.end), WEFT_OK);
    plan.in[999] = 3;
    plan.call.signature[2] = 77;
    assert_int_equal(plan_run(&plan), WEFT_OK);
    memcpy(head, far, sizeof head);
    assert_memory_equal(head, plan.call.signature, sizeof plan.call.signature);
    assert_int_equal(head[3], sizeof plan.in);
    assert_memory_equal(far + WEFT_MESSAGE_HEADER_BYTES, plan.in, sizeof plan.in);
    /* A small one too; of the FIFO's head only the sequence is written. */
    memcpy(before, fifo + WEFT_FIFO_HEADERS + WEFT_FIFO_HEADER_BYTES, sizeof before);
    plan.call.segmentation.count = plan.call.segmentation.slice = plan.call.segmentation.chunk =
        plan.call.segmentation.pass = 2;
    plan.in[1] = 9;
    assert_int_equal(plan_run(&plan), WEFT_OK);
    memcpy(head, far + 8192, sizeof head);
    assert_memory_equal(head, plan.call.signature, sizeof plan.call.signature);
    assert_int_equal(head[3], 2 * sizeof(float));
    assert_int_equal(lengths[1], 2 * sizeof(float));
    assert_memory_equal(far + 8192 + WEFT_MESSAGE_HEADER_BYTES, plan.in, 2 * sizeof(float));
    uint64_t sequence = 2;
    memcpy(before + WEFT_FIFO_HEADER_SEQUENCE, &sequence, sizeof sequence);
    assert_memory_equal(fifo + WEFT_FIFO_HEADERS + WEFT_FIFO_HEADER_BYTES, before, sizeof before);
    plan_close(&plan);
}

static void ports_that_make_no_sense_are_refused(void **state)
{
    weft_lanes_port_t port = fifo_port(fifo, true);
    weft_lanes_endpoint_t *end = NULL;
    (void)state;
    port.slots = 3;
    assert_int_equal(bench.lanes->endpoint_open(bench.kernel, &port, &end), WEFT_ERR_ARG);
    bench_take_error();
    bench_says("3 slots of 4096 bytes");
    port = fifo_port(fifo, true);
    port.gpudirect = 1; /* there is no room for heads */
    assert_int_equal(bench.lanes->endpoint_open(bench.kernel, &port, &end), WEFT_ERR_ARG);
    bench_take_error();
    bench_says("4 slots of 4096 bytes, 4096 apart");
    port = fifo_port(fifo, true);
    fake_cuda.fails = "cudaHostRegister";
    fake_cuda.error = cudaErrorIllegalAddress;
    assert_int_equal(bench.lanes->endpoint_open(bench.kernel, &port, &end), WEFT_ERR_SYSTEM);
    assert_null(end);
}

/* Chunks are counted in 16 bits: a division of 64 takes a call on a device. */
static void programs_of_too_many_chunks_are_left_to_the_host(void **state)
{
    weft_lanes_program_t program = plan_sends;
    weft_lanes_operand_t operands[3];
    weft_lanes_handle_t *handle = NULL;
    (void)state;
    memcpy(operands, plan_sends.operands, sizeof operands);
    program.operands = operands;
    operands[0].chunks = 65535;
    assert_int_equal(bench.lanes->prepare(bench.kernel, &program, &handle), WEFT_OK);
    bench.lanes->release(handle);
    operands[0].chunks = 65536;
    assert_int_equal(bench.lanes->prepare(bench.kernel, &program, &handle), WEFT_ERR_UNSUPPORTED);
    bench_said("too many chunks");
}

/* So that the host does the work. */
static void a_system_that_registers_no_memory_is_named(void **state)
{
    static const cudaError_t errors[] = {cudaErrorOperatingSystem, cudaErrorNotSupported,
                                         cudaErrorMemoryAllocation};
    weft_lanes_port_t port = fifo_port(fifo, true);
    weft_lanes_endpoint_t *end = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        fake_cuda.fails = "cudaHostRegister";
        fake_cuda.error = errors[i];
        assert_int_equal(bench.lanes->endpoint_open(bench.kernel, &port, &end),
                         WEFT_ERR_UNSUPPORTED);
        bench_said("ulimit -l");
        assert_null(end);
    }
}

/* The device could touch them, but their pages would move to it and back. */
static void buffers_whose_pages_would_move_are_the_hosts(void **state)
{
    (void)state;
    bench.ops->destroy(bench.kernel);
    fake_cuda.migrates = true;
    assert_int_equal(bench_create(NULL), WEFT_OK);
    plan_open(&plan, PLAN_SENDS, fifo + 512);
    assert_int_equal(plan_run(&plan), WEFT_ERR_UNSUPPORTED);
    bench_says("host memory that CUDA device 0 cannot reach");
    plan_close(&plan);
    fake_cuda.migrates = false;
}

static void buffers_that_the_device_cannot_reach_are_named(void **state)
{
    (void)state;
    bench.ops->destroy(bench.kernel);
    fake_cuda.not_pageable = true;
    assert_int_equal(bench_create(NULL), WEFT_OK);
    plan_open(&plan, PLAN_SENDS, fifo + 512);
    assert_int_equal(plan_run(&plan), WEFT_ERR_UNSUPPORTED);
    bench_says("input");
    bench_says("host memory that CUDA device 0 cannot reach");
    bench_place(0, plan.in, sizeof plan.in, cudaMemoryTypeDevice, 0);
    bench_place(1, plan.out, sizeof plan.out, cudaMemoryTypeDevice, 1);
    fake_cuda.no_peers = true;
    assert_int_equal(plan_run(&plan), WEFT_ERR_UNSUPPORTED);
    bench_says("output");
    bench_says("memory of CUDA device 1, which device 0");
    fake_cuda.no_peers = false;
    plan.call.scalar_at = &plan;
    assert_int_equal(plan_run(&plan), WEFT_ERR_UNSUPPORTED);
    bench_says("factor");
    plan.call.scalar_at = NULL;
    assert_int_equal(plan_run(&plan), WEFT_OK);
    plan_close(&plan);
}

static void a_device_that_fails_is_reported(void **state)
{
    uint64_t run = 0;
    (void)state;
    plan_open(&plan, PLAN_SENDS, fifo + 512);
    fake_cuda.swallow = true;
    assert_int_equal(plan_start(&plan, &run), WEFT_OK);
    fake_cuda.fails = "cudaStreamQuery";
    fake_cuda.error = cudaErrorIllegalAddress;
    assert_int_equal(plan_finish(&plan, run), WEFT_ERR_SYSTEM);
    bench_says("running a plan on CUDA device 0: an illegal address (cudaErrorIllegalAddress)");
    assert_int_equal(plan_run(&plan), WEFT_ERR_SYSTEM);
    bench_says("without its last word");
    fake_cuda.swallow = false;
    assert_int_equal(plan_run(&plan), WEFT_OK);
    plan_close(&plan);
}

static void failures_of_the_runtime_leave_nothing_behind(void **state)
{
    static const char *const calls[] = {"cudaHostAlloc",           "cudaStreamCreateWithPriority",
                                        "cudaMallocFromPoolAsync", "cudaStreamQuery",
                                        "cudaMemsetAsync",         "cudaMemcpyAsync"};
    weft_lanes_handle_t *handle = NULL;
    weft_lanes_queue_t *queue = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        fake_cuda.fails = calls[i];
        fake_cuda.error = cudaErrorMemoryAllocation;
        assert_int_equal(bench.lanes->prepare(bench.kernel, &plan_sends, &handle),
                         WEFT_ERR_RESOURCE);
        bench_take_error();
        bench_says("has no memory left");
        assert_int_equal(atomic_load(&fake_cuda.allocated), 0);
        assert_true(atomic_load(&fake_cuda.streams) <= 1); /* the kernel's own */
    }
    for (size_t i = 1; i < 5; i++) {
        fake_cuda.fails = calls[i];
        assert_int_equal(bench.lanes->queue_open(bench.kernel, &queue), WEFT_ERR_RESOURCE);
        assert_int_equal(atomic_load(&fake_cuda.allocated), 0);
        /* The kernel's own, and the side streams. */
        assert_int_equal(atomic_load(&fake_cuda.streams), i == 1 ? 1 : 3);
    }
}

static void a_failed_start_can_be_tried_again(void **state)
{
    static const char *const calls[] = {"cudaPointerGetAttributes", "cudaMallocFromPoolAsync",
                                        "cudaMemcpyAsync", "cuda_launch_lanes"};
    (void)state;
    plan_open(&plan, PLAN_SENDS, fifo + 512);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        fake_cuda.fails = calls[i];
        fake_cuda.error = cudaErrorLaunchFailure;
        assert_int_equal(plan_run(&plan), WEFT_ERR_SYSTEM);
    }
    assert_int_equal(plan_run(&plan), WEFT_OK);
    plan_close(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH(a_plan_runs_and_leaves_its_message_in_the_slot),
        BENCH(a_run_that_waits_for_ever_ends_when_it_is_told_to),
        BENCH(an_abort_without_a_run_stops_nothing),
        BENCH(a_run_tells_whether_it_has_begun),
        BENCH(a_lane_that_waits_has_told_its_progress),
        BENCH(progress_is_told_rarely),
        BENCH(fifos_that_share_pages_are_registered_once),
        BENCH(shared_pages_stay_registered_when_their_fifo_is_gone),
        BENCH(payloads_may_lie_apart),
        BENCH(heads_may_lie_with_the_payloads),
        BENCH(ports_that_make_no_sense_are_refused),
        BENCH(programs_of_too_many_chunks_are_left_to_the_host),
        BENCH(a_system_that_registers_no_memory_is_named),
        BENCH(buffers_whose_pages_would_move_are_the_hosts),
        BENCH(buffers_that_the_device_cannot_reach_are_named),
        BENCH(a_device_that_fails_is_reported),
        BENCH(failures_of_the_runtime_leave_nothing_behind),
        BENCH(a_failed_start_can_be_tried_again),
    };
    return bench_main(tests);
}
