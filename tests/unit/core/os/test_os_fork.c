/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a child of fork() finds: another generation, and mutexes that are free. */
#include "core/os/os_fork.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE_S 10u

/* Runs `child` in a child; it returns whether all is well there. Who waits for ever is killed. */
static void run_in_child(bool (*child)(void))
{
    int status = 1;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(PATIENCE_S);
        _exit(child() ? 0 : 1);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static uint32_t generation_before;

static bool generation_is_next(void)
{
    return weft_os_fork_generation() == generation_before + 1 &&
           weft_os_fork_generation_again() == generation_before + 1;
}

static void a_fork_changes_the_generation_of_the_child_only(void **state)
{
    (void)state;
    generation_before = weft_os_fork_generation();
    run_in_child(generation_is_next);
    assert_int_equal(weft_os_fork_generation(), generation_before);
}

enum { NOT_TOLD, TOLD_FREE, TOLD_HELD };
static int told;

static void tell(bool held)
{
    told = held ? TOLD_HELD : TOLD_FREE;
}

static weft_os_process_mutex_t mutex = {.forked = tell}, quiet;

static bool told_of_a_holder(void)
{
    bool good = told == TOLD_HELD;
    weft_os_process_lock(&mutex);
    weft_os_process_unlock(&mutex);
    weft_os_process_lock(&quiet);
    weft_os_process_unlock(&quiet);
    return good;
}

static bool told_of_none(void)
{
    return told == TOLD_FREE;
}

/* Who holds it is another thread of the parent, which the child does not have. */
typedef struct holder {
    _Atomic uint32_t holds, leaves;
} holder_t;

static void hold(void *arg)
{
    holder_t *holder = arg;
    weft_os_process_lock(&mutex);
    weft_os_process_lock(&quiet);
    atomic_store(&holder->holds, 1);
    weft_os_futex_wake(&holder->holds);
    while (atomic_load(&holder->leaves) == 0) {
        weft_os_futex_wait(&holder->leaves, 0, WEFT_NS_PER_S);
    }
    weft_os_process_unlock(&quiet);
    weft_os_process_unlock(&mutex);
}

static void a_mutex_of_the_process_is_free_in_a_child(void **state)
{
    holder_t holder = {0};
    weft_os_thread_t *thread;
    (void)state;
    assert_int_equal(weft_os_thread_start("holder", hold, &holder, &thread), WEFT_OK);
    while (atomic_load(&holder.holds) == 0) {
        weft_os_futex_wait(&holder.holds, 0, WEFT_NS_PER_S);
    }
    run_in_child(told_of_a_holder);
    atomic_store(&holder.leaves, 1);
    weft_os_futex_wake(&holder.leaves);
    weft_os_thread_join(thread);
    run_in_child(told_of_none);
    assert_int_equal(told, NOT_TOLD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fork_changes_the_generation_of_the_child_only),
        cmocka_unit_test(a_mutex_of_the_process_is_free_in_a_child),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
