/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How communicators end: finalized, aborted, destroyed with operations under way. */
#include <time.h>
#include <cuda_runtime_api.h>

#include "tests/bindings/nccl/job.h"
#include "tests/support/unit.h"

static void finalize_and_abort(job_rank_t *rank)
{
    ncclComm_t child = NULL;
    ncclResult_t state = ncclSuccess;
    NEED_OK(ncclCommSplit(rank->comm, 0, rank->rank, &child, NULL));
    job_need_sum(rank, child, 1, rank->nranks);
    NEED_OK(ncclCommFinalize(child));
    NEED(ncclAllReduce(NULL, NULL, 0, ncclInt8, ncclSum, child, rank->stream) == ncclInvalidUsage);
    NEED_OK(ncclCommGetAsyncError(child, &state));
    NEED(state == ncclSuccess);
    NEED_OK(ncclCommDestroy(child));
    NEED_OK(ncclCommSplit(rank->comm, 0, rank->rank, &child, NULL));
    if (rank->rank == 0) {
        NEED_OK(ncclCommAbort(child));
    } else {
        NEED_OK(ncclCommGetAsyncError(child, &state));
        NEED(state == ncclSuccess || state == ncclRemoteError);
        NEED_OK(ncclCommAbort(child));
    }
    job_need_sum(rank, rank->comm, 1, rank->nranks); /* not affected */
}

static void ends_of_communicators(void **state)
{
    (void)state;
    assert_int_equal(job_run(2, finalize_and_abort), 0);
}

static void *abort_a_little_later(void *comm)
{
    nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    return ncclCommAbort(comm) == ncclSuccess ? NULL : comm;
}

/* Rank 0 enqueues what rank 1 never does, and destroys the communicator. */
static void destroy_what_never_ends(job_rank_t *rank)
{
    ncclComm_t child = NULL;
    pthread_t other;
    void *wrong = NULL, *device = job_device_copy(&(int){1}, sizeof(int));
    const time_t begin = time(NULL);
    NEED_OK(ncclCommSplit(rank->comm, 0, rank->rank, &child, NULL));
    job_need_sum(rank, child, 1, rank->nranks);
    if (rank->rank == 0) {
        NEED_OK(ncclAllReduce(device, device, 1, ncclInt32, ncclSum, child, rank->stream));
        NEED(pthread_create(&other, NULL, abort_a_little_later, child) == 0);
        (void)ncclCommDestroy(child);
        NEED(pthread_join(other, &wrong) == 0 && wrong == NULL);
        NEED(time(NULL) - begin < 30); /* and not the deadline's 600 */
        job_meet(rank);
    } else {
        job_meet(rank);
        NEED_OK(ncclCommDestroy(child));
    }
    job_wait(rank->stream);
    cudaFree(device);
    job_need_sum(rank, rank->comm, 1, rank->nranks);
}

static void abort_ends_a_destruction_that_waits(void **state)
{
    (void)state;
    assert_int_equal(job_run(2, destroy_what_never_ends), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_of_communicators),
        cmocka_unit_test(abort_ends_a_destruction_that_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
