/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls in streams, from weft.h down to a CUDA runtime of threads: ranks as threads, each with
 * streams of its own, and as processes where one is killed. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/os/os.h"
#include "tests/cuda/desk.h"
#include "tests/support/streams.h"
#include "tests/support/unit.h"

enum { COUNT = STREAMS_COUNT, BYTES = COUNT * 4, LATE_US = 300000 };

enum { SETTINGS = 5 };
static const char *const settings[SETTINGS] = {
    "core.kernel=kernel-cuda", ("kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE), "core.net=net-shm",
    "exec.op_timeout=20s", DESK_SHARE};

static ranks_job_t job_of(uint32_t n, const desk_job_t *at_desk)
{
    return (ranks_job_t){.nranks = n,
                         .settings = settings,
                         .settings_count = SETTINGS,
                         .work = desk_run,
                         .arg = (void *)at_desk};
}

static void run(uint32_t n, desk_work_t work)
{
    const desk_job_t at_desk = {.bytes = BYTES, .work = work};
    ranks_job_t job = job_of(n, &at_desk);
    assert_int_equal(ranks_run_threads(&job), 0);
}

static weft_status_t sum(desk_t *desk, int stream)
{
    return weft_all_reduce(desk->in, desk->out, COUNT, WEFT_INT32, WEFT_SUM, desk->comm,
                           stream < 0 ? NULL : &desk->call[stream]);
}

static bool put(desk_t *desk, const int32_t *from)
{
    return cudaMemcpyAsync(desk->in, from, BYTES, cudaMemcpyHostToDevice, desk->stream[0]) ==
           cudaSuccess;
}

static bool get(desk_t *desk, int32_t *to)
{
    return cudaMemcpyAsync(to, desk->out, BYTES, cudaMemcpyDeviceToHost, desk->stream[0]) ==
           cudaSuccess;
}

/* So that the like of it is launched afterwards. */
static weft_status_t warm_up(desk_t *desk)
{
    weft_status_t status = sum(desk, -1);
    return status == WEFT_OK ? weft_barrier(desk->comm, NULL) : status;
}

/* Order ---------------------------------------------------------------------------------------- */

static int keep_order(desk_t *desk)
{
    int32_t in[5][COUNT], out[5][COUNT];
    uint32_t rank = desk->rank;
    int wrong = 0;
    for (int i = 0; i < 5; i++) {
        streams_fill(in[i], rank, i);
        NEED(put(desk, in[i]) && sum(desk, 0) == WEFT_OK && get(desk, out[i]));
    }
    NEED(desk_settle(desk));
    for (int i = 0; i < 5; i++) {
        NEED(streams_is_sum(out[i], desk->n, i));
    }
    return wrong;
}

/* Calls of which no like was made before, one behind the other, in a process whose streams share a
 * hardware queue and in which all calls of the driver that may wait for kernels do. */
static int call_first(desk_t *desk)
{
    int32_t in[COUNT], out[2][COUNT];
    uint32_t rank = desk->rank;
    int wrong = 0;
    streams_fill(in, rank, 3);
    NEED(put(desk, in) && sum(desk, 0) == WEFT_OK && get(desk, out[0]));
    NEED(weft_broadcast(desk->out, desk->out, COUNT, WEFT_INT32, 0, desk->comm, desk->call) ==
         WEFT_OK);
    for (uint64_t count = 1; count < COUNT; count *= 4) {
        NEED(weft_all_reduce(desk->in, desk->in, count, WEFT_INT32, WEFT_MAX, desk->comm,
                             desk->call) == WEFT_OK);
    }
    NEED(get(desk, out[1]) && desk_settle(desk));
    NEED(streams_is_sum(out[0], desk->n, 3) && streams_is_sum(out[1], desk->n, 3));
    NEED(atomic_load(&fake_cuda.host_waits) == 0);
    return wrong;
}

static void a_first_call_is_a_launch_where_streams_share_a_queue(void **state)
{
    const desk_job_t at_desk = {.bytes = BYTES, .work = call_first};
    ranks_job_t job = job_of(2, &at_desk);
    (void)state;
    assert_int_equal(desk_run_in_one_queue(&job), 0);
}

/* A collective beside a message is a host wait, in which rank 0 waits for the other one. Meanwhile
 * it prepares calls of other lengths, and there is room for one program. */
static int prepare_beside_a_host_wait(desk_t *desk)
{
    int32_t in[COUNT], out[COUNT], message[2] = {7, 0};
    uint32_t rank = desk->rank;
    int wrong = 0;
    streams_fill(in, rank, 5);
    NEED(put(desk, in) && warm_up(desk) == WEFT_OK);
    if (rank == 1) {
        usleep(LATE_US);
    }
    NEED(weft_group_start() == WEFT_OK && sum(desk, 0) == WEFT_OK);
    NEED((rank == 0 ? weft_send(&message[0], 1, WEFT_INT32, 1, desk->comm, desk->call)
                    : weft_recv(&message[1], 1, WEFT_INT32, 0, desk->comm, desk->call)) == WEFT_OK);
    NEED(weft_group_end() == WEFT_OK);
    if (rank == 0) {
        usleep(LATE_US / 2); /* the stream comes to it */
    }
    for (uint64_t count = 1; count < COUNT; count *= 4) {
        NEED(weft_all_reduce(desk->in, desk->in, count, WEFT_INT32, WEFT_MAX, desk->comm,
                             desk->call) == WEFT_OK);
    }
    NEED(get(desk, out) && desk_settle(desk) && streams_is_sum(out, desk->n, 5));
    NEED(rank == 0 || message[1] == 7);
    return wrong;
}

static void a_call_that_is_prepared_drops_no_program_that_runs(void **state)
{
    static const char *const one_program[SETTINGS] = {
        "core.kernel=kernel-cuda", ("kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE), "core.net=net-shm",
        "exec.program_memory=0", DESK_SHARE};
    const desk_job_t at_desk = {.bytes = BYTES, .work = prepare_beside_a_host_wait};
    ranks_job_t job = job_of(2, &at_desk);
    (void)state;
    job.settings = one_program;
    assert_int_equal(ranks_run_threads(&job), 0);
}

/* What is put is what was in the stream before, and what comes is there for what is behind the
 * wait. */
static int put_in_streams(desk_t *desk)
{
    int32_t in[3][COUNT], out[3][COUNT];
    uint32_t rank = desk->rank, n = desk->n, left = (rank + n - 1) % n;
    weft_window_t *window = NULL;
    int wrong = 0;
    NEED(weft_window_register_local(desk->comm, desk->out, BYTES, &window) == WEFT_OK);
    for (int i = 0; i < 3; i++) {
        streams_fill(in[i], rank, i);
        NEED(put(desk, in[i]));
        NEED(weft_put_signal(desk->in, COUNT, WEFT_INT32, (rank + 1) % n, window, 0, desk->comm,
                             desk->call) == WEFT_OK);
        NEED(weft_wait_signal(left, 1, desk->comm, desk->call) == WEFT_OK && get(desk, out[i]));
        /* Nobody puts again before all have it. */
        NEED(weft_barrier(desk->comm, desk->call) == WEFT_OK);
    }
    NEED(desk_settle(desk));
    for (int i = 0; i < 3; i++) {
        streams_fill(in[i], left, i);
        NEED(memcmp(in[i], out[i], BYTES) == 0);
    }
    NEED(weft_window_deregister(desk->comm, window) == WEFT_OK);
    return wrong;
}

static void puts_take_their_place_in_a_stream(void **state)
{
    (void)state;
    run(3, put_in_streams);
    run(1, put_in_streams);
}

static void operations_take_their_place_in_a_stream(void **state)
{
    (void)state;
    run(3, keep_order);
    run(1, keep_order);
}

/* The second reads what the first wrote, and no event orders their streams. */
static int use_two_streams(desk_t *desk)
{
    int32_t in[COUNT], out[COUNT];
    uint32_t rank = desk->rank;
    int wrong = 0;
    for (int i = 0; i < 4; i++) {
        streams_fill(in, rank, i);
        NEED(put(desk, in) && sum(desk, 0) == WEFT_OK);
        NEED(weft_all_reduce(desk->out, desk->out, COUNT, WEFT_INT32, WEFT_MAX, desk->comm,
                             &desk->call[1]) == WEFT_OK);
        NEED(sum(desk, 0) == WEFT_OK);
        NEED(get(desk, out) && desk_settle(desk) && streams_is_sum(out, desk->n, i));
    }
    return wrong;
}

static void a_communicator_keeps_its_order_in_two_streams(void **state)
{
    (void)state;
    run(2, use_two_streams);
}

static int use_two_communicators(desk_t *desk)
{
    desk_t other = *desk;
    int32_t in[COUNT], out[2][COUNT];
    uint32_t rank = desk->rank;
    int wrong = 0;
    NEED(weft_comm_dup(desk->comm, &other.comm) == WEFT_OK);
    NEED(weft_mem_alloc_device(other.comm, BYTES, (void **)&other.out) == WEFT_OK);
    streams_fill(in, rank, 9);
    NEED(put(desk, in) && desk_settle(desk));
    for (int i = 0; i < 3; i++) {
        NEED(sum(desk, 0) == WEFT_OK && sum(&other, 1) == WEFT_OK);
    }
    NEED(desk_settle(desk));
    NEED(weft_mem_copy(desk->comm, out[0], desk->out, BYTES) == WEFT_OK);
    NEED(weft_mem_copy(desk->comm, out[1], other.out, BYTES) == WEFT_OK);
    NEED(streams_is_sum(out[0], desk->n, 9) && streams_is_sum(out[1], desk->n, 9));
    NEED(weft_comm_destroy(other.comm) == WEFT_OK);
    return wrong;
}

static void communicators_have_streams_of_their_own(void **state)
{
    (void)state;
    run(2, use_two_communicators);
}

static int mix(desk_t *desk)
{
    int32_t in[COUNT], out[COUNT];
    uint32_t rank = desk->rank;
    int wrong = 0;
    for (int i = 0; i < 6; i++) {
        streams_fill(in, rank, i);
        bool alone = i % 2 != 0 && rank != 0;
        NEED(put(desk, in) && (!alone || desk_settle(desk)));
        NEED(sum(desk, alone ? -1 : 0) == WEFT_OK);
        NEED(weft_barrier(desk->comm, NULL) == WEFT_OK);
        NEED(get(desk, out) && desk_settle(desk) && streams_is_sum(out, desk->n, i));
    }
    return wrong;
}

static void calls_with_and_without_a_stream_meet(void **state)
{
    (void)state;
    run(1, mix);
    run(2, mix);
}

static int fuse(desk_t *desk)
{
    uint32_t rank = desk->rank;
    int wrong = 0;
    NEED(warm_up(desk) == WEFT_OK);
    streams_meet();
    uint32_t before = atomic_load(&fake_cuda.launches);
    streams_meet();
    NEED(weft_group_start() == WEFT_OK);
    NEED(sum(desk, 0) == WEFT_OK && sum(desk, 0) == WEFT_OK && sum(desk, 0) == WEFT_OK);
    NEED(weft_group_end() == WEFT_OK);
    NEED(desk_settle(desk));
    streams_meet();
    NEED(atomic_load(&fake_cuda.launches) - before == 2); /* one a rank */
    return wrong;
}

static void a_group_is_one_launch(void **state)
{
    (void)state;
    run(2, fuse);
}

static int send_around(desk_t *desk)
{
    int32_t in[COUNT], out[COUNT];
    uint32_t rank = desk->rank, n = desk->n;
    int wrong = 0;
    for (int i = 0; i < 3; i++) {
        streams_fill(in, rank, i);
        NEED(put(desk, in));
        NEED(weft_group_start() == WEFT_OK);
        NEED(weft_send(desk->in, COUNT, WEFT_INT32, (rank + 1) % n, desk->comm, desk->call) ==
             WEFT_OK);
        NEED(weft_recv(desk->out, COUNT, WEFT_INT32, (rank + n - 1) % n, desk->comm, desk->call) ==
             WEFT_OK);
        NEED(weft_group_end() == WEFT_OK);
        NEED(get(desk, out) && desk_settle(desk));
        streams_fill(in, (rank + n - 1) % n, i);
        NEED(memcmp(in, out, BYTES) == 0);
    }
    return wrong;
}

static void messages_pass_in_streams(void **state)
{
    (void)state;
    run(3, send_around);
}

/* Recordings ----------------------------------------------------------------------------------- */

static int replay(desk_t *desk, bool warm)
{
    int32_t in[COUNT], out[COUNT];
    uint32_t rank = desk->rank;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    int wrong = 0;
    if (warm) {
        NEED(warm_up(desk) == WEFT_OK);
    }
    streams_meet();
    const uint32_t waits = atomic_load(&fake_cuda.host_waits);
    NEED(cudaStreamBeginCapture(desk->stream[0], cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    NEED(put(desk, in) && sum(desk, 0) == WEFT_OK && sum(desk, 0) == WEFT_OK && get(desk, out));
    NEED(cudaStreamEndCapture(desk->stream[0], &graph) == cudaSuccess);
    NEED(atomic_load(&fake_cuda.host_waits) == waits);
    NEED(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    for (int i = 0; i < 10; i++) {
        streams_fill(in, rank, i);
        NEED(cudaGraphLaunch(exec, desk->stream[0]) == cudaSuccess);
        NEED(desk_settle(desk) && streams_is_sum(out, desk->n, i));
    }
    NEED(warm_up(desk) == WEFT_OK); /* calls without a stream go on */
    NEED(sum(desk, 0) == WEFT_OK && desk_settle(desk));
    NEED(cudaGraphExecDestroy(exec) == cudaSuccess && cudaGraphDestroy(graph) == cudaSuccess);
    return wrong;
}

static int replay_launches(desk_t *desk)
{
    return replay(desk, true);
}

static int replay_first(desk_t *desk)
{
    return replay(desk, false);
}

static void a_graph_is_replayed_with_new_data(void **state)
{
    (void)state;
    run(2, replay_launches);
    run(2, replay_first);
}

/* Failures ------------------------------------------------------------------------------------- */

static int disagree(desk_t *desk)
{
    uint32_t rank = desk->rank;
    char words[64];
    int wrong = 0;
    for (uint64_t count = 100; count <= 200; count += 100) {
        NEED(weft_all_reduce(desk->in, desk->out, count, WEFT_INT32, WEFT_SUM, desk->comm, NULL) ==
             WEFT_OK);
    }
    streams_meet();
    NEED(weft_all_reduce(desk->in, desk->out, rank == 0 ? 100 : 200, WEFT_INT32, WEFT_SUM,
                         desk->comm, desk->call) == WEFT_OK);
    snprintf(words, sizeof words, "differs between rank");
    NEED(streams_failed(desk->comm, WEFT_ERR_MISMATCH, words));
    NEED(desk_settle(desk));
    NEED(sum(desk, 0) == WEFT_ERR_MISMATCH);
    return wrong;
}

static void a_mismatch_fails_the_communicator_and_not_the_stream(void **state)
{
    (void)state;
    run(2, disagree);
}

/* What the host combines for the device goes piece by piece here, and the first piece fails. */
static int fail_to_combine(desk_t *desk)
{
    int32_t in[COUNT] = {1}, out[COUNT];
    uint32_t rank = desk->rank;
    weft_error_t error = {.size = sizeof error};
    int wrong = 0;
    fake_cuda.not_pageable = true;
    NEED(weft_all_reduce(in, desk->out, COUNT, WEFT_INT32, WEFT_SUM, desk->comm, NULL) == WEFT_OK);
    NEED(weft_mem_copy(desk->comm, out, desk->out, BYTES) == WEFT_OK && out[0] == 1);
    in[0] = 2;
    fake_cuda.error = cudaErrorLaunchFailure;
    fake_cuda.fails = "cudaMemcpyAsync";
    NEED(weft_all_reduce(in, desk->out, COUNT, WEFT_INT32, WEFT_SUM, desk->comm, NULL) ==
         WEFT_ERR_SYSTEM);
    weft_last_error(&error);
    NEED(strstr(error.text, "combining on CUDA device 0") != NULL);
    fake_cuda.not_pageable = false;
    return wrong;
}

static void a_combination_that_fails_is_an_error_of_the_call(void **state)
{
    (void)state;
    run(1, fail_to_combine);
}

static int wait_in_vain(desk_t *desk)
{
    uint32_t rank = desk->rank;
    int wrong = 0;
    NEED(warm_up(desk) == WEFT_OK);
    desk->call[0].timeout = 0.3;
    if (rank == 0) {
        NEED(sum(desk, 0) == WEFT_OK);
    }
    NEED(streams_failed(desk->comm, WEFT_ERR_TIMEOUT, "rank 0 waits for rank 1"));
    NEED(desk_settle(desk));
    return wrong;
}

static void a_deadline_ends_a_launch(void **state)
{
    (void)state;
    run(2, wait_in_vain);
}

static int leave(desk_t *desk)
{
    uint32_t rank = desk->rank;
    int wrong = 0;
    NEED(warm_up(desk) == WEFT_OK);
    if (rank == 0) {
        NEED(sum(desk, 0) == WEFT_OK);
        NEED(streams_failed(desk->comm, WEFT_ERR_PEER_LEFT, "rank 1 left"));
        NEED(desk_settle(desk));
    }
    return wrong;
}

static void a_rank_that_left_ends_a_launch(void **state)
{
    (void)state;
    run(2, leave);
}

static int give_up(desk_t *desk)
{
    uint32_t rank = desk->rank;
    int wrong = 0;
    NEED(warm_up(desk) == WEFT_OK);
    /* A first message would wait for its peer to connect. */
    NEED((rank == 0
              ? weft_recv(desk->in, COUNT, WEFT_INT32, 1, desk->comm, desk->call)
              : weft_send(desk->in, COUNT, WEFT_INT32, 0, desk->comm, desk->call)) == WEFT_OK);
    NEED(desk_settle(desk));
    streams_meet();
    if (rank == 0) {
        NEED(sum(desk, 0) == WEFT_OK);
        NEED(weft_recv(desk->in, COUNT, WEFT_INT32, 1, desk->comm, desk->call) == WEFT_OK);
        NEED(weft_comm_abort(desk->comm) == WEFT_OK);
        NEED(desk_settle(desk));
    }
    NEED(streams_failed(desk->comm, WEFT_ERR_ABORTED, "rank 0 called weft_comm_abort"));
    return wrong;
}

static void an_abort_lets_the_stream_go_on(void **state)
{
    (void)state;
    run(2, give_up);
}

static int be_killed(desk_t *desk)
{
    uint32_t rank = desk->rank;
    int wrong = 0;
    NEED(warm_up(desk) == WEFT_OK);
    /* Not while rank 0 is still warming up. */
    if (rank == 1) {
        NEED(weft_recv(desk->in, COUNT, WEFT_INT32, 0, desk->comm, NULL) == WEFT_OK);
        raise(SIGKILL);
    }
    NEED(weft_send(desk->in, COUNT, WEFT_INT32, 1, desk->comm, NULL) == WEFT_OK);
    NEED(sum(desk, 0) == WEFT_OK || rank == 0);
    NEED(streams_failed(desk->comm, WEFT_ERR_PEER_DEAD, "rank 1"));
    NEED(desk_settle(desk));
    return wrong;
}

static void a_rank_that_is_killed_ends_a_launch(void **state)
{
    const desk_job_t at_desk = {.bytes = BYTES, .work = be_killed};
    ranks_job_t job = job_of(2, &at_desk);
    (void)state;
    assert_int_equal(ranks_run_processes(&job, 60, 1), 0);
}

static int destroy_early(desk_t *desk)
{
    int32_t in[COUNT], out[COUNT];
    uint32_t rank = desk->rank;
    weft_comm_t *copy = NULL;
    int wrong = 0;
    streams_fill(in, rank, 5);
    for (int i = 0; i < 2; i++) {
        NEED(weft_comm_dup(desk->comm, &copy) == WEFT_OK);
        NEED(put(desk, in));
        NEED(weft_all_reduce(desk->in, desk->out, COUNT, WEFT_INT32, WEFT_SUM, copy, desk->call) ==
             WEFT_OK);
        NEED(weft_comm_destroy(copy) == WEFT_OK);
        NEED(get(desk, out) && desk_settle(desk) && streams_is_sum(out, desk->n, 5));
    }
    return wrong;
}

static void destroying_waits_for_the_stream(void **state)
{
    (void)state;
    run(2, destroy_early);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* Processes first: they begin without threads of the runtime. */
        cmocka_unit_test(a_rank_that_is_killed_ends_a_launch),
        cmocka_unit_test(a_first_call_is_a_launch_where_streams_share_a_queue),
        cmocka_unit_test(a_call_that_is_prepared_drops_no_program_that_runs),
        cmocka_unit_test(operations_take_their_place_in_a_stream),
        cmocka_unit_test(puts_take_their_place_in_a_stream),
        cmocka_unit_test(a_communicator_keeps_its_order_in_two_streams),
        cmocka_unit_test(communicators_have_streams_of_their_own),
        cmocka_unit_test(calls_with_and_without_a_stream_meet),
        cmocka_unit_test(a_group_is_one_launch),
        cmocka_unit_test(messages_pass_in_streams),
        cmocka_unit_test(a_graph_is_replayed_with_new_data),
        cmocka_unit_test(a_mismatch_fails_the_communicator_and_not_the_stream),
        cmocka_unit_test(a_combination_that_fails_is_an_error_of_the_call),
        cmocka_unit_test(a_deadline_ends_a_launch),
        cmocka_unit_test(a_rank_that_left_ends_a_launch),
        cmocka_unit_test(an_abort_lets_the_stream_go_on),
        cmocka_unit_test(destroying_waits_for_the_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
