/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See bench.h. */
#include "tests/cuda/bench.h"

#include <sched.h>

bench_t bench;

/* The instance --------------------------------------------------------------------------------- */

void bench_reset(void)
{
    fake_cuda.no_driver = false;
    fake_cuda.no_device = cudaSuccess;
    fake_cuda.capability = 90;
    fake_cuda.not_pageable = fake_cuda.migrates = false;
    fake_cuda.no_peers = fake_cuda.swallow = false;
    fake_cuda.fails = NULL;
    fake_cuda.fails_after = 0;
    memset(fake_cuda.place, 0, sizeof fake_cuda.place);
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
}

weft_status_t bench_create(const char *setting)
{
    const char *settings[] = {setting, NULL};
    void *config = fake_config_create(bench.plugin, settings, bench.error, sizeof bench.error);
    assert_non_null(config);
    weft_status_t status = bench.ops->create(&bench.fake.host, config, &bench.kernel);
    fake_config_destroy(config);
    bench_take_error();
    return status;
}

int bench_open(void **state)
{
    (void)state;
    bench_reset();
    assert_int_equal(bench_create(NULL), WEFT_OK);
    bench.lanes = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_LANES);
    assert_non_null(bench.lanes);
    return 0;
}

int bench_close(void **state)
{
    (void)state;
    bench.ops->destroy(bench.kernel);
    bench.kernel = NULL;
    assert_int_equal(atomic_load(&fake_cuda.registered), 0);
    assert_int_equal(atomic_load(&fake_cuda.visible), 0);
    assert_int_equal(atomic_load(&fake_cuda.allocated), 0);
    assert_int_equal(atomic_load(&fake_cuda.pools), 0);
    assert_int_equal(atomic_load(&fake_cuda.streams), 0);
    assert_int_equal(atomic_load(&fake_cuda.events), 0);
    assert_int_equal(atomic_load(&fake_cuda.graphs), 0);
    assert_int_equal(atomic_load(&bench.fake.live), 0);
    assert_int_equal(bench_device(), 0);
    return 0;
}

int bench_device(void)
{
    int device = -1;
    assert_int_equal(cudaGetDevice(&device), cudaSuccess);
    return device;
}

void bench_place(uint32_t number, const void *at, uint64_t bytes, enum cudaMemoryType type,
                 int device)
{
    fake_cuda.place[number] = (fake_place_t){at, bytes, type, device};
}

void bench_take_error(void)
{
    fake_host_take_error(&bench.fake, bench.error, sizeof bench.error);
}

void bench_says(const char *part)
{
    assert_says(bench.error, part);
}

void bench_said(const char *part)
{
    bench_take_error();
    bench_says(part);
}

bool bench_load(void)
{
    char why[256] = "";
    bench.plugin = fake_plugin_open(WEFT_KERNEL_CUDA_FILE, WEFT_KIND_KERNEL, why, sizeof why);
    if (bench.plugin == NULL) {
        print_error("%s\n", why);
        return false;
    }
    bench.ops = bench.plugin->ops;
    fake_host_init(&bench.fake, "kernel-cuda");
    return true;
}

int bench_run(const char *name, const struct CMUnitTest *tests, size_t ntests)
{
    if (!bench_load()) {
        return 1;
    }
    int failures = _cmocka_run_group_tests(name, tests, ntests, NULL, NULL);
    fake_host_fini(&bench.fake);
    return failures;
}

/* FIFOs ---------------------------------------------------------------------------------------- */

weft_lanes_port_t fifo_port(uint8_t *fifo, bool sends)
{
    return (weft_lanes_port_t){.size = sizeof(weft_lanes_port_t),
                               .fifo = fifo,
                               .fifo_bytes = HEADS_BYTES,
                               .payloads = fifo + HEADS_BYTES,
                               .stride = SLOT_BYTES,
                               .slot_bytes = SLOT_BYTES,
                               .slots = SLOTS,
                               .sends = sends};
}

float *fifo_payload(uint8_t *fifo, uint64_t n)
{
    return (float *)(void *)(fifo + HEADS_BYTES + n % SLOTS * SLOT_BYTES);
}

void fifo_release(uint8_t *fifo, uint64_t n)
{
    __atomic_store_n((uint64_t *)(void *)(fifo + WEFT_FIFO_RELEASED), n, __ATOMIC_RELEASE);
}

void fifo_send(uint8_t *fifo, uint64_t n, uint64_t signature)
{
    uint8_t *head = fifo + WEFT_FIFO_HEADERS + n % SLOTS * WEFT_FIFO_HEADER_BYTES;
    memcpy(head + WEFT_FIFO_HEADER_SIGNATURE, &signature, sizeof signature);
    __atomic_store_n((uint64_t *)(void *)head, n + 1, __ATOMIC_RELEASE);
}

/* Plans ---------------------------------------------------------------------------------------- */

static const weft_lanes_code_t code[] = {{.opcode = WEFT_LANES_MOVE}, {.opcode = WEFT_LANES_STOP}};
static const uint32_t lane[] = {0, 2};
static const weft_lanes_operand_t operands[] = {{.kind = WEFT_OPERAND_OUT, .chunks = 1},
                                                {.kind = WEFT_OPERAND_PORT},
                                                {.kind = WEFT_OPERAND_IN, .chunks = 1}};
static const weft_lanes_move_t sends = {.cnt = 1, .ndst = 2, .nsrc = 1, .flags = WEFT_LANES_STABLE};
static const weft_lanes_move_t receives = {.cnt = 1, .ndst = 1, .nsrc = 1};

#define PLAN(which)                                                                                \
    {                                                                                              \
        .size = sizeof(weft_lanes_program_t), .channels = 1, .nlanes = 1, .nports = 1, .ncode = 2, \
        .nmoves = 1, .noperands = 3, .lane = lane, .code = code, .moves = &(which),                \
        .operands = operands, .largest_par = 1, .tmp_chunks = 1, .nranks = 1, .dtype = WEFT_FP32,  \
        .op = WEFT_SUM, .elem = 4, .words_most = 4096, .lines_most = UINT32_MAX                    \
    }
const weft_lanes_program_t plan_sends = PLAN(sends);
static const weft_lanes_program_t plan_receives = PLAN(receives);

void plan_open(plan_t *plan, plan_kind_t kind, uint8_t *fifo)
{
    const weft_lanes_port_t port = fifo_port(fifo, kind == PLAN_SENDS);
    memset(fifo, 0, FIFO_BYTES);
    plan_open_at(plan, kind, &port);
}

void plan_open_at(plan_t *plan, plan_kind_t kind, const weft_lanes_port_t *port)
{
    const weft_lanes_program_t *program = kind == PLAN_SENDS ? &plan_sends : &plan_receives;
    memset(plan, 0, sizeof *plan);
    plan->kind = kind;
    plan->fifo = port->fifo;
    assert_int_equal(bench.lanes->endpoint_open(bench.kernel, port, &plan->end), WEFT_OK);
    assert_int_equal(bench.lanes->queue_open(bench.kernel, &plan->queue), WEFT_OK);
    assert_int_equal(bench.lanes->prepare(bench.kernel, program, &plan->handle), WEFT_OK);
    plan->call = (weft_lanes_call_t){.size = sizeof plan->call,
                                     .in = plan->in,
                                     .out = plan->out,
                                     .segmentation = {.count = COUNT,
                                                      .slice = COUNT,
                                                      .chunk = COUNT,
                                                      .pass = COUNT,
                                                      .passes = 1,
                                                      .slices = 1,
                                                      .k = 1},
                                     .ends = &plan->end};
}

void plan_close(plan_t *plan)
{
    bench.lanes->release(plan->handle);
    bench.lanes->queue_close(plan->queue);
    bench.lanes->endpoint_close(plan->end);
}

weft_status_t plan_start_in(plan_t *plan, cudaStream_t *stream, uint64_t *run_p)
{
    weft_lanes_job_t job = {.handle = plan->handle, .call = &plan->call};
    weft_status_t status = bench.lanes->start(plan->queue, (void *const *)stream, &job, 1);
    *run_p = job.run;
    bench_take_error();
    return status;
}

weft_status_t plan_start(plan_t *plan, uint64_t *run_p)
{
    return plan_start_in(plan, NULL, run_p);
}

weft_status_t plan_look(plan_t *plan, uint64_t run, weft_lanes_state_t *state)
{
    state->size = sizeof *state;
    return bench.lanes->poll(plan->handle, run, state);
}

weft_status_t plan_finish(plan_t *plan, uint64_t run)
{
    weft_lanes_state_t state;
    weft_status_t status = WEFT_IN_PROGRESS;
    while (status == WEFT_IN_PROGRESS) {
        status = plan_look(plan, run, &state);
        sched_yield();
    }
    bench_take_error();
    return status;
}

weft_status_t plan_run(plan_t *plan)
{
    uint64_t run = 0;
    weft_status_t status = plan_start(plan, &run);
    return status == WEFT_OK ? plan_finish(plan, run) : status;
}

void plan_wait_blocked(plan_t *plan, uint64_t run)
{
    weft_lanes_state_t state = {.blocked = -1};
    while (state.blocked < 0) {
        assert_int_equal(plan_look(plan, run, &state), WEFT_IN_PROGRESS);
        sched_yield();
    }
    assert_int_equal(state.blocked, 0);
    assert_int_equal(state.begun, 1);
}
