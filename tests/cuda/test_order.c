/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators of a rank whose runs do not find room on the device together: one comes behind the
 * other, so that the runs of other ranks, for which the first one waits, have room. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/cuda/desk.h"
#include "tests/support/unit.h"

/* A device holds 64 blocks, 60 of them for runs, 30 for each of two ranks. Three runs of 28 keep
 * the other rank's out. */
enum { COMMS = 3, COUNT = 4096, BYTES = COUNT * 4, ROUNDS = 5, ROW = 20, LATE_US = 50000 };

enum { SETTINGS = 7 };
static const char *const settings[SETTINGS] = {"core.kernel=kernel-cuda",
                                               ("kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE),
                                               "core.net=net-shm",
                                               "exec.op_timeout=20s",
                                               "plan.channels=28",
                                               "plan.channel_bytes=64",
                                               DESK_SHARE};

static weft_status_t sum(desk_t *desk, weft_comm_t *comm, const weft_call_t *call)
{
    return weft_all_reduce(desk->in, desk->out, COUNT, WEFT_INT32, WEFT_SUM, comm, call);
}

/* Rank 1 comes late: rank 0 has put the runs of all communicators into streams by then. */
static int use_all(desk_t *desk, bool last_has_stream)
{
    weft_comm_t *comm[COMMS] = {desk->comm};
    cudaStream_t third = NULL;
    const weft_call_t last = {.size = sizeof last, .stream = (void *const *)&third};
    const weft_call_t *const call[COMMS] = {&desk->call[0], &desk->call[1],
                                            last_has_stream ? &last : NULL};
    uint32_t rank = desk->rank;
    int wrong = 0;
    NEED(cudaStreamCreateWithFlags(&third, cudaStreamNonBlocking) == cudaSuccess);
    for (int c = 0; c < COMMS; c++) {
        NEED(c == 0 || weft_comm_dup(desk->comm, &comm[c]) == WEFT_OK);
        NEED(sum(desk, comm[c], call[c]) == WEFT_OK);
        NEED(desk_settle(desk) && cudaStreamSynchronize(third) == cudaSuccess);
    }
    for (int i = 0; i < ROUNDS; i++) {
        NEED(weft_barrier(desk->comm, NULL) == WEFT_OK);
        usleep(rank == 1 ? LATE_US : 0);
        for (int c = 0; c < COMMS; c++) {
            NEED(sum(desk, comm[c], call[c]) == WEFT_OK);
        }
        NEED(desk_settle(desk) && cudaStreamSynchronize(third) == cudaSuccess);
    }
    NEED(cudaStreamDestroy(third) == cudaSuccess);
    for (int c = 1; c < COMMS; c++) {
        NEED(weft_comm_destroy(comm[c]) == WEFT_OK);
    }
    return wrong;
}

static int use_streams(desk_t *desk)
{
    return use_all(desk, true);
}

static int use_streams_and_none(desk_t *desk)
{
    return use_all(desk, false);
}

/* Calls that are put into a stream one behind the other. A question to the driver takes half as
 * long as a launch. */
static int calls_in_a_row(desk_t *desk)
{
    const uint32_t rank = desk->rank;
    int wrong = 0;
    NEED(sum(desk, desk->comm, &desk->call[0]) == WEFT_OK);
    const uint32_t before = fake_queries;
    for (int i = 0; i < ROW; i++) {
        NEED(sum(desk, desk->comm, &desk->call[0]) == WEFT_OK);
    }
    NEED(fake_queries == before);
    NEED(desk_settle(desk));
    return wrong;
}

static void run(desk_work_t work)
{
    const desk_job_t at_desk = {.bytes = BYTES, .work = work};
    ranks_job_t job = {.nranks = 2,
                       .settings = settings,
                       .settings_count = SETTINGS,
                       .work = desk_run,
                       .arg = (void *)&at_desk};
    assert_int_equal(ranks_run_threads(&job), 0);
}

static void runs_of_communicators_take_turns(void **state)
{
    (void)state;
    run(use_streams);
}

static void a_call_without_a_stream_takes_its_turn(void **state)
{
    (void)state;
    run(use_streams_and_none);
}

static void a_launch_with_room_asks_nothing(void **state)
{
    (void)state;
    run(calls_in_a_row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_with_room_asks_nothing),
        cmocka_unit_test(runs_of_communicators_take_turns),
        cmocka_unit_test(a_call_without_a_stream_takes_its_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
