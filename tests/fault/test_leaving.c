/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that has done its part may leave while others still work: its closed links are no failure of
 * theirs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#include "../support/ranks.h"

/* Longer than a broken link waits for the health channel's verdict. */
static void be_late(void)
{
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
}

/* Rank 2 gives its share and leaves, rank 1 comes late, rank 0 waits for it. */
static int reduce_and_leave(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int32_t in = (int32_t)rank + 1, out = 0;
    (void)n;
    (void)arg;
    if (weft_barrier(comm, NULL) != WEFT_OK) {
        return 1;
    }
    if (rank == 1) {
        be_late();
    }
    weft_status_t status = weft_reduce(&in, &out, 1, WEFT_INT32, WEFT_SUM, 0, comm, NULL);
    return status != WEFT_OK || (rank == 0 && out != 6);
}

static int gather_and_leave(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int32_t in = (int32_t)rank, out[3] = {0};
    (void)n;
    (void)arg;
    if (weft_barrier(comm, NULL) != WEFT_OK) {
        return 1;
    }
    if (rank == 1) {
        be_late();
    }
    weft_status_t status = weft_gather(&in, out, 1, WEFT_INT32, 0, comm, NULL);
    return status != WEFT_OK || (rank == 0 && (out[1] != 1 || out[2] != 2));
}

static void run(ranks_work_t work, const char *algos)
{
    static const char *const nets[] = {"core.net=net-socket", "core.net=net-shm"};
    for (int i = 0; i < 2; i++) {
        const char *settings[] = {nets[i], algos};
        ranks_job_t job = {.nranks = 3, .settings = settings, .settings_count = 2, .work = work};
        assert_int_equal(ranks_run_threads(&job), 0);
    }
}

static void a_reduction_outlives_a_rank_that_gave_its_share(void **state)
{
    (void)state;
    run(reduce_and_leave, "core.algo=algo-flat");
}

static void a_gather_outlives_a_rank_that_gave_its_block(void **state)
{
    (void)state;
    run(gather_and_leave, "core.algo=algo-direct algo-flat");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reduction_outlives_a_rank_that_gave_its_share),
        cmocka_unit_test(a_gather_outlives_a_rank_that_gave_its_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
