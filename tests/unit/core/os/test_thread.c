/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The OS seam's own primitives: mutex, futex, CPUs. */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

typedef struct counter {
    weft_os_mutex_t mutex;
    long value;
} counter_t;

static void add_many(void *arg)
{
    counter_t *c = arg;
    for (int i = 0; i < 20000; i++) {
        weft_os_lock(&c->mutex);
        c->value++;
        weft_os_unlock(&c->mutex);
    }
}

/* More than the stack that threads get at first: the C library puts it there. */
static _Thread_local char large_local[3 << 20];

static void touch_local(void *arg)
{
    large_local[0] = 1;
    *(char *)arg = large_local[0];
}

static void a_program_with_large_thread_locals_gets_its_threads(void **state)
{
    weft_os_thread_t *thread;
    char touched = 0;
    (void)state;
    assert_int_equal(weft_os_thread_start("local", touch_local, &touched, &thread), WEFT_OK);
    weft_os_thread_join(thread);
    assert_int_equal(touched, 1);
}

static void the_mutex_excludes(void **state)
{
    counter_t c = {0};
    weft_os_thread_t *thread[4];
    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(weft_os_thread_start("adder", add_many, &c, &thread[i]), WEFT_OK);
    }
    for (int i = 0; i < 4; i++) {
        weft_os_thread_join(thread[i]);
    }
    assert_int_equal(c.value, 80000);
}

static void a_futex_wait_ends_at_its_timeout(void **state)
{
    _Atomic uint32_t word = 1;
    uint64_t start = weft_os_clock_ns();
    (void)state;
    weft_os_futex_wait(&word, 1, 5 * WEFT_NS_PER_MS);
    assert_true(weft_os_clock_ns() - start >= 4 * WEFT_NS_PER_MS);
    weft_os_futex_wait(&word, 0, 60 * WEFT_NS_PER_S); /* differs: returns at once */
}

static void wake_later(void *arg)
{
    _Atomic uint32_t *word = arg;
    weft_os_sleep_ns(20 * WEFT_NS_PER_MS);
    atomic_store(word, 0);
    weft_os_futex_wake(word);
}

static void one_of_several_words_ends_a_wait(void **state)
{
    _Atomic uint32_t words[WEFT_OS_FUTEXES];
    weft_os_futex_t list[WEFT_OS_FUTEXES];
    weft_os_thread_t *thread;
    (void)state;
    for (uint32_t i = 0; i < WEFT_OS_FUTEXES; i++) {
        words[i] = 1;
        list[i] = (weft_os_futex_t){.word = &words[i], .seen = 1};
    }
    uint64_t start = weft_os_clock_ns();
    if (!weft_os_futex_wait_any(list, 2, 5 * WEFT_NS_PER_MS)) {
        print_message("skipped: this system cannot wait for several words (Linux before 5.16)\n");
        skip();
    }
    assert_true(weft_os_clock_ns() - start >= 4 * WEFT_NS_PER_MS);
    list[1].seen = 0; /* differs: returns at once */
    assert_true(weft_os_futex_wait_any(list, 2, 60 * WEFT_NS_PER_S));
    list[1].seen = 1;
    /* Also the last one, and the lists are as long as they may be. */
    assert_int_equal(
        weft_os_thread_start("waker", wake_later, &words[WEFT_OS_FUTEXES - 1], &thread), WEFT_OK);
    assert_true(weft_os_futex_wait_any(list, WEFT_OS_FUTEXES, 60 * WEFT_NS_PER_S));
    assert_true(weft_os_clock_ns() - start < 30 * WEFT_NS_PER_S);
    weft_os_thread_join(thread);
    /* A word whose memory is gone fails that call only. */
    list[0].word = (_Atomic uint32_t *)(uintptr_t)64;
    assert_false(weft_os_futex_wait_any(list, 2, WEFT_NS_PER_MS));
    list[0].word = &words[0];
    assert_true(weft_os_futex_wait_any(list, 2, WEFT_NS_PER_MS));
}

typedef struct turn {
    weft_os_cpu_set_t cpu;
    _Atomic uint32_t wanted, taken;
} turn_t;

enum { TURNS = 15 };

static void take_turns(void *arg)
{
    turn_t *turn = arg;
    weft_os_thread_use_cpus(&turn->cpu);
    for (uint32_t i = 0; i < TURNS; i++) {
        weft_os_futex_wait(&turn->wanted, i, 10 * WEFT_NS_PER_S);
        atomic_store(&turn->taken, i + 1);
    }
}

/* The system takes such a thread's core away for a twentieth of each second, so one that only
 * yielded would wait for most of a second, each turn. Others may want the core, too. */
static void a_real_time_thread_gives_way_to_others(void **state)
{
    turn_t turn = {.wanted = 0};
    weft_os_thread_t *thread;
    const struct sched_param real_time = {.sched_priority = 1}, usual = {.sched_priority = 0};
    weft_os_cpu_set_t before;
    (void)state;
    if (sched_setscheduler(0, SCHED_FIFO, &real_time) != 0) {
        print_message("skipped: this process may not be a real-time one\n");
        skip();
    }
    assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &usual), 0);
    weft_os_thread_cpus(&before);
    weft_os_thread_use_cpu(weft_os_cpu_here());
    weft_os_thread_cpus(&turn.cpu);
    assert_int_equal(weft_os_thread_start("other", take_turns, &turn, &thread), WEFT_OK);
    assert_int_equal(sched_setscheduler(0, SCHED_FIFO, &real_time), 0);
    uint64_t start = weft_os_clock_ns();
    for (uint32_t i = 0; i < TURNS; i++) {
        uint32_t turns = 0;
        atomic_store(&turn.wanted, i + 1);
        weft_os_futex_wake(&turn.wanted);
        while (atomic_load(&turn.taken) != i + 1) {
            weft_os_give_way(&turns);
        }
    }
    uint64_t took = weft_os_clock_ns() - start;
    assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &usual), 0);
    weft_os_thread_use_cpus(&before);
    weft_os_thread_join(thread);
    assert_true(took < 10 * WEFT_NS_PER_S);
}

/* A page that the program protects, and makes writable when it is written to: collectors of garbage
 * and checkpoints find so what has changed. */
static char *page;
static size_t page_bytes;
static volatile sig_atomic_t faults;

static void make_writable(int number)
{
    (void)number;
    if (++faults > 1 || mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) {
        _exit(1);
    }
}

static void write_to_page(void *arg)
{
    (void)arg;
    *(volatile char *)page = 1;
}

static void a_fault_in_a_thread_reaches_the_handler_of_the_program(void **state)
{
    weft_os_thread_t *thread;
    struct sigaction action = {.sa_handler = make_writable}, before;
    (void)state;
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    page = mmap(NULL, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
    assert_int_equal(weft_os_thread_start("writer", write_to_page, NULL, &thread), WEFT_OK);
    weft_os_thread_join(thread);
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    assert_int_equal(faults, 1);
    assert_int_equal(page[0], 1);
    assert_int_equal(munmap(page, page_bytes), 0);
}

static void ask_mask(void *arg)
{
    (void)pthread_sigmask(SIG_SETMASK, NULL, arg);
}

static void other_signals_are_for_the_threads_of_the_program(void **state)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    static const int others[] = {SIGINT,  SIGTERM, SIGHUP,  SIGUSR1, SIGALRM, SIGPROF,
                                 SIGCHLD, SIGPIPE, SIGABRT, SIGURG,  SIGIO};
    weft_os_thread_t *thread;
    sigset_t mask;
    (void)state;
    assert_int_equal(weft_os_thread_start("asks", ask_mask, &mask, &thread), WEFT_OK);
    weft_os_thread_join(thread);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        assert_int_equal(sigismember(&mask, own[i]), 0);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(sigismember(&mask, others[i]), 1);
    }
    assert_int_equal(sigismember(&mask, SIGRTMIN), 1);
}

static void a_deadline_of_zero_is_never(void **state)
{
    (void)state;
    assert_true(weft_os_deadline(0) == WEFT_NEVER);
    assert_true(weft_os_deadline(-1) == WEFT_NEVER);
    assert_true(weft_os_deadline(1) > weft_os_clock_ns());
}

/* A system without control groups has nothing to say of a quota. */
static void asking_for_cpus_leaves_no_error(void **state)
{
    (void)state;
    weft_error_clear(weft_error_record());
    assert_true(weft_os_cpus() >= 1);
    assert_int_equal(weft_error_record()->status, WEFT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mutex_excludes),
        cmocka_unit_test(a_program_with_large_thread_locals_gets_its_threads),
        cmocka_unit_test(a_futex_wait_ends_at_its_timeout),
        cmocka_unit_test(one_of_several_words_ends_a_wait),
        cmocka_unit_test(a_real_time_thread_gives_way_to_others),
        cmocka_unit_test(a_fault_in_a_thread_reaches_the_handler_of_the_program),
        cmocka_unit_test(other_signals_are_for_the_threads_of_the_program),
        cmocka_unit_test(a_deadline_of_zero_is_never),
        cmocka_unit_test(asking_for_cpus_leaves_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
