/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The processes of -P, as their parent sees them. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/unit.h"
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

/* Rank 0 prints to a pipe that nobody reads, and rank 1 waits for it. */
static int run_unread(const void *arg, uint32_t index, const weft_unique_id_t *id)
{
    int ends[2];
    (void)arg;
    (void)id;
    if (index == 0 && pipe(ends) == 0) {
        close(ends[0]);
        if (write(ends[1], "row", 3) < 0) {
            return TOOL_LIBRARY;
        }
    }
    sleep(60);
    return TOOL_WRONG;
}

static void all_end_in_silence_when_nobody_reads(void **state)
{
    (void)state;
    FILE *said = tmpfile();
    const int before = dup(STDERR_FILENO);
    assert_non_null(said);
    assert_true(dup2(fileno(said), STDERR_FILENO) >= 0);
    assert_true(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    const tool_settings_t settings = {.count = 0};
    const perf_fork_job_t job = {
        .processes = 3, .threads = 1, .settings = &settings, .run = run_unread};
    const time_t began = time(NULL);
    const int code = run_job(&job);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    assert_int_equal(code, 128 + SIGPIPE);
    assert_true(time(NULL) - began < 30);
    assert_int_equal(lseek(fileno(said), 0, SEEK_END), 0);
    /* None is left. */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    close(before);
    (void)fclose(said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_that_nobody_tells_is_a_failure),
        cmocka_unit_test(all_end_in_silence_when_nobody_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
