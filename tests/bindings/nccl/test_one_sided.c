/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Puts, signals and waits over NCCL's API, and what programs do wrong with them. The memory and the
 * streams are those of the kernel that the environment names. */
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime_api.h>

#include "tests/bindings/nccl/config.h"
#include "tests/bindings/nccl/job.h"
#include "tests/support/unit.h"

enum { MOST = 300000 };

/* Memory of the kernel, in a window of the communicator. */
typedef struct space {
    int *at;
    ncclWindow_t window;
} space_t;

static void space_set(job_rank_t *rank, int *at, int first, int count)
{
    int *numbers = malloc((size_t)count * sizeof *numbers);
    for (int i = 0; i < count; i++) {
        numbers[i] = first + i;
    }
    NEED(cudaMemcpy(at, numbers, (size_t)count * sizeof *numbers, cudaMemcpyDefault) ==
         cudaSuccess);
    job_wait(cudaStreamLegacy);
    free(numbers);
}

static void need_numbers(job_rank_t *rank, const int *at, int first, int count)
{
    int wrong = 0, *numbers = malloc((size_t)count * sizeof *numbers);
    job_wait(rank->stream);
    NEED(cudaMemcpy(numbers, at, (size_t)count * sizeof *numbers, cudaMemcpyDefault) ==
         cudaSuccess);
    for (int i = 0; i < count; i++) {
        wrong += numbers[i] != first + i;
    }
    NEED(wrong == 0);
    free(numbers);
}

static space_t space_make(job_rank_t *rank, ncclComm_t comm, int count)
{
    space_t space = {.at = NULL};
    void *memory = NULL;
    NEED_OK(ncclMemAlloc(&memory, (size_t)count * sizeof(int)));
    NEED_OK(ncclCommWindowRegister(comm, memory, (size_t)count * sizeof(int), &space.window, 1));
    space.at = memory;
    space_set(rank, space.at, -count, count);
    return space;
}

static void space_end(job_rank_t *rank, ncclComm_t comm, const space_t *space)
{
    NEED_OK(ncclCommWindowDeregister(comm, space->window));
    NEED_OK(ncclMemFree(space->at));
}

static void signal_to(job_rank_t *rank, ncclComm_t comm, int peer)
{
    NEED_OK(ncclSignal(peer, 0, 0, 0, comm, rank->stream));
}

static void wait_for(job_rank_t *rank, ncclComm_t comm, int peer, int count)
{
    ncclWaitSignalDesc_t wait = {.opCnt = count, .peer = peer};
    NEED_OK(ncclWaitSignal(1, &wait, comm, rank->stream));
}

/* Around a ring, into the second of two windows, from memory that is in none, at an offset of
 * bytes. */
static void put_around(job_rank_t *rank, ncclComm_t comm)
{
    static const int counts[] = {1, 7, 5000, MOST - 2};
    const int right = (rank->rank + 1) % rank->nranks;
    const int left = (rank->rank + rank->nranks - 1) % rank->nranks;
    space_t other = space_make(rank, comm, 16), space = space_make(rank, comm, MOST);
    void *out = NULL;
    NEED_OK(ncclMemAlloc(&out, MOST * sizeof(int)));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        space_set(rank, space.at, -MOST, MOST);
        space_set(rank, out, rank->rank * 10 + (int)i, counts[i]);
        signal_to(rank, comm, left); /* its memory is ready */
        wait_for(rank, comm, right, 1);
        NEED_OK(ncclPutSignal(out, (size_t)counts[i], ncclInt32, right, space.window, sizeof(int),
                              0, 0, 0, comm, rank->stream));
        wait_for(rank, comm, left, 1);
        need_numbers(rank, space.at + 1, left * 10 + (int)i, counts[i]);
        need_numbers(rank, space.at, -MOST, 1);
        need_numbers(rank, space.at + 1 + counts[i], -MOST + 1 + counts[i], 1);
    }
    need_numbers(rank, other.at, -16, 16);
    space_end(rank, comm, &space); /* each rank on its own */
    space_end(rank, comm, &other);
    NEED_OK(ncclMemFree(out));
}

static void put_around_ranks(job_rank_t *rank)
{
    put_around(rank, rank->comm);
}

static void puts_arrive(void **state)
{
    (void)state;
    assert_int_equal(job_run(1, put_around_ranks), 0);
    assert_int_equal(job_run(3, put_around_ranks), 0);
}

static void put_around_without_waiting(job_rank_t *rank)
{
    ncclConfig_t config = config_without_waiting();
    ncclResult_t state = ncclInProgress;
    ncclComm_t comm = NULL;
    NEED(ncclCommInitRankConfig(&comm, rank->nranks, rank->id, rank->rank, &config) ==
         ncclInProgress);
    while (state == ncclInProgress) {
        NEED_OK(ncclCommGetAsyncError(comm, &state));
    }
    NEED(state == ncclSuccess);
    put_around(rank, comm);
    NEED_OK(ncclCommDestroy(comm));
}

static void communicators_without_waiting_put(void **state)
{
    (void)state;
    assert_int_equal(job_run_bare(2, put_around_without_waiting), 0);
}

/* As the all-to-all of NCCL's guide: a barrier of signals, a group of puts, and a wait for all. */
static void exchange(job_rank_t *rank)
{
    enum { EACH = 3000, ROUNDS = 4 };
    const int n = rank->nranks;
    ncclWaitSignalDesc_t *waits = calloc((size_t)n, sizeof *waits);
    space_t in = space_make(rank, rank->comm, n * EACH);
    space_t out = space_make(rank, rank->comm, n * EACH);
    for (int r = 0; r < n; r++) {
        waits[r] = (ncclWaitSignalDesc_t){.opCnt = 1, .peer = r};
    }
    for (int round = 0; round < ROUNDS; round++) {
        space_set(rank, out.at, round + rank->rank * 100000, n * EACH);
        NEED_OK(ncclGroupStart());
        for (int r = 0; r < n; r++) {
            signal_to(rank, rank->comm, r);
        }
        NEED_OK(ncclGroupEnd());
        NEED_OK(ncclWaitSignal(n, waits, rank->comm, rank->stream));
        NEED_OK(ncclGroupStart());
        for (int r = 0; r < n; r++) {
            NEED_OK(ncclPutSignal(out.at + r * EACH, EACH, ncclInt32, r, in.window,
                                  (size_t)rank->rank * EACH * sizeof(int), 0, 0, 0, rank->comm,
                                  rank->stream));
        }
        if (round % 2 != 0) { /* the wait in the same group, beside a collective */
            NEED_OK(ncclWaitSignal(n, waits, rank->comm, rank->stream));
            NEED_OK(ncclAllReduce(out.at, out.at, 1, ncclInt32, ncclMax, rank->comm, rank->stream));
        }
        NEED_OK(ncclGroupEnd());
        if (round % 2 == 0) {
            NEED_OK(ncclWaitSignal(n, waits, rank->comm, rank->stream));
        }
        for (int r = 0; r < n; r++) {
            need_numbers(rank, in.at + r * EACH + 1, round + r * 100000 + rank->rank * EACH + 1,
                         EACH - 1);
        }
    }
    space_end(rank, rank->comm, &in);
    space_end(rank, rank->comm, &out);
    free(waits);
}

static void groups_put_and_wait(void **state)
{
    (void)state;
    assert_int_equal(job_run(3, exchange), 0);
}

/* Several signals are taken by one wait, or by several descriptors for one rank. */
static void count_signals(job_rank_t *rank)
{
    const int peer = 1 - rank->rank;
    ncclWaitSignalDesc_t waits[] = {{.opCnt = 2, .peer = peer}, {.opCnt = 1, .peer = peer}};
    for (int i = 0; i < 6; i++) {
        signal_to(rank, rank->comm, peer);
    }
    wait_for(rank, rank->comm, peer, 3);
    NEED_OK(ncclWaitSignal(2, waits, rank->comm, rank->stream));
    job_wait(rank->stream);
}

static void signals_are_counted(void **state)
{
    (void)state;
    assert_int_equal(job_run(2, count_signals), 0);
}

/* All ranks of one thread, in one group: each waits for what the others put. */
static void one_thread_puts_for_all(void **state)
{
    enum { RANKS = 2, COUNT = 1000 };
    job_rank_t ranks[RANKS] = {{.rank = 0}}, *rank = &ranks[0];
    space_t in[RANKS], out[RANKS];
    ncclComm_t comms[RANKS];
    (void)state;
    assert_int_equal(ncclCommInitAll(comms, RANKS, NULL), ncclSuccess);
    for (int i = 0; i < RANKS; i++) {
        cudaSetDevice(i);
        cudaStreamCreateWithFlags(&ranks[i].stream, cudaStreamNonBlocking);
        in[i] = space_make(rank, comms[i], COUNT);
        out[i] = space_make(rank, comms[i], COUNT);
        space_set(rank, out[i].at, i, COUNT);
    }
    NEED_OK(ncclGroupStart());
    for (int i = 0; i < RANKS; i++) {
        ncclWaitSignalDesc_t wait = {.opCnt = 1, .peer = (i + RANKS - 1) % RANKS};
        NEED_OK(ncclWaitSignal(1, &wait, comms[i], ranks[i].stream));
        NEED_OK(ncclPutSignal(out[i].at, COUNT, ncclInt32, (i + 1) % RANKS, in[i].window, 0, 0, 0,
                              0, comms[i], ranks[i].stream));
    }
    NEED_OK(ncclGroupEnd());
    for (int i = 0; i < RANKS; i++) {
        cudaSetDevice(i);
        need_numbers(&ranks[i], in[i].at, (i + RANKS - 1) % RANKS, COUNT);
        space_end(rank, comms[i], &in[i]);
        space_end(rank, comms[i], &out[i]);
        NEED_OK(ncclCommDestroy(comms[i]));
        cudaStreamDestroy(ranks[i].stream);
        assert_int_equal(ranks[i].wrong, 0);
    }
    cudaSetDevice(0);
}

static float predicted(job_rank_t *rank, const space_t *space)
{
    ncclSimInfo_t info = {.size = sizeof info, .magic = NCCL_SIM_INFO_MAGIC, .version = 23007};
    NEED_OK(ncclGroupStart());
    if (space != NULL) {
        NEED_OK(ncclPutSignal(space->at, 8, ncclInt32, 1 - rank->rank, space->window, 0, 0, 0, 0,
                              rank->comm, rank->stream));
    }
    wait_for(rank, rank->comm, 1 - rank->rank, 1);
    NEED_OK(ncclGroupSimulateEnd(&info));
    return info.estimatedTime;
}

static void predict(job_rank_t *rank)
{
    space_t space = space_make(rank, rank->comm, 8);
    NEED(predicted(rank, NULL) == 0);
    NEED(predicted(rank, &space) > 0);
    space_end(rank, rank->comm, &space);
}

static void groups_are_predicted(void **state)
{
    (void)state;
    assert_int_equal(job_run(2, predict), 0);
}

/* Mistakes ------------------------------------------------------------------------------------- */

/* The call is refused with a sentence that has these words, also in a group, which then does
 * nothing. */
#define NEED_REFUSED(call, words)                                                                  \
    do {                                                                                           \
        NEED((call) == ncclInvalidArgument);                                                       \
        NEED(strstr(ncclGetLastError(NULL), words) != NULL);                                       \
        NEED_OK(ncclGroupStart());                                                                 \
        NEED_OK(ncclSignal(rank->rank, 0, 0, 0, rank->comm, rank->stream));                        \
        NEED((call) == ncclInvalidArgument);                                                       \
        NEED(ncclGroupEnd() == ncclInvalidArgument);                                               \
        NEED(strstr(ncclGetLastError(NULL), words) != NULL);                                       \
    } while (0)

#define PUT(memory, dtype, peer, window, signal, context, flags, comm)                             \
    ncclPutSignal(memory, 1, dtype, peer, window, 0, signal, context, flags, comm, rank->stream)

static void refuse_puts(job_rank_t *rank, const space_t *mine, ncclComm_t other)
{
    ncclWindow_t ended = NULL, none = (ncclWindow_t)mine->at, window = mine->window;
    NEED_OK(ncclCommWindowRegister(rank->comm, mine->at, 4, &ended, 0));
    NEED_OK(ncclCommWindowDeregister(rank->comm, ended));
    NEED_REFUSED(PUT(mine->at, ncclInt32, 0, window, 1, 0, 0, rank->comm), "sigIdx is 1");
    NEED_REFUSED(PUT(mine->at, ncclInt32, 0, window, 0, -1, 0, rank->comm), "ctx is -1");
    NEED_REFUSED(PUT(mine->at, ncclInt32, 0, window, 0, 0, 4, rank->comm), "flags are 0x4");
    NEED_REFUSED(PUT(mine->at, ncclInt32, 2, window, 0, 0, 0, rank->comm), "no rank 2");
    NEED_REFUSED(PUT(mine->at, ncclInt32, -1, window, 0, 0, 0, rank->comm), "no rank -1");
    NEED_REFUSED(PUT(mine->at, 99, 0, window, 0, 0, 0, rank->comm), "no data type 99");
    NEED_REFUSED(PUT(mine->at, ncclInt32, 0, NULL, 0, 0, 0, rank->comm), "the window is NULL");
    NEED_REFUSED(PUT(mine->at, ncclInt32, 0, none, 0, 0, 0, rank->comm), "is no window");
    NEED_REFUSED(PUT(mine->at, ncclInt32, 0, ended, 0, 0, 0, rank->comm), "was deregistered");
    NEED_REFUSED(PUT(mine->at, ncclInt32, 0, window, 0, 0, 0, other), "another communicator");
    NEED_REFUSED(PUT(mine->at, ncclInt32, 0, window, 0, 0, 0, NULL), "comm is NULL");
}

/* weft checks these: in a group that is at its end, as with those of a message. */
static void refuse_memory(job_rank_t *rank, const space_t *mine)
{
    NEED(PUT(NULL, ncclInt32, 0, mine->window, 0, 0, 0, rank->comm) == ncclInvalidArgument);
    NEED(strstr(ncclGetLastError(NULL), "the send buffer is NULL") != NULL);
    NEED(ncclPutSignal(mine->at, 1, ncclInt32, 0, mine->window, SIZE_MAX, 0, 0, 0, rank->comm,
                       rank->stream) == ncclInvalidArgument);
    NEED(strstr(ncclGetLastError(NULL), "an offset of") != NULL);
    NEED_OK(ncclGroupStart());
    NEED_OK(PUT(NULL, ncclInt32, 0, mine->window, 0, 0, 0, rank->comm));
    NEED(ncclGroupEnd() == ncclInvalidArgument);
    NEED(strstr(ncclGetLastError(NULL), "the send buffer is NULL") != NULL);
}

static ncclResult_t wait_of(job_rank_t *rank, int count, int peer, int signal, int context)
{
    ncclWaitSignalDesc_t waits[2] = {
        {.opCnt = 1, .peer = rank->rank},
        {.opCnt = count, .peer = peer, .sigIdx = signal, .ctx = context}};
    return ncclWaitSignal(2, waits, rank->comm, rank->stream);
}

static void refuse_waits(job_rank_t *rank)
{
    ncclWaitSignalDesc_t wait = {.opCnt = 1};
    NEED_REFUSED(ncclSignal(0, 2, 0, 0, rank->comm, rank->stream), "ncclSignal: sigIdx is 2");
    NEED_REFUSED(ncclSignal(0, 0, 0, 1, rank->comm, rank->stream), "flags are 0x1");
    NEED_REFUSED(ncclSignal(7, 0, 0, 0, rank->comm, rank->stream), "no rank 7");
    NEED_REFUSED(ncclSignal(0, 0, 0, 0, NULL, rank->stream), "comm is NULL");
    NEED_REFUSED(wait_of(rank, 0, 0, 0, 0), "ncclWaitSignal: opCnt is 0");
    NEED_REFUSED(wait_of(rank, -3, 0, 0, 0), "opCnt is -3");
    NEED_REFUSED(wait_of(rank, 1, 2, 0, 0), "no rank 2");
    NEED_REFUSED(wait_of(rank, 1, 0, 1, 0), "sigIdx is 1");
    NEED_REFUSED(wait_of(rank, 1, 0, 0, 1), "ctx is 1");
    NEED_REFUSED(ncclWaitSignal(0, &wait, rank->comm, rank->stream), "nDesc is 1 at least");
    NEED_REFUSED(ncclWaitSignal(-1, &wait, rank->comm, rank->stream), "nDesc is 1 at least");
    NEED_REFUSED(ncclWaitSignal(1, NULL, rank->comm, rank->stream), "signalDescs is NULL");
    NEED_REFUSED(ncclWaitSignal(1, &wait, NULL, rank->stream), "comm is NULL");
}

/* What was refused left no signal and no window behind: those of the ranks still belong
 * together. */
static void make_mistakes(job_rank_t *rank)
{
    space_t mine = space_make(rank, rank->comm, 8);
    ncclWindow_t late = NULL;
    ncclComm_t other = NULL;
    NEED_OK(ncclCommSplit(rank->comm, rank->rank, 0, &other, NULL));
    refuse_puts(rank, &mine, other);
    refuse_memory(rank, &mine);
    refuse_waits(rank);
    NEED_OK(ncclCommWindowRegister(rank->comm, mine.at, 32, &late, 0));
    NEED_OK(ncclGroupStart());
    NEED_OK(PUT(mine.at, ncclInt32, 0, late, 0, 0, 0, rank->comm));
    NEED_OK(ncclCommWindowDeregister(rank->comm, late));
    NEED(ncclGroupEnd() == ncclInvalidArgument);
    NEED(strstr(ncclGetLastError(NULL), "before the end of the group") != NULL);
    NEED_OK(ncclCommDestroy(other));
    put_around(rank, rank->comm);
    space_end(rank, rank->comm, &mine);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    assert_int_equal(job_run(2, make_mistakes), 0);
}

/* The windows of two ranks differ: the one with the smaller is told, and so is who waits for it. */
static void put_beyond_the_end(job_rank_t *rank)
{
    const char *const words = "rank 0 put 40 bytes at offset 0 into window 1 of rank 1";
    ncclComm_t comm = NULL;
    NEED_OK(ncclCommInitRank(&comm, rank->nranks, rank->id, rank->rank));
    space_t space = space_make(rank, comm, rank->rank == 0 ? 10 : 9);
    ncclWaitSignalDesc_t wait = {.opCnt = 1, .peer = 1 - rank->rank};
    ncclResult_t state = ncclSuccess;
    job_meet(rank);
    if (rank->rank == 0) {
        (void)ncclPutSignal(space.at, 10, ncclInt32, 1, space.window, 0, 0, 0, 0, comm,
                            rank->stream);
    }
    (void)ncclWaitSignal(1, &wait, comm, rank->stream);
    (void)cudaStreamSynchronize(rank->stream);
    NEED_OK(ncclCommGetAsyncError(comm, &state));
    NEED(state == (rank->rank == 1 ? ncclInvalidUsage : ncclRemoteError) ||
         state == ncclInvalidUsage);
    NEED(strstr(ncclGetLastError(comm), words) != NULL);
    NEED_OK(ncclCommWindowDeregister(comm, space.window));
    NEED_OK(ncclCommAbort(comm));
    NEED_OK(ncclMemFree(space.at));
}

static void puts_beyond_the_end_are_named(void **state)
{
    (void)state;
    assert_int_equal(job_run_bare(2, put_beyond_the_end), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(puts_arrive),
        cmocka_unit_test(communicators_without_waiting_put),
        cmocka_unit_test(groups_put_and_wait),
        cmocka_unit_test(signals_are_counted),
        cmocka_unit_test(one_thread_puts_for_all),
        cmocka_unit_test(groups_are_predicted),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(puts_beyond_the_end_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
