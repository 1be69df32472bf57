/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Limits of one communicator: plans have no more channels, others keep theirs, and ranks that do
 * not agree are told so. */
#include <stdio.h>
#include <string.h>

#include "tests/support/ranks.h"
#include "tests/support/unit.h"

enum { COUNT = 1 << 14 };

static const char *const settings[] = {"core.net=net-shm", "plan.channels=6",
                                       "plan.channel_bytes=64", "core.algo=algo-ring",
                                       "exec.op_timeout=20s"};

static int explains(weft_comm_t *comm, uint32_t rank, const char *part)
{
    char text[2048] = "";
    int wrong = 0;
    NEED(weft_comm_explain(comm, WEFT_ALL_REDUCE, COUNT, WEFT_INT32, WEFT_SUM, 0, text,
                           sizeof text) == WEFT_OK);
    if (strstr(text, part) == NULL) {
        fprintf(stderr, "rank %u: no \"%s\" in: %s\n", rank, part, text);
        wrong++;
    }
    return wrong;
}

static int sum(weft_comm_t *comm, uint32_t rank, uint32_t n)
{
    static _Thread_local int32_t in[COUNT], out[COUNT];
    int wrong = 0;
    for (int32_t i = 0; i < COUNT; i++) {
        in[i] = i + (int32_t)rank;
    }
    NEED(weft_all_reduce(in, out, COUNT, WEFT_INT32, WEFT_SUM, comm, NULL) == WEFT_OK);
    NEED(out[5] == (int32_t)(5 * n + n * (n - 1) / 2));
    return wrong;
}

static int limit(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *copy = NULL;
    weft_error_t error = {.size = sizeof error};
    int wrong = 0;
    (void)arg;
    NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
    NEED(weft_comm_set_channels(copy, 2) == WEFT_OK);
    wrong += sum(copy, rank, n) + explains(copy, rank, "on 2 channels");
    wrong += sum(comm, rank, n) + explains(comm, rank, "on 6 channels");
    NEED(weft_comm_set_channels(copy, 3) == WEFT_ERR_STATE);
    (void)weft_last_error(&error);
    NEED(strstr(error.text, "operations were called before") != NULL);
    NEED(weft_comm_set_channels(NULL, 3) == WEFT_ERR_ARG);
    weft_comm_destroy(copy);
    NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
    wrong += explains(copy, rank, "on 6 channels");
    NEED(weft_comm_set_channels(copy, 3) == WEFT_ERR_STATE);
    NEED(ranks_error_says(WEFT_ERR_STATE, "weft_comm_explain() or weft_comm_predict() made plans"));
    weft_comm_destroy(copy);
    /* More than there are, and none, change nothing. */
    for (uint32_t most = 0; most <= 100; most += 100) {
        NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
        NEED(weft_comm_set_channels(copy, most) == WEFT_OK);
        wrong += sum(copy, rank, n) + explains(copy, rank, "on 6 channels");
        weft_comm_destroy(copy);
    }
    return wrong;
}

/* Its members have met over it before they have it, which is no operation of theirs. */
static int limit_group(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static const uint32_t members[] = {1, 0};
    weft_comm_t *group = NULL;
    int wrong = 0;
    (void)arg;
    NEED(weft_comm_create_group(comm, members, 2, 7, &group) == WEFT_OK);
    NEED(weft_comm_set_channels(group, 2) == WEFT_OK);
    wrong += sum(group, 1 - rank, n) + explains(group, rank, "on 2 channels");
    NEED(weft_comm_set_channels(group, 3) == WEFT_ERR_STATE);
    NEED(ranks_error_says(WEFT_ERR_STATE, "operations were called before"));
    weft_comm_destroy(group);
    return wrong;
}

static int disagree(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static _Thread_local int32_t large[COUNT];
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(weft_comm_set_channels(comm, 1 + rank) == WEFT_OK);
    NEED(weft_all_reduce(large, large, COUNT, WEFT_INT32, WEFT_SUM, comm, NULL) ==
         WEFT_ERR_MISMATCH);
    NEED(ranks_error_says(WEFT_ERR_MISMATCH, "weft_comm_set_channels() had another limit there"));
    return wrong;
}

static void run(ranks_work_t work)
{
    ranks_job_t job = {.nranks = 2,
                       .settings = settings,
                       .settings_count = sizeof settings / sizeof settings[0],
                       .work = work};
    assert_int_equal(ranks_run_threads(&job), 0);
}

static void plans_have_no_more_channels(void **state)
{
    (void)state;
    run(limit);
}

static void communicators_of_some_ranks_have_limits(void **state)
{
    (void)state;
    run(limit_group);
}

static void ranks_that_do_not_agree_are_told_so(void **state)
{
    (void)state;
    run(disagree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_have_no_more_channels),
        cmocka_unit_test(communicators_of_some_ranks_have_limits),
        cmocka_unit_test(ranks_that_do_not_agree_are_told_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
