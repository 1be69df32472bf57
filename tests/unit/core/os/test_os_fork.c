/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a child of fork() finds: another generation, mutexes that are free, and descriptors that are
 * closed. */
#include "core/os/os_fork.h"
#include "core/os/os_socket.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/unit.h"

#define PATIENCE_S 10.0

/* Runs `child` in a child; it returns whether all is well there. Who does not end, within fork()
 * even, is killed. */
static void run_in_child(bool (*child)(void))
{
    int status = 1;
    uint64_t until = weft_os_deadline(PATIENCE_S);
    pid_t pid = fork();
    if (pid == 0) {
        _exit(child() ? 0 : 1);
    }
    assert_true(pid > 0);
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (weft_os_clock_ns() > until) {
            (void)kill(pid, SIGKILL);
        }
        (void)usleep(100);
    }
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

/* What a thread has half changed while it holds forks. */
typedef struct change {
    _Atomic bool is_begun, is_half, may_end;
    uint64_t lasts_ns; /* 0: until it may end */
} change_t;

static change_t change;

/* A child of which TSan sees a thread that has ended, and that nobody joins, ends with a report. */
static void stay(const _Atomic bool *may_end)
{
    while (!atomic_load(may_end)) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
}

static void change_holding_forks(void *arg)
{
    (void)arg;
    weft_os_hold_forks();
    weft_os_hold_forks();
    atomic_store(&change.is_half, true);
    atomic_store(&change.is_begun, true);
    weft_os_release_forks();
    weft_os_sleep_ns(change.lasts_ns);
    if (change.lasts_ns == 0) {
        stay(&change.may_end);
    }
    atomic_store(&change.is_half, false);
    weft_os_release_forks();
    stay(&change.may_end);
}

static weft_os_thread_t *begin_change(uint64_t lasts_ns)
{
    weft_os_thread_t *thread;
    change = (change_t){.lasts_ns = lasts_ns};
    assert_int_equal(weft_os_thread_start("changes", change_holding_forks, NULL, &thread), WEFT_OK);
    while (!atomic_load(&change.is_begun)) {
        weft_os_yield();
    }
    return thread;
}

static bool may_hold(void)
{
    weft_os_hold_forks();
    weft_os_release_forks();
    return true;
}

static bool nothing_is_half_changed(void)
{
    return !atomic_load(&change.is_half) && may_hold();
}

static void a_fork_waits_for_who_holds_forks(void **state)
{
    (void)state;
    weft_os_thread_t *thread = begin_change(20 * WEFT_NS_PER_MS);
    run_in_child(nothing_is_half_changed);
    atomic_store(&change.may_end, true);
    weft_os_thread_join(thread);
    assert_true(may_hold());
}

static bool is_half_changed(void)
{
    return atomic_load(&change.is_half) && may_hold();
}

/* Whoever holds them may wait for the thread that forks. */
static void a_fork_does_not_wait_for_ever(void **state)
{
    (void)state;
    weft_os_thread_t *thread = begin_change(0);
    run_in_child(is_half_changed);
    atomic_store(&change.may_end, true);
    weft_os_thread_join(thread);
    assert_true(may_hold());
}

static bool go_on_holding(void)
{
    weft_os_release_forks();
    return may_hold();
}

/* The constructor of a shared object may fork. */
static void who_holds_forks_may_fork(void **state)
{
    (void)state;
    weft_os_hold_forks();
    run_in_child(go_on_holding);
    weft_os_release_forks();
    run_in_child(may_hold);
}

/* Mutexes that a thread locks for the first time, one after the other. */
enum { MUTEXES = 300000 };
static weft_os_process_mutex_t fresh[MUTEXES];
static uint32_t fresh_told;
static _Atomic bool all_fresh_are_used, user_may_end;

static void tell_fresh(bool held)
{
    (void)held;
    fresh_told++;
}

static void use_fresh(void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < MUTEXES; i++) {
        weft_os_process_lock(&fresh[i]);
        weft_os_process_unlock(&fresh[i]);
    }
    atomic_store(&all_fresh_are_used, true);
    stay(&user_may_end);
}

static bool all_that_are_known_are_told(void)
{
    uint32_t known = 0;
    for (uint32_t i = 0; i < MUTEXES; i++) {
        known += atomic_load(&fresh[i].known);
    }
    return known == fresh_told;
}

/* Whenever the fork comes, the child has forgotten none that it takes for one that it knows. */
static void a_mutex_is_known_when_it_is_listed(void **state)
{
    weft_os_thread_t *thread;
    (void)state;
    for (uint32_t i = 0; i < MUTEXES; i++) {
        fresh[i].forked = tell_fresh;
    }
    assert_int_equal(weft_os_thread_start("user", use_fresh, NULL, &thread), WEFT_OK);
    while (!atomic_load(&all_fresh_are_used)) {
        run_in_child(all_that_are_known_are_told);
    }
    atomic_store(&user_may_end, true);
    weft_os_thread_join(thread);
    run_in_child(all_that_are_known_are_told);
}

/* Numbers of several words of bits, the first and the last of each among them. */
enum { FDS_FIRST = 64, FDS_END = 160, FDS_LEFT = 100 };

static bool descriptors_are_closed(void)
{
    bool good = fcntl(FDS_LEFT, F_GETFD) != -1;
    for (int fd = FDS_FIRST; fd < FDS_END; fd++) {
        good = good && (fd == FDS_LEFT || fcntl(fd, F_GETFD) == -1);
    }
    return good;
}

static void a_child_closes_what_it_was_told_to(void **state)
{
    (void)state;
    for (int fd = FDS_FIRST; fd < FDS_END; fd++) {
        assert_int_equal(dup2(STDERR_FILENO, fd), fd);
        weft_os_close_in_children(fd);
    }
    weft_os_leave_to_children(FDS_LEFT);
    run_in_child(descriptors_are_closed);
    for (int fd = FDS_FIRST; fd < FDS_END; fd++) {
        assert_int_not_equal(fcntl(fd, F_GETFD), -1);
        weft_os_close(fd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fork_changes_the_generation_of_the_child_only),
        cmocka_unit_test(a_mutex_of_the_process_is_free_in_a_child),
        cmocka_unit_test(a_fork_waits_for_who_holds_forks),
        cmocka_unit_test(a_fork_does_not_wait_for_ever),
        cmocka_unit_test(who_holds_forks_may_fork),
        cmocka_unit_test(a_mutex_is_known_when_it_is_listed),
        cmocka_unit_test(a_child_closes_what_it_was_told_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
