/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Many ranks as threads of one process over net-local: they join, split, split again and leave. */
#include <stdlib.h>

#include "../support/ranks.h"
#include "tests/support/unit.h"

#define RANKS_DEFAULT 48

static int sum_is(weft_comm_t *comm, int64_t mine, int64_t expected)
{
    int64_t sum = 0;
    return weft_all_reduce(&mine, &sum, 1, WEFT_INT64, WEFT_SUM, comm, NULL) != WEFT_OK ||
           sum != expected;
}

/* Ranks that keep the order of the parent, and ranks that reverse it. */
static int split_and_reduce(weft_comm_t *comm, uint32_t rank, uint32_t nranks, void *arg)
{
    weft_comm_t *half = NULL, *reversed = NULL;
    uint32_t number = 0;
    int wrong = 0;
    (void)arg;
    NEED(sum_is(comm, rank, (int64_t)nranks * (nranks - 1) / 2) == 0);
    NEED(weft_comm_split(comm, (int32_t)(rank % 2), 0, &half) == WEFT_OK);
    NEED(sum_is(half, 1, (nranks + 1 - rank % 2) / 2) == 0);
    NEED(weft_comm_split(comm, 0, -(int32_t)rank, &reversed) == WEFT_OK);
    NEED(weft_comm_rank(reversed, &number) == WEFT_OK && number == nranks - 1 - rank);
    NEED(sum_is(reversed, 1, nranks) == 0);
    NEED(weft_comm_destroy(reversed) == WEFT_OK);
    NEED(weft_comm_destroy(half) == WEFT_OK);
    return wrong;
}

static void many_threads_join_split_and_leave(void **unused)
{
    (void)unused;
    static const char *const settings[] = {"core.net=net-local",
                                           "net-local.path=" WEFT_NET_LOCAL_FILE};
    const char *wanted = getenv("SCALE_RANKS");
    ranks_job_t job = {.nranks = wanted != NULL ? (uint32_t)atoi(wanted) : RANKS_DEFAULT,
                       .settings = settings,
                       .settings_count = 2,
                       .work = split_and_reduce};
    assert_int_equal(ranks_run_threads(&job), 0);
}

static int meet_all(weft_comm_t *comm, uint32_t rank, uint32_t nranks, void *arg)
{
    uint32_t in[8] = {0}, out[8] = {0};
    int wrong = 0;
    (void)arg;
    for (uint32_t r = 0; r < nranks; r++) {
        in[r] = 100 * rank + r;
    }
    NEED(weft_all_to_all(in, out, 1, WEFT_UINT32, comm, NULL) == WEFT_OK);
    for (uint32_t r = 0; r < nranks; r++) {
        NEED(out[r] == 100 * r + rank);
    }
    return wrong;
}

/* The last rank accepts seven connections, which takes longer than one may take. */
static void each_connection_of_a_call_has_its_time(void **unused)
{
    (void)unused;
    static const char *const settings[] = {
        "core.net=net-local", ("net-local.path=" WEFT_NET_LOCAL_FILE),
        "net-local.accept_every=0.4s", "boot.connect_timeout=1.5s"};
    ranks_job_t job = {.nranks = 8, .settings = settings, .settings_count = 4, .work = meet_all};
    assert_int_equal(ranks_run_threads(&job), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_threads_join_split_and_leave),
        cmocka_unit_test(each_connection_of_a_call_has_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
