/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators: made in groups and without waiting, split; and what groups keep for their end. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cuda_runtime_api.h>

#include "tests/bindings/nccl/config.h"
#include "tests/bindings/nccl/job.h"
#include "tests/support/unit.h"

enum { RANKS = 3 };

/* The state that the communicator comes to. */
static ncclResult_t settled(ncclComm_t comm)
{
    ncclResult_t state = ncclInProgress;
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < 60000 && state == ncclInProgress; i++) {
        if (ncclCommGetAsyncError(comm, &state) != ncclSuccess) {
            return ncclInternalError;
        }
        nanosleep(&pause, NULL);
    }
    return state;
}

/* One thread with several devices -------------------------------------------------------------- */

static void one_thread_has_all_ranks(void **state)
{
    const int devices[RANKS] = {2, 0, 1};
    job_rank_t self = {.rank = -1}, *rank = &self;
    ncclComm_t comms[RANKS];
    void *memory[RANKS];
    cudaStream_t streams[RANKS];
    (void)state;
    assert_int_equal(ncclCommInitAll(comms, RANKS, devices), ncclSuccess);
    NEED_OK(ncclGroupStart());
    for (int i = 0; i < RANKS; i++) {
        int device = -1, number = -1, count = -1, value = 10 + i;
        cudaSetDevice(devices[i]);
        cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking);
        NEED_OK(ncclCommCuDevice(comms[i], &device));
        NEED_OK(ncclCommUserRank(comms[i], &number));
        NEED_OK(ncclCommCount(comms[i], &count));
        NEED(device == devices[i] && number == i && count == RANKS);
        memory[i] = job_device_copy(&value, sizeof value);
        NEED_OK(ncclAllReduce(memory[i], memory[i], 1, ncclInt32, ncclSum, comms[i], streams[i]));
    }
    NEED_OK(ncclGroupEnd());
    for (int i = 0; i < RANKS; i++) {
        int value = 0;
        self.stream = streams[i];
        job_device_take(rank, memory[i], &value, sizeof value);
        NEED(value == 33);
        cudaStreamDestroy(streams[i]);
    }
    for (int i = 0; i < RANKS; i++) {
        NEED_OK(ncclCommFinalize(comms[i]));
        NEED_OK(ncclCommDestroy(comms[i]));
    }
    assert_int_equal(self.wrong, 0);
}

/* Splits in a group wait for each other, so they must run at once. Ranks 0 and 2 are one child. */
static void one_thread_splits_in_a_group(void **state)
{
    job_rank_t self = {.rank = -1}, *rank = &self;
    ncclComm_t comms[RANKS], children[RANKS];
    (void)state;
    cudaSetDevice(0);
    assert_int_equal(ncclCommInitAll(comms, RANKS, NULL), ncclSuccess);
    NEED_OK(ncclGroupStart());
    for (int i = 0; i < RANKS; i++) {
        NEED_OK(ncclCommSplit(comms[i], i == 1 ? NCCL_SPLIT_NOCOLOR : 5, -i, &children[i], NULL));
    }
    NEED_OK(ncclGroupEnd());
    assert_null(children[1]);
    for (int i = 0; i < RANKS; i += 2) {
        int number = -1, count = -1;
        NEED_OK(ncclCommUserRank(children[i], &number));
        NEED_OK(ncclCommCount(children[i], &count));
        NEED(count == 2 && number == (i == 0)); /* by key */
        NEED_OK(ncclCommDestroy(children[i]));
    }
    for (int i = 0; i < RANKS; i++) {
        NEED_OK(ncclCommDestroy(comms[i]));
    }
    assert_int_equal(self.wrong, 0);
}

/* Several ids ---------------------------------------------------------------------------------- */

enum { IDS = 3 };

/* What rank 1 gives in place of what the others give. */
typedef enum wrong_ids {
    IDS_RIGHT,
    IDS_FEWER,
    IDS_ONE, /* with the function that takes one */
    IDS_OTHER_LAST,
    IDS_OTHER_FIRST,
    IDS_DAMAGED
} wrong_ids_t;

static struct {
    wrong_ids_t wrong;
    ncclUniqueId id[IDS + 1];
} several;

static ncclResult_t join_with_ids(job_rank_t *rank, ncclComm_t *comm)
{
    ncclUniqueId ids[IDS];
    int n = IDS;
    memcpy(ids, several.id, sizeof ids);
    if (rank->rank == 1) {
        switch (several.wrong) {
        case IDS_RIGHT:
            break;
        case IDS_FEWER:
            n = 2;
            break;
        case IDS_ONE:
            return ncclCommInitRank(comm, rank->nranks, ids[0], rank->rank);
        case IDS_OTHER_LAST:
            ids[IDS - 1] = several.id[IDS];
            break;
        case IDS_OTHER_FIRST:
            ids[0] = several.id[IDS];
            break;
        case IDS_DAMAGED:
            ids[IDS - 1].internal[40] ^= 1;
            break;
        }
    }
    return ncclCommInitRankScalable(comm, rank->nranks, rank->rank, n, ids, NULL);
}

static void make_with_ids(job_rank_t *rank)
{
    ncclComm_t comm = NULL;
    const bool damaged = several.wrong == IDS_DAMAGED && rank->rank == 1;
    const bool apart = several.wrong == IDS_OTHER_FIRST || several.wrong == IDS_DAMAGED;
    ncclResult_t result = join_with_ids(rank, &comm);
    const char *text = ncclGetLastError(NULL);
    if (several.wrong == IDS_RIGHT) {
        NEED_OK(result);
        job_need_sum(rank, comm, rank->rank + 1, 6);
        NEED_OK(ncclCommDestroy(comm));
        return;
    }
    NEED(comm == NULL);
    NEED(result == (damaged ? ncclInvalidArgument : apart ? ncclTimeout : ncclInvalidUsage));
    NEED(strstr(text, damaged ? "commId 2 of 3: unique id: these bytes are no id"
                      : apart ? "ranks meet at the first of several ids"
                              : "the ranks differ in boot.label: rank 1") != NULL);
}

static void run_with_ids(wrong_ids_t wrong)
{
    several.wrong = wrong;
    for (int i = 0; i <= IDS; i++) {
        assert_int_equal(ncclGetUniqueId(&several.id[i]), ncclSuccess);
    }
    assert_int_equal(job_run_bare(RANKS, make_with_ids), 0);
}

static void ranks_join_with_several_ids(void **state)
{
    (void)state;
    run_with_ids(IDS_RIGHT);
}

/* The moment they join, and not at the end of init_timeout. */
static void ranks_with_other_ids_are_told(void **state)
{
    (void)state;
    run_with_ids(IDS_FEWER);
    run_with_ids(IDS_ONE);
    run_with_ids(IDS_OTHER_LAST);
}

/* They cannot meet: only the deadline ends it. */
static void ranks_with_another_first_id_time_out(void **state)
{
    (void)state;
    setenv("WEFT_BOOT_INIT_TIMEOUT", "2s", 1);
    run_with_ids(IDS_OTHER_FIRST);
    run_with_ids(IDS_DAMAGED);
    unsetenv("WEFT_BOOT_INIT_TIMEOUT");
}

/* Without waiting ------------------------------------------------------------------------------ */

static void make_without_waiting(job_rank_t *rank)
{
    ncclConfig_t config = config_without_waiting();
    ncclComm_t comm = NULL, child = NULL;
    ncclResult_t result =
        ncclCommInitRankConfig(&comm, rank->nranks, rank->id, rank->rank, &config);
    NEED(result == ncclInProgress && comm != NULL);
    NEED(settled(comm) == ncclSuccess);
    job_need_sum(rank, comm, rank->rank + 1, 6);
    NEED(ncclCommSplit(comm, 0, 0, &child, NULL) == ncclInProgress);
    NEED(settled(comm) == ncclSuccess && settled(child) == ncclSuccess);
    job_need_sum(rank, child, 2, 6);
    NEED_OK(ncclCommDestroy(comm));
    job_need_sum(rank, child, 3, 9);
    NEED_OK(ncclCommDestroy(child));
}

static void communicators_made_without_waiting(void **state)
{
    (void)state;
    assert_int_equal(job_run_bare(RANKS, make_without_waiting), 0);
}

/* A group begins at its end: until then its parent is as good as it was. */
static void split_twice_without_waiting(job_rank_t *rank)
{
    enum { LAPS = 20 };
    ncclConfig_t config = config_without_waiting();
    ncclComm_t comm = NULL, child[2], left_out;
    NEED(ncclCommInitRankConfig(&comm, rank->nranks, rank->id, rank->rank, &config) ==
         ncclInProgress);
    NEED(settled(comm) == ncclSuccess);
    for (int lap = 0; lap < LAPS && rank->wrong == 0; lap++) {
        left_out = comm;
        NEED_OK(ncclGroupStart());
        NEED_OK(ncclCommSplit(comm, 0, -rank->rank, &child[0], NULL));
        NEED_OK(ncclCommSplit(comm, NCCL_SPLIT_NOCOLOR, 0, &left_out, NULL));
        NEED_OK(ncclCommSplit(comm, 0, rank->rank, &child[1], NULL));
        NEED(ncclGroupEnd() == ncclInProgress);
        /* All of them are made as soon as the parent is as before. */
        NEED(settled(comm) == ncclSuccess && left_out == NULL);
        for (int i = 0; i < 2 && rank->wrong == 0; i++) {
            int number = -1;
            NEED_OK(ncclCommUserRank(child[i], &number));
            NEED(number == (i == 0 ? rank->nranks - 1 - rank->rank : rank->rank));
            job_need_sum(rank, child[i], 2, 6);
            NEED_OK(ncclCommDestroy(child[i]));
        }
    }
    NEED_OK(ncclCommDestroy(comm));
}

static void splits_of_one_parent_without_waiting(void **state)
{
    (void)state;
    assert_int_equal(job_run_bare(RANKS, split_twice_without_waiting), 0);
}

/* Operations of the parent, before and behind the split, follow it. */
static void split_among_operations(job_rank_t *rank)
{
    enum { LAPS = 20 };
    ncclConfig_t config = config_without_waiting();
    ncclComm_t comm = NULL, child = NULL;
    NEED(ncclCommInitRankConfig(&comm, rank->nranks, rank->id, rank->rank, &config) ==
         ncclInProgress);
    NEED(settled(comm) == ncclSuccess);
    for (int lap = 0; lap < LAPS && rank->wrong == 0; lap++) {
        int value = 1;
        void *device = job_device_copy(&value, sizeof value);
        NEED_OK(ncclGroupStart());
        NEED_OK(ncclAllReduce(device, device, 1, ncclInt32, ncclSum, comm, rank->stream));
        NEED_OK(ncclCommSplit(comm, 0, 0, &child, NULL));
        NEED_OK(ncclAllReduce(device, device, 1, ncclInt32, ncclSum, comm, rank->stream));
        NEED_OK(ncclGroupEnd());
        job_device_take(rank, device, &value, sizeof value);
        NEED(value == rank->nranks * rank->nranks);
        job_need_sum(rank, child, 2, 6);
        NEED_OK(ncclCommDestroy(child));
    }
    NEED_OK(ncclCommDestroy(comm));
}

static void a_split_among_operations_without_waiting(void **state)
{
    (void)state;
    assert_int_equal(job_run_bare(RANKS, split_among_operations), 0);
}

static void a_communicator_in_the_making_cannot_be_used(void **state)
{
    ncclConfig_t config = config_without_waiting();
    ncclUniqueId id;
    ncclComm_t comm = NULL;
    ncclResult_t async = ncclSuccess;
    int count = 0;
    (void)state;
    assert_int_equal(ncclGetUniqueId(&id), ncclSuccess);
    /* The other rank never comes. */
    assert_int_equal(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInProgress);
    assert_int_equal(ncclCommGetAsyncError(comm, &async), ncclSuccess);
    assert_int_equal(async, ncclInProgress);
    assert_int_equal(ncclCommCount(comm, &count), ncclInvalidArgument);
    assert_non_null(strstr(ncclGetLastError(comm), "still being made"));
    assert_int_equal(ncclCommAbort(comm), ncclSuccess);
}

static void an_abort_while_it_is_made_is_told_to_the_others(void **state)
{
    ncclConfig_t config = config_without_waiting();
    ncclUniqueId id;
    ncclComm_t comms[2] = {NULL, NULL};
    (void)state;
    assert_int_equal(ncclGetUniqueId(&id), ncclSuccess);
    for (int rank = 0; rank < 2; rank++) {
        /* The third rank never comes. */
        assert_int_equal(ncclCommInitRankConfig(&comms[rank], 3, id, rank, &config),
                         ncclInProgress);
    }
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    assert_int_equal(ncclCommAbort(comms[1]), ncclSuccess);
    assert_int_equal(settled(comms[0]), ncclRemoteError);
    assert_non_null(strstr(ncclGetLastError(comms[0]), "cancelled"));
    assert_int_equal(ncclCommAbort(comms[0]), ncclSuccess);
}

static void a_failure_to_make_one_is_told(void **state)
{
    ncclConfig_t config = config_without_waiting();
    ncclUniqueId id;
    ncclComm_t comm = NULL;
    (void)state;
    setenv("WEFT_BOOT_INIT_TIMEOUT", "1s", 1);
    assert_int_equal(ncclGetUniqueId(&id), ncclSuccess);
    assert_int_equal(ncclCommInitRankConfig(&comm, 2, id, 1, &config), ncclInProgress);
    ncclResult_t state_now = settled(comm);
    assert_true(state_now != ncclSuccess && state_now != ncclInProgress);
    assert_true(strlen(ncclGetLastError(comm)) > 10);
    assert_int_equal(ncclAllReduce(NULL, NULL, 0, ncclInt8, ncclSum, comm, NULL), state_now);
    assert_int_equal(ncclCommAbort(comm), ncclSuccess);
    /* And where the caller waits, there is no handle. */
    comm = (ncclComm_t)&id;
    assert_int_not_equal(ncclCommInitRank(&comm, 2, id, 1), ncclSuccess);
    assert_null(comm);
    unsetenv("WEFT_BOOT_INIT_TIMEOUT");
    /* What nobody made is told at once. */
    memset(&id, 0x5a, sizeof id);
    comm = (ncclComm_t)&id;
    assert_int_equal(ncclCommInitRankConfig(&comm, 2, id, 1, &config), ncclInvalidArgument);
    assert_null(comm);
}

/* Groups --------------------------------------------------------------------------------------- */

static void group_rules(job_rank_t *rank)
{
    int value = 1;
    void *device = job_device_copy(&value, sizeof value);
    NEED(ncclGroupEnd() == ncclInvalidUsage);
    /* Nested groups end once. Nothing starts before. */
    NEED_OK(ncclGroupStart());
    NEED_OK(ncclGroupStart());
    NEED_OK(ncclAllReduce(device, device, 1, ncclInt32, ncclSum, rank->comm, rank->stream));
    NEED_OK(ncclGroupEnd());
    NEED_OK(ncclAllReduce(device, device, 1, ncclInt32, ncclMax, rank->comm, rank->stream));
    NEED_OK(ncclGroupEnd());
    job_device_take(rank, device, &value, sizeof value);
    NEED(value == rank->nranks);
    /* A group with a wrong call does nothing. */
    value = 7;
    device = job_device_copy(&value, sizeof value);
    NEED_OK(ncclGroupStart());
    NEED_OK(ncclAllReduce(device, device, 1, ncclInt32, ncclSum, rank->comm, rank->stream));
    NEED(ncclAllReduce(device, device, 1, 99, ncclSum, rank->comm, rank->stream) ==
         ncclInvalidArgument);
    NEED(ncclGroupEnd() == ncclInvalidArgument);
    NEED(strstr(ncclGetLastError(NULL), "no data type 99") != NULL);
    job_device_take(rank, device, &value, sizeof value);
    NEED(value == 7);
    job_need_sum(rank, rank->comm, 1, rank->nranks);
}

static void groups_end_once_or_not_at_all(void **state)
{
    (void)state;
    assert_int_equal(job_run(2, group_rules), 0);
}

/* Several communicators of the same ranks, each in a stream, called in different orders. */
static void in_other_orders(job_rank_t *rank)
{
    ncclComm_t child = NULL;
    cudaStream_t other;
    int one = 1, two = 2;
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    NEED_OK(ncclCommSplit(rank->comm, 0, 0, &child, NULL));
    void *first = job_device_copy(&one, sizeof one), *second = job_device_copy(&two, sizeof two);
    NEED_OK(ncclGroupStart());
    for (int i = 0; i < 2; i++) {
        const bool parent = (i + rank->rank) % 2 == 0;
        void *memory = parent ? first : second;
        NEED_OK(ncclAllReduce(memory, memory, 1, ncclInt32, ncclSum, parent ? rank->comm : child,
                              parent ? rank->stream : other));
    }
    NEED_OK(ncclGroupEnd());
    job_wait(other);
    job_device_take(rank, first, &one, sizeof one);
    job_device_take(rank, second, &two, sizeof two);
    NEED(one == rank->nranks && two == 2 * rank->nranks);
    cudaStreamDestroy(other);
    NEED_OK(ncclCommDestroy(child));
}

static void communicators_in_any_order(void **state)
{
    (void)state;
    assert_int_equal(job_run(2, in_other_orders), 0);
}

/* Without some --------------------------------------------------------------------------------- */

/* Rank 1 is excluded and does not call. The parent is good afterwards. */
static void shrink_by_one(job_rank_t *rank)
{
    int exclude[] = {1}, all[] = {0, 1, 2}, beyond[] = {3}, number = -1, count = -1;
    ncclComm_t child = NULL;
    if (rank->rank != 1) {
        NEED_OK(ncclCommShrink(rank->comm, exclude, 1, &child, NULL, NCCL_SHRINK_DEFAULT));
        NEED_OK(ncclCommUserRank(child, &number));
        NEED_OK(ncclCommCount(child, &count));
        NEED(count == 2 && number == rank->rank / 2);
        job_need_sum(rank, child, rank->rank, 2);
        NEED_OK(ncclCommDestroy(child));
    } else {
        NEED(ncclCommShrink(rank->comm, exclude, 1, &child, NULL, 0) == ncclInvalidArgument);
        NEED(strstr(ncclGetLastError(NULL), "rank 1 excludes itself") != NULL);
        NEED(ncclCommShrink(rank->comm, beyond, 1, &child, NULL, 0) == ncclInvalidArgument);
        NEED(strstr(ncclGetLastError(NULL), "has rank 3") != NULL);
        NEED(ncclCommShrink(rank->comm, all, 3, &child, NULL, 0) == ncclInvalidArgument);
        NEED(ncclCommShrink(rank->comm, all, 0, &child, NULL, 0) == ncclInvalidArgument);
        NEED(ncclCommShrink(rank->comm, NULL, 1, &child, NULL, 0) == ncclInvalidArgument);
        NEED(ncclCommShrink(rank->comm, all, 1, &child, NULL, 6) == ncclInvalidArgument);
    }
    job_need_sum(rank, rank->comm, 1, rank->nranks);
}

static void a_communicator_of_fewer_ranks(void **state)
{
    (void)state;
    assert_int_equal(job_run(RANKS, shrink_by_one), 0);
}

static void one_thread_shrinks_in_a_group(void **state)
{
    job_rank_t self = {.rank = -1}, *rank = &self;
    ncclComm_t comms[RANKS], children[RANKS] = {NULL};
    int exclude[] = {0};
    (void)state;
    cudaSetDevice(0);
    assert_int_equal(ncclCommInitAll(comms, RANKS, NULL), ncclSuccess);
    NEED_OK(ncclGroupStart());
    for (int i = 1; i < RANKS; i++) {
        NEED_OK(ncclCommShrink(comms[i], exclude, 1, &children[i], NULL, NCCL_SHRINK_ABORT));
    }
    NEED_OK(ncclGroupEnd());
    for (int i = 0; i < RANKS; i++) {
        int count = -1;
        NEED(children[i] == NULL ||
             (ncclCommCount(children[i], &count) == ncclSuccess && count == 2));
        NEED_OK(ncclCommDestroy(children[i]));
        NEED_OK(ncclCommDestroy(comms[i]));
    }
    assert_int_equal(self.wrong, 0);
}

/* Rank 0 gives up. What the others had begun fails; they go on without it. */
static void shrink_after_a_failure(job_rank_t *rank)
{
    int exclude[] = {0};
    ncclConfig_t config = config_without_waiting();
    ncclComm_t comm = NULL, child = NULL;
    ncclResult_t state = ncclSuccess;
    void *device = job_device_copy(&(int){1}, sizeof(int));
    NEED_OK(ncclCommInitRank(&comm, rank->nranks, rank->id, rank->rank));
    job_need_sum(rank, comm, 1, rank->nranks);
    job_meet(rank);
    if (rank->rank == 0) {
        NEED_OK(ncclCommAbort(comm));
        cudaFree(device);
        return;
    }
    /* Or the call itself hears of it. */
    (void)ncclAllReduce(device, device, 1, ncclInt32, ncclSum, comm, rank->stream);
    cudaStreamSynchronize(rank->stream);
    cudaFree(device);
    NEED_OK(ncclCommGetAsyncError(comm, &state));
    NEED(state == ncclRemoteError);
    NEED(ncclCommShrink(comm, exclude, 1, &child, NULL, NCCL_SHRINK_DEFAULT) == ncclRemoteError);
    NEED(strstr(ncclGetLastError(NULL), "NCCL_SHRINK_ABORT") != NULL && child == NULL);
    NEED(ncclCommShrink(comm, exclude, 1, &child, &config, NCCL_SHRINK_ABORT) == ncclInProgress);
    NEED(settled(child) == ncclSuccess);
    job_need_sum(rank, child, rank->rank, 3);
    NEED_OK(ncclCommDestroy(child));
    NEED_OK(ncclCommDestroy(comm));
}

static void survivors_shrink(void **state)
{
    (void)state;
    assert_int_equal(job_run_bare(RANKS, shrink_after_a_failure), 0);
}

static void revoke_and_shrink(job_rank_t *rank)
{
    int exclude[] = {2};
    ncclComm_t child = NULL;
    NEED(ncclCommRevoke(rank->comm, 1) == ncclInvalidArgument);
    NEED_OK(ncclCommRevoke(rank->comm, NCCL_REVOKE_DEFAULT));
    NEED(ncclAllReduce(NULL, NULL, 0, ncclInt8, ncclSum, rank->comm, rank->stream) ==
         ncclInvalidUsage);
    NEED(strstr(ncclGetLastError(NULL), "is revoked") != NULL);
    NEED(ncclCommFinalize(rank->comm) == ncclInvalidArgument); /* and it is not finalized */
    NEED(strstr(ncclGetLastError(NULL), "is revoked") != NULL);
    if (rank->rank != 2) {
        NEED_OK(ncclCommShrink(rank->comm, exclude, 1, &child, NULL, NCCL_SHRINK_DEFAULT));
        job_need_sum(rank, child, 1, 2);
        NEED_OK(ncclCommDestroy(child));
    }
}

static void revoked_communicators_can_shrink(void **state)
{
    (void)state;
    assert_int_equal(job_run(RANKS, revoke_and_shrink), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_has_all_ranks),
        cmocka_unit_test(one_thread_splits_in_a_group),
        cmocka_unit_test(ranks_join_with_several_ids),
        cmocka_unit_test(ranks_with_other_ids_are_told),
        cmocka_unit_test(ranks_with_another_first_id_time_out),
        cmocka_unit_test(communicators_made_without_waiting),
        cmocka_unit_test(an_abort_while_it_is_made_is_told_to_the_others),
        cmocka_unit_test(a_failure_to_make_one_is_told),
        cmocka_unit_test(groups_end_once_or_not_at_all),
        cmocka_unit_test(communicators_in_any_order),
        cmocka_unit_test(a_communicator_of_fewer_ranks),
        cmocka_unit_test(one_thread_shrinks_in_a_group),
        cmocka_unit_test(survivors_shrink),
        cmocka_unit_test(revoked_communicators_can_shrink),
        cmocka_unit_test(splits_of_one_parent_without_waiting),
        cmocka_unit_test(a_split_among_operations_without_waiting),
        cmocka_unit_test(a_communicator_in_the_making_cannot_be_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
