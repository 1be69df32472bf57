/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Notes of calls: who is inside, for how long, and what a crash says. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/os/call_note.h"
#include "core/os/crash.h"
#include "tests/support/unit.h"

static void a_call_in_a_call_gives_the_outer_one_back(void **state)
{
    (void)state;
    int32_t thread = (int32_t)syscall(SYS_gettid);
    weft_call_note_t none = weft_call_enter("algo-a", "emit");
    weft_call_note_t outer = weft_call_enter("algo-b", "supports");
    assert_null(none.plugin);
    assert_string_equal(weft_call_of_thread(thread).plugin, "algo-b");
    weft_call_leave(outer);
    assert_string_equal(weft_call_of_thread(thread).method, "emit");
    assert_true(weft_call_any());
    weft_call_leave(none);
    assert_null(weft_call_of_thread(thread).plugin);
}

static void a_call_that_lasts_is_told_once(void **state)
{
    static weft_call_watch_t watch;
    weft_call_note_t note;
    uint64_t lasted;
    uint32_t index = 0;
    (void)state;
    weft_call_note_t none = weft_call_enter("net-x", "poll");
    assert_false(weft_call_watch_next(&watch, &index, 1000, 500, &note, &lasted));
    index = 0;
    assert_false(weft_call_watch_next(&watch, &index, 1400, 500, &note, &lasted));
    index = 0;
    assert_true(weft_call_watch_next(&watch, &index, 1600, 500, &note, &lasted));
    assert_string_equal(note.method, "poll");
    assert_int_equal(lasted, 600);
    index = 0;
    assert_false(weft_call_watch_next(&watch, &index, 1700, 500, &note, &lasted));
    weft_call_leave(none);
    /* Another call of the same method is another call. */
    none = weft_call_enter("net-x", "poll");
    index = 0;
    assert_false(weft_call_watch_next(&watch, &index, 2500, 500, &note, &lasted));
    weft_call_leave(none);
}

/* What a child that dies by a signal writes to stderr. */
static void dies_with(int number, const char *text)
{
    int ends[2], status = 0;
    char line[256] = "";
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        (void)signal(number, SIG_DFL); /* of a sanitizer, or of cmocka */
        weft_crash_install();
        (void)weft_call_enter("net-x", "poll");
        raise(number);
        _exit(0);
    }
    close(ends[1]);
    assert_true(read(ends[0], line, sizeof line - 1) > 0);
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), number);
    assert_string_equal(line, text);
}

static void a_crash_names_plugin_and_method(void **state)
{
    (void)state;
    dies_with(SIGSEGV, "weft: SIGSEGV in plugin net-x, poll\n");
    dies_with(SIGABRT, "weft: SIGABRT in plugin net-x, poll\n");
}

/* Another thread that goes in and out of calls of two plugins, one within the other. */
static _Atomic int32_t busy;
static _Atomic bool over;

static void *call_on(void *arg)
{
    (void)arg;
    atomic_store(&busy, (int32_t)syscall(SYS_gettid));
    while (!atomic_load(&over)) {
        weft_call_note_t none = weft_call_enter("algo-a", "emit");
        weft_call_note_t outer = weft_call_enter("algo-b", "supports");
        weft_call_leave(outer);
        weft_call_leave(none);
        none = weft_call_enter("algo-b", "supports");
        weft_call_leave(none);
    }
    return NULL;
}

static void a_note_is_never_of_two_calls(void **state)
{
    /* Beside other processes the other thread may stand still for all of the first. */
    enum { LOOKS = 3000000, MOST = LOOKS + 100000 };
    pthread_t thread;
    uint32_t seen[2] = {0, 0};
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, call_on, NULL), 0);
    while (atomic_load(&busy) == 0) {
        usleep(100);
    }
    for (uint32_t i = 0; i < LOOKS || (i < MOST && (seen[0] == 0 || seen[1] == 0)); i++) {
        if (i >= LOOKS) {
            usleep(100);
        }
        weft_call_note_t note = weft_call_of_thread(atomic_load(&busy));
        if (note.plugin != NULL) {
            const bool a = strcmp(note.plugin, "algo-a") == 0;
            assert_string_equal(note.method, a ? "emit" : "supports");
            seen[a]++;
        }
    }
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    assert_true(seen[0] > 0 && seen[1] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_in_a_call_gives_the_outer_one_back),
        cmocka_unit_test(a_call_that_lasts_is_told_once),
        cmocka_unit_test(a_crash_names_plugin_and_method),
        cmocka_unit_test(a_note_is_never_of_two_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
