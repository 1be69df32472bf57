/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lines of the log: one call is one line, whatever texts are in it; and nobody dies or hangs
 * because of whoever should read them. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/log.h"
#include "tests/support/unit.h"

/* What a call writes to the standard error. */
static void capture(const char *text, char *line, size_t bytes)
{
    int ends[2];
    const int before = dup(STDERR_FILENO);
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    weft_log(WEFT_LOG_ERROR, "test", "%s", text);
    dup2(before, STDERR_FILENO);
    close(before);
    close(ends[1]);
    const ssize_t got = read(ends[0], line, bytes - 1);
    close(ends[0]);
    line[got > 0 ? got : 0] = '\0';
}

static void a_text_forges_no_line(void **state)
{
    (void)state;
    char line[2048];
    capture("broken\nweft[1] error init: \x1b[31mforged\x7f\ttab \xc3\xbc\xc2\x9b"
            "cut \xc3",
            line, sizeof line);
    assert_non_null(
        strstr(line, "error test: broken weft[1] error init: ?[31mforged? tab \xc3\xbc??cut ?\n"));
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

static void a_long_text_ends_with_its_line(void **state)
{
    (void)state;
    char text[3000], line[4096];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    capture(text, line, sizeof line);
    assert_int_equal(line[strlen(line) - 1], '\n');
    assert_true(strlen(line) <= 1024);
}

/* Compares shapes: every digit counts as 0. */
static void a_line_begins_with_the_time_if_that_is_wanted(void **state)
{
    static const char shape[] = "0000-00-00 00:00:00.000 weft[";
    char line[4096], plain[64];
    (void)state;
    weft_log_set_timed(true);
    const time_t before = time(NULL);
    capture("now", line, sizeof line);
    const time_t after = time(NULL);
    weft_log_set_timed(false);
    struct tm told = {.tm_isdst = -1};
    assert_non_null(strptime(line, "%Y-%m-%d %H:%M:%S", &told));
    assert_in_range(mktime(&told), before, after);
    for (size_t i = 0; shape[i] != '\0'; i++) {
        const char c = line[i];
        assert_int_equal(c >= '0' && c <= '9' ? '0' : c, shape[i]);
    }
    assert_non_null(strstr(line, "] error test: now\n"));
    capture("later", line, sizeof line);
    snprintf(plain, sizeof plain, "weft[%d] error test: later\n", (int)getpid());
    assert_string_equal(line, plain);
}

/* Puts a pipe in the place of the standard error. Returns what was there. */
static int log_into_pipe(int ends[2])
{
    const int before = dup(STDERR_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    return before;
}

static void log_as_before(int before)
{
    assert_int_equal(dup2(before, STDERR_FILENO), STDERR_FILENO);
    close(before);
}

static bool broken_pipe_pends(void)
{
    sigset_t pending;
    assert_int_equal(sigpending(&pending), 0);
    return sigismember(&pending, SIGPIPE) == 1;
}

/* The signal of a broken pipe has its default here: it would end this process. */
static void nobody_dies_of_a_log_without_a_reader(void **state)
{
    (void)state;
    int ends[2];
    sigset_t broken, mask;
    const int before = log_into_pipe(ends);
    close(ends[0]);
    weft_log(WEFT_LOG_ERROR, "test", "nobody reads this");
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &mask), 0);
    assert_int_equal(sigismember(&mask, SIGPIPE), 0);
    assert_false(broken_pipe_pends());
    /* One that the program holds back is not taken from it. */
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &broken, NULL), 0);
    weft_log(WEFT_LOG_ERROR, "test", "nor this");
    assert_false(broken_pipe_pends());
    assert_int_equal(raise(SIGPIPE), 0);
    weft_log(WEFT_LOG_ERROR, "test", "nor that");
    assert_true(broken_pipe_pends());
    assert_int_equal(sigtimedwait(&broken, NULL, &(struct timespec){.tv_sec = 0}), SIGPIPE);
    assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &broken, NULL), 0);
    log_as_before(before);
    close(ends[1]);
}

/* Fills the pipe, or empties it, and returns the number of bytes. */
static size_t move_all(int end, bool fills)
{
    char page[4096] = {0};
    size_t all = 0;
    ssize_t moved = 1;
    const int flags = fcntl(end, F_GETFL);
    assert_int_equal(fcntl(end, F_SETFL, flags | O_NONBLOCK), 0);
    while (moved > 0) {
        moved = fills ? write(end, page, sizeof page) : read(end, page, sizeof page);
        all += moved > 0 ? (size_t)moved : 0;
    }
    assert_int_equal(fcntl(end, F_SETFL, flags), 0);
    return all;
}

static void a_log_that_nobody_reads_holds_up_nobody(void **state)
{
    (void)state;
    int ends[2];
    char text[1024];
    weft_log(WEFT_LOG_ERROR, "test", "what earlier tests have dropped is told here");
    const int before = log_into_pipe(ends);
    const size_t full = move_all(ends[1], true);
    alarm(60); /* ends a call that waits for a reader */
    for (int i = 0; i < 1000; i++) {
        weft_log(WEFT_LOG_ERROR, "test", "nobody reads this");
    }
    alarm(0);
    assert_int_equal(move_all(ends[0], false), full);
    weft_log(WEFT_LOG_ERROR, "test", "somebody reads again");
    const ssize_t got = read(ends[0], text, sizeof text - 1);
    log_as_before(before);
    close(ends[0]);
    close(ends[1]);
    text[got > 0 ? got : 0] = '\0';
    assert_non_null(
        strstr(text, "warn log: lines that could not be written, and were dropped: 1000\n"));
    assert_non_null(strstr(text, "error test: somebody reads again\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_forges_no_line),
        cmocka_unit_test(a_long_text_ends_with_its_line),
        cmocka_unit_test(a_line_begins_with_the_time_if_that_is_wanted),
        cmocka_unit_test(nobody_dies_of_a_log_without_a_reader),
        cmocka_unit_test(a_log_that_nobody_reads_holds_up_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
