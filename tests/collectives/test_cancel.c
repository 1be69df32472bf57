/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that waits for others to join is called back: it returns soon, the others hear why, and
 * nothing stays. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <unistd.h>

#include <weft/weft.h>

#include "core/os/os.h"
#include "tests/support/holdings.h"
#include "tests/support/unit.h"

enum { NRANKS = 3, CANCELLED = 1 }; /* rank 2 never comes */

typedef struct job {
    weft_unique_id_t id;
    bool by_launcher;
    uint32_t rank;
    int cancel_fd;
    weft_status_t status;
    weft_error_t error;
    double seconds;
} job_t;

static weft_status_t join_by_launcher(job_t *job, const weft_comm_options_t *options)
{
    weft_launcher_t launcher = {.size = sizeof launcher,
                                .name = "torchrun",
                                .rank = job->rank,
                                .nranks = NRANKS,
                                .local_rank = job->rank,
                                .local_ranks = NRANKS};
    return weft_launcher_exchange_id(&launcher, &job->id, options);
}

static void *join(void *arg)
{
    job_t *job = arg;
    weft_comm_t *comm = NULL;
    const char *settings[] = {"core.net=net-shm", "core.log=error"};
    weft_comm_options_t options = {.size = sizeof options,
                                   .settings = settings,
                                   .settings_count = 2,
                                   .cancel_fd = job->cancel_fd};
    uint64_t start = weft_os_clock_ns();
    job->status = job->by_launcher
                      ? join_by_launcher(job, &options)
                      : weft_comm_init_rank(&comm, NRANKS, &job->id, job->rank, &options);
    job->seconds = (double)(weft_os_clock_ns() - start) * 1e-9;
    job->error.size = sizeof job->error;
    (void)weft_last_error(&job->error);
    return NULL;
}

/* Until rank 0 waits where the id is exchanged. */
static void await_note(void)
{
    char inside[160];
    glob_t found;
    snprintf(inside, sizeof inside, "%s/*/*", getenv("WEFT_BOOT_RENDEZVOUS"));
    while (glob(inside, 0, NULL, &found) != 0) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    globfree(&found);
}

/* `early`: before it begins, else while both wait for the third. */
static void cancel_one_of_two(bool by_launcher, bool early)
{
    int ends[2];
    pthread_t threads[2];
    job_t jobs[2] = {{.rank = 0, .by_launcher = by_launcher},
                     {.rank = CANCELLED, .by_launcher = by_launcher}};
    const holdings_t before = holdings_now();
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(weft_unique_id_create(&jobs[0].id, NULL), WEFT_OK);
    jobs[1].id = jobs[0].id;
    jobs[1].cancel_fd = ends[0];
    if (early) {
        assert_int_equal(write(ends[1], "x", 1), 1);
    }
    assert_int_equal(pthread_create(&threads[0], NULL, join, &jobs[0]), 0);
    if (by_launcher) {
        await_note();
    }
    assert_int_equal(pthread_create(&threads[1], NULL, join, &jobs[1]), 0);
    weft_os_sleep_ns(500 * WEFT_NS_PER_MS);
    uint64_t start = weft_os_clock_ns();
    if (!early) {
        assert_int_equal(write(ends[1], "x", 1), 1);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    double took = (double)(weft_os_clock_ns() - start) * 1e-9;
    print_message("%.3f s; rank 0: %s\n", took, jobs[0].error.text);
    assert_int_equal(jobs[1].status, WEFT_ERR_ABORTED);
    assert_non_null(strstr(jobs[1].error.text, "cancelled"));
    assert_int_equal(jobs[0].status, WEFT_ERR_ABORTED);
    assert_int_equal(jobs[0].error.peer, CANCELLED);
    assert_non_null(strstr(jobs[0].error.text, "cancelled"));
    assert_true(took < 5); /* 1 s on a machine that is not loaded */
    close(ends[0]);
    close(ends[1]);
    const holdings_t after = holdings_settled(before.fds, before.threads);
    assert_int_equal(after.fds, before.fds);
    assert_int_equal(after.threads, before.threads);
}

static void a_join_is_cancelled(void **state)
{
    (void)state;
    cancel_one_of_two(false, false);
}

static void who_is_cancelled_before_it_comes_says_so(void **state)
{
    (void)state;
    cancel_one_of_two(false, true);
}

static void cancel_exchange(bool early)
{
    char folder[] = "/tmp/weft-cancel-XXXXXX", inside[128];
    assert_non_null(mkdtemp(folder));
    setenv("WEFT_BOOT_RENDEZVOUS", folder, 1);
    setenv("WEFT_BOOT_EXCHANGE", "folder", 1);
    setenv("TORCHELASTIC_RUN_ID", "cancel", 1);
    cancel_one_of_two(true, early);
    snprintf(inside, sizeof inside, "rm -rf %s", folder);
    assert_int_equal(system(inside), 0);
}

static void the_exchange_of_the_id_is_cancelled(void **state)
{
    (void)state;
    cancel_exchange(false);
}

static void who_is_cancelled_before_the_exchange_says_so(void **state)
{
    (void)state;
    cancel_exchange(true);
}

static void rank_0_need_not_be_there(void **state)
{
    (void)state;
    int ends[2];
    pthread_t thread;
    char folder[] = "/tmp/weft-cancel-XXXXXX", inside[128];
    assert_non_null(mkdtemp(folder));
    setenv("WEFT_BOOT_RENDEZVOUS", folder, 1);
    assert_int_equal(pipe(ends), 0);
    job_t job = {.rank = CANCELLED, .by_launcher = true, .cancel_fd = ends[0]};
    assert_int_equal(pthread_create(&thread, NULL, join, &job), 0);
    weft_os_sleep_ns(300 * WEFT_NS_PER_MS);
    close(ends[1]);
    pthread_join(thread, NULL);
    assert_int_equal(job.status, WEFT_ERR_ABORTED);
    assert_true(job.seconds < 5);
    close(ends[0]);
    snprintf(inside, sizeof inside, "rmdir %s/* && rmdir %s", folder, folder); /* it is empty */
    assert_int_equal(system(inside), 0);
}

/* Ready before the call. */
static void nobody_is_waited_for_then(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    job_t job = {.rank = 0, .cancel_fd = ends[0]};
    assert_int_equal(weft_unique_id_create(&job.id, NULL), WEFT_OK);
    assert_int_equal(write(ends[1], "x", 1), 1);
    (void)join(&job);
    assert_int_equal(job.status, WEFT_ERR_ABORTED);
    job.cancel_fd = 1 << 20;
    (void)join(&job);
    assert_int_equal(job.status, WEFT_ERR_ARG);
    close(ends[0]);
    close(ends[1]);
}

static void *nothing(void *arg)
{
    return arg;
}

/* With the first thread of a process TSan starts one of its own, which stays: it is there before
 * the tests count. */
static int start_first_thread(void **state)
{
    pthread_t thread;
    (void)state;
    return pthread_create(&thread, NULL, nothing, NULL) != 0 || pthread_join(thread, NULL) != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_join_is_cancelled),
        cmocka_unit_test(who_is_cancelled_before_it_comes_says_so),
        cmocka_unit_test(the_exchange_of_the_id_is_cancelled),
        cmocka_unit_test(who_is_cancelled_before_the_exchange_says_so),
        cmocka_unit_test(rank_0_need_not_be_there),
        cmocka_unit_test(nobody_is_waited_for_then),
    };
    alarm(110);
    return cmocka_run_group_tests(tests, start_first_thread, NULL);
}
