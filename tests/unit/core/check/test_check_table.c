/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What core.check keeps of a process: a child of fork() finds it free, whoever was in it, and has a
 * watch of its own. */
#include <dirent.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/check/check_combine.h"
#include "core/check/check_table.h"
#include "core/check/check_watch.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

/* A full table is searched to its end, so that somebody is nearly always in it. */
enum { FORKS = 40, PATIENCE_S = 20, INSTANCES = 1000, FUNCTIONS = 256 };

static weft_check_t check;
static uint8_t instances[INSTANCES], more;
static _Atomic bool stop;

static void find(void)
{
    (void)weft_check_table_find(&more);
}

static void own(const weft_combine_t *combine)
{
    (void)combine;
}

static void other(const weft_combine_t *combine)
{
    (void)combine;
}

static void wrap(void)
{
    (void)weft_check_combine(&check, WEFT_FP64, WEFT_MAX, other);
}

static void repeat(void *arg)
{
    void (*const *work)(void) = arg;
    while (!atomic_load(&stop)) {
        (*work)();
    }
}

static void fork_beside(void (*work)(void))
{
    weft_os_thread_t *thread;
    int status = 0;
    atomic_store(&stop, false);
    assert_int_equal(weft_os_thread_start("busy", repeat, &work, &thread), WEFT_OK);
    for (int i = 0; i < FORKS && status == 0; i++) {
        weft_os_sleep_ns((uint64_t)i * 10000);
        pid_t child = fork();
        if (child == 0) {
            alarm(PATIENCE_S);
            work();
            _exit(0);
        }
        assert_true(child > 0 && waitpid(child, &status, 0) == child);
    }
    atomic_store(&stop, true);
    weft_os_thread_join(thread);
    assert_int_equal(status, 0);
}

static void a_child_finds_the_table_free(void **state)
{
    (void)state;
    for (int i = 0; i < INSTANCES; i++) {
        assert_int_equal(weft_check_table_add(&instances[i], &check), WEFT_OK);
    }
    fork_beside(find);
    for (int i = 0; i < INSTANCES; i++) {
        weft_check_table_remove(&instances[i]);
    }
}

static void a_child_finds_the_functions_free(void **state)
{
    (void)state;
    for (int i = 0; i < FUNCTIONS; i++) {
        weft_combine_fn_t fn = weft_check_combine(&check, WEFT_FP32, (weft_op_t)i, own);
        assert_true(fn != own);
    }
    fork_beside(wrap);
    weft_check_combine_forget(&check);
}

static uint32_t threads(void)
{
    uint32_t count = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        count += entry->d_name[0] != '.' ? 1 : 0;
    }
    (void)closedir(folder);
    return count;
}

static int watch_as_child(void)
{
    uint32_t before = threads();
    weft_check_watch_start(60.0);
    bool watched = threads() == before + 1;
    weft_check_watch_stop();
    return watched ? 0 : 1;
}

/* The thread that watches is the parent's. */
static void a_child_has_a_watch_of_its_own(void **state)
{
    int status = -1;
    (void)state;
    weft_check_watch_start(60.0);
    pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE_S);
        _exit(watch_as_child());
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
    weft_check_watch_stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_finds_the_table_free),
        cmocka_unit_test(a_child_finds_the_functions_free),
        cmocka_unit_test(a_child_has_a_watch_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
