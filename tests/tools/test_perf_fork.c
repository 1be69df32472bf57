/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The processes of -P, as their parent sees them. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/perf_fork.h"

static int run_well(const void *arg, uint32_t index, const weft_unique_id_t *id)
{
    (void)arg;
    (void)index;
    (void)id;
    return TOOL_OK;
}

/* A process of the job comes back as well. */
static int run_job(const perf_fork_job_t *job)
{
    const pid_t parent = getpid();
    const int code = perf_fork_run(job);
    if (getpid() != parent) {
        _Exit(code);
    }
    return code;
}

static void an_end_that_nobody_tells_is_a_failure(void **state)
{
    (void)state;
    const tool_settings_t settings = {.count = 0};
    const perf_fork_job_t job = {
        .processes = 2, .threads = 1, .settings = &settings, .run = run_well};
    assert_int_equal(run_job(&job), TOOL_OK);
    /* The kernel reaps them, and their codes are lost. */
    assert_true(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    assert_int_equal(run_job(&job), TOOL_INTERNAL);
    assert_true(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_that_nobody_tells_is_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
