/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checked invariants: they end the process in checked builds, and do nothing in others. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/os/os.h"
#include "tests/support/unit.h"

static weft_os_mutex_t mutex;

static void lock_mutex(void *arg)
{
    (void)arg;
    weft_os_lock(&mutex);
}

static void assert_held(void)
{
    weft_os_mutex_assert_held(&mutex);
}

static void assert_false_condition(void)
{
    int one = 1;
    weft_assert(one == 2);
}

/* The child ends by SIGABRT in a checked build, else as if nothing had been asked. */
static void assert_checked(void (*body)(void))
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGABRT, SIG_DFL);
        (void)close(STDERR_FILENO);
        body();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
#ifdef WEFT_CHECKED
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
#else
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
#endif
}

static void a_false_condition_ends_the_process(void **state)
{
    (void)state;
    assert_checked(assert_false_condition);
}

static void a_free_mutex_is_not_held(void **state)
{
    (void)state;
    assert_checked(assert_held);
}

static void the_holder_of_a_mutex_passes(void **state)
{
    (void)state;
    weft_os_lock(&mutex);
    weft_os_mutex_assert_held(&mutex);
    weft_os_unlock(&mutex);
}

static void a_mutex_that_another_thread_holds_is_not_held(void **state)
{
    weft_os_thread_t *thread;
    (void)state;
    assert_int_equal(weft_os_thread_start("locker", lock_mutex, NULL, &thread), WEFT_OK);
    weft_os_thread_join(thread);
    /* The thread is gone, and its number may have another owner: the calling thread has lived
     * on. */
    assert_checked(assert_held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_false_condition_ends_the_process),
        cmocka_unit_test(a_free_mutex_is_not_held),
        cmocka_unit_test(the_holder_of_a_mutex_passes),
        cmocka_unit_test(a_mutex_that_another_thread_holds_is_not_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
