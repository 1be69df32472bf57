/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators whose ranks change: growing, what is left after a revocation, and several splits in
 * one group. */
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime_api.h>

#include "tests/bindings/nccl/config.h"
#include "tests/bindings/nccl/job.h"
#include "tests/support/unit.h"

enum { OLD = 2, ALL = 4 };

static void need_ranks(job_rank_t *rank, ncclComm_t comm, int number, int count)
{
    int got_number = -1, got_count = -1;
    NEED_OK(ncclCommUserRank(comm, &got_number));
    NEED_OK(ncclCommCount(comm, &got_count));
    NEED(got_number == number && got_count == count);
}

/* Growing -------------------------------------------------------------------------------------- */

static ncclUniqueId further; /* from the rank that makes it to those that wait at the meeting */

/* Ranks 0 and 1 have a communicator. Rank 1 makes the id; ranks 2 and 3 come to it. */
static void grow_by_two(job_rank_t *rank)
{
    ncclComm_t comm = NULL, grown = NULL;
    const bool old = rank->rank < OLD, root = rank->rank == 1;
    if (old) {
        NEED_OK(ncclCommInitRank(&comm, OLD, rank->id, rank->rank));
    }
    if (root) {
        NEED(ncclCommGetUniqueId(comm, NULL) == ncclInvalidArgument);
        NEED_OK(ncclCommGetUniqueId(comm, &further));
    }
    job_meet(rank);
    if (old) {
        NEED_OK(ncclCommGrow(comm, ALL, root ? &further : NULL, -1, &grown, NULL));
    } else {
        NEED_OK(ncclCommGrow(NULL, ALL, &further, rank->rank, &grown, NULL));
    }
    need_ranks(rank, grown, rank->rank, ALL);
    job_need_sum(rank, grown, rank->rank + 1, 10);
    if (old) {
        job_need_sum(rank, comm, 1, OLD); /* the old one is as it was */
        NEED_OK(ncclCommDestroy(comm));
    }
    NEED_OK(ncclCommDestroy(grown));
}

static void a_communicator_takes_in_ranks(void **state)
{
    (void)state;
    assert_int_equal(job_run_bare(ALL, grow_by_two), 0);
}

/* The verdict is that of all ranks, and nobody waits for those that never come. */
static void grow_with_mistakes(job_rank_t *rank)
{
    ncclComm_t grown = NULL;
    NEED(ncclCommGrow(rank->comm, OLD, NULL, -1, &grown, NULL) == ncclInvalidArgument);
    NEED(strstr(ncclGetLastError(NULL), "2 ranks are not more than 2") != NULL);
    NEED(ncclCommGrow(rank->comm, ALL, NULL, 1, &grown, NULL) == ncclInvalidArgument);
    NEED(ncclCommGrow(rank->comm, ALL, NULL, -1, NULL, NULL) == ncclInvalidArgument);
    NEED(ncclCommGrow(NULL, ALL, NULL, 2, &grown, NULL) == ncclInvalidArgument);
    NEED(ncclCommGrow(NULL, ALL, &rank->id, -1, &grown, NULL) == ncclInvalidArgument);
    NEED(ncclCommGrow(rank->comm, ALL, NULL, -1, &grown, NULL) == ncclInvalidUsage);
    NEED(strstr(ncclGetLastError(NULL), "no rank of the communicator gave a uniqueId") != NULL);
    NEED(ncclCommGrow(rank->comm, ALL, &rank->id, -1, &grown, NULL) == ncclInvalidUsage);
    NEED(strstr(ncclGetLastError(NULL), "several ranks") != NULL && grown == NULL);
    job_need_sum(rank, rank->comm, 1, OLD);
}

static void wrong_growth_is_refused(void **state)
{
    (void)state;
    assert_int_equal(job_run(OLD, grow_with_mistakes), 0);
}

static void one_thread_grows_in_a_group(void **state)
{
    job_rank_t self = {.rank = -1}, *rank = &self;
    ncclComm_t comms[OLD], grown[ALL];
    ncclUniqueId id;
    (void)state;
    cudaSetDevice(0);
    assert_int_equal(ncclCommInitAll(comms, OLD, NULL), ncclSuccess);
    NEED_OK(ncclCommGetUniqueId(comms[0], &id));
    NEED_OK(ncclGroupStart());
    for (int i = 0; i < ALL; i++) {
        cudaSetDevice(i);
        NEED_OK(i < OLD ? ncclCommGrow(comms[i], ALL, i == 0 ? &id : NULL, -1, &grown[i], NULL)
                        : ncclCommGrow(NULL, ALL, &id, i, &grown[i], NULL));
    }
    NEED_OK(ncclGroupEnd());
    for (int i = 0; i < ALL; i++) {
        need_ranks(rank, grown[i], i, ALL);
        NEED_OK(ncclCommDestroy(grown[i]));
        NEED_OK(ncclCommDestroy(i < OLD ? comms[i] : NULL));
    }
    assert_int_equal(self.wrong, 0);
}

/* After a revocation --------------------------------------------------------------------------- */

static void revoke_and_split(job_rank_t *rank)
{
    ncclComm_t child = NULL;
    ncclResult_t state = ncclInternalError;
    NEED_OK(ncclCommRevoke(rank->comm, NCCL_REVOKE_DEFAULT));
    NEED_OK(ncclCommGetAsyncError(rank->comm, &state));
    NEED(state == ncclSuccess); /* it is quiet */
    for (int again = 0; again < 2; again++) {
        NEED_OK(ncclCommSplit(rank->comm, rank->rank % 2, -rank->rank, &child, NULL));
        need_ranks(rank, child, rank->rank < 2, 2);
        job_need_sum(rank, child, rank->rank, rank->rank % 2 == 0 ? 2 : 4);
        NEED_OK(ncclCommDestroy(child));
    }
    NEED_OK(ncclCommSplit(rank->comm, rank->rank == 0 ? NCCL_SPLIT_NOCOLOR : 0, 0, &child, NULL));
    NEED((child == NULL) == (rank->rank == 0));
    NEED_OK(ncclCommDestroy(child));
    NEED(ncclCommFinalize(rank->comm) == ncclInvalidArgument);
}

static void revoked_communicators_can_split(void **state)
{
    (void)state;
    assert_int_equal(job_run(ALL, revoke_and_split), 0);
}

/* Groups --------------------------------------------------------------------------------------- */

/* Rows and columns of a square, as programs of several dimensions make them. */
static void split_twice(job_rank_t *rank)
{
    ncclComm_t row = NULL, column = NULL;
    const int x = rank->rank % 2, y = rank->rank / 2;
    NEED_OK(ncclGroupStart());
    NEED_OK(ncclCommSplit(rank->comm, y, x, &row, NULL));
    NEED_OK(ncclCommSplit(rank->comm, x, y, &column, NULL));
    NEED_OK(ncclGroupEnd());
    need_ranks(rank, row, x, 2);
    need_ranks(rank, column, y, 2);
    job_need_sum(rank, row, rank->rank, 4 * y + 1);
    job_need_sum(rank, column, rank->rank, 2 * x + 2);
    NEED_OK(ncclCommDestroy(row));
    NEED_OK(ncclCommDestroy(column));
}

static void a_group_splits_twice(void **state)
{
    (void)state;
    assert_int_equal(job_run(ALL, split_twice), 0);
}

/* Nothing of a group that failed is begun, and its communicators are as they were. */
static void fail_a_group(job_rank_t *rank)
{
    ncclConfig_t config = config_without_waiting();
    ncclComm_t child = NULL, grown = NULL;
    NEED_OK(ncclGroupStart());
    NEED_OK(ncclCommSplit(rank->comm, 0, 0, &child, &config));
    NEED(ncclCommGrow(NULL, 1, NULL, 0, &grown, NULL) == ncclInvalidArgument);
    NEED(ncclGroupEnd() == ncclInvalidArgument);
    NEED(child == NULL && grown == NULL);
    job_need_sum(rank, rank->comm, 1, rank->nranks);
}

static void a_failed_group_leaves_its_communicators(void **state)
{
    (void)state;
    assert_int_equal(job_run(2, fail_a_group), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_communicator_takes_in_ranks),
        cmocka_unit_test(wrong_growth_is_refused),
        cmocka_unit_test(one_thread_grows_in_a_group),
        cmocka_unit_test(revoked_communicators_can_split),
        cmocka_unit_test(a_group_splits_twice),
        cmocka_unit_test(a_failed_group_leaves_its_communicators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
