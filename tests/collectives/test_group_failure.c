/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A call of a group that fails without its communicator: the end of the group says which call it
 * was and why, as the call alone does. */
#include <stdio.h>
#include <string.h>

#include "tests/support/ranks.h"
#include "tests/support/unit.h"

/* What the algorithm of this job does not serve. */
static weft_status_t reduce(float *x, weft_comm_t *comm)
{
    return weft_all_reduce(x, x, 1, WEFT_FP32, WEFT_SUM, comm, NULL);
}

static weft_status_t scatter(float *x, weft_comm_t *comm)
{
    float out;
    return weft_reduce_scatter(x, &out, 1, WEFT_FP32, WEFT_SUM, comm, NULL);
}

static weft_status_t gather(uint32_t *rank, uint32_t *all, weft_comm_t *comm)
{
    return weft_all_gather(rank, all, 1, WEFT_UINT32, comm, NULL);
}

/* The first in order of the calls is told, with its own reason: not that of a later call, and not
 * that of a call before the group. The communicator goes on. */
static int fails_with_its_reason(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    float x[8] = {1};
    uint32_t all[8] = {0};
    int wrong = 0;
    (void)arg;
    NEED(weft_group_start() == WEFT_OK);
    NEED(gather(&rank, all, comm) == WEFT_OK);
    NEED(reduce(x, comm) == WEFT_OK);
    NEED(scatter(x, comm) == WEFT_OK);
    NEED(weft_group_end() == WEFT_ERR_UNSUPPORTED);
    NEED(ranks_error_says(WEFT_ERR_UNSUPPORTED,
                          "weft_all_reduce in a group: no algorithm serves all_reduce on "));
    NEED(ranks_error_says(WEFT_ERR_UNSUPPORTED, "in deterministic mode"));
    NEED(ranks_error_says(WEFT_ERR_UNSUPPORTED, "algo-ring"));
    NEED(all[n - 1] == n - 1);
    NEED(gather(&rank, all, comm) == WEFT_OK);
    return wrong;
}

/* The same where a group has several communicators, none of which may sleep alone. */
static int fails_beside_another(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    float x[8] = {1};
    uint32_t all[8] = {0};
    weft_comm_t *other = NULL;
    int wrong = 0;
    (void)arg;
    NEED(weft_comm_dup(comm, &other) == WEFT_OK);
    NEED(scatter(x, comm) == WEFT_ERR_UNSUPPORTED);
    NEED(weft_group_start() == WEFT_OK);
    NEED(gather(&rank, all, comm) == WEFT_OK);
    NEED(reduce(x, other) == WEFT_OK);
    NEED(scatter(x, comm) == WEFT_OK);
    NEED(weft_group_end() == WEFT_ERR_UNSUPPORTED);
    NEED(ranks_error_says(WEFT_ERR_UNSUPPORTED,
                          "weft_all_reduce in a group: no algorithm serves all_reduce on "));
    NEED(all[n - 1] == n - 1);
    NEED(weft_comm_destroy(other) == WEFT_OK);
    return wrong;
}

/* A group that succeeds leaves the thread's last error as it was. */
static int keeps_an_earlier_error(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    float x[8] = {1};
    uint32_t all[8] = {0};
    int wrong = 0;
    (void)arg;
    NEED(scatter(x, comm) == WEFT_ERR_UNSUPPORTED);
    NEED(weft_group_start() == WEFT_OK);
    NEED(gather(&rank, all, comm) == WEFT_OK);
    NEED(weft_group_end() == WEFT_OK);
    NEED(all[n - 1] == n - 1);
    NEED(ranks_error_says(WEFT_ERR_UNSUPPORTED, "no algorithm serves reduce_scatter on "));
    return wrong;
}

static void run(ranks_work_t work)
{
    static const char *const settings[] = {"plan.deterministic=yes", "core.algo=algo-ring"};
    ranks_job_t job = {.nranks = 4, .settings = settings, .settings_count = 2, .work = work};
    assert_int_equal(ranks_run_threads(&job), 0);
}

#define CASE(name, work)                                                                           \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        run(work);                                                                                 \
    }
CASE(a_call_in_a_group_fails_with_its_reason, fails_with_its_reason)
CASE(a_call_beside_another_communicator_does_too, fails_beside_another)
CASE(a_group_that_succeeds_keeps_an_earlier_error, keeps_an_earlier_error)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_in_a_group_fails_with_its_reason),
        cmocka_unit_test(a_call_beside_another_communicator_does_too),
        cmocka_unit_test(a_group_that_succeeds_keeps_an_earlier_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
