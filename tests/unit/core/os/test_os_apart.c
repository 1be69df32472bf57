/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/os/os_apart.h"
#include "core/os/os_cancel.h"
#include "tests/support/unit.h"

enum { NUMBERS = 40000 }; /* more than a pipe holds */

typedef struct answer {
    pid_t pid;
    uint32_t number[NUMBERS];
} answer_t;

static int touched;

static void count(void *arg, void *out)
{
    answer_t *answer = out;
    touched = 1;
    answer->pid = getpid();
    for (uint32_t i = 0; i < NUMBERS; i++) {
        answer->number[i] += i * *(const uint32_t *)arg;
    }
}

static void its_answer_comes_back_and_nothing_else(void **unused)
{
    (void)unused;
    static answer_t answer;
    uint32_t factor = 3;
    memset(&answer, 0, sizeof answer);
    answer.number[7] = 100; /* it begins with what the caller has */
    assert_int_equal(
        weft_os_run_apart(count, &factor, &answer, sizeof answer, weft_os_deadline(30)), WEFT_OK);
    assert_true(answer.pid != getpid() && answer.pid > 0);
    for (uint32_t i = 0; i < NUMBERS; i++) {
        assert_int_equal(answer.number[i], 3 * i + (i == 7 ? 100 : 0));
    }
    assert_int_equal(touched, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no process is left */
}

static void end_early(void *arg, void *out)
{
    (void)out;
    _exit(*(const int *)arg);
}

static void its_end_without_an_answer_is_told(void **unused)
{
    (void)unused;
    int code = 5, number = 0;
    assert_int_equal(
        weft_os_run_apart(end_early, &code, &number, sizeof number, weft_os_deadline(30)),
        WEFT_ERR_SYSTEM);
    assert_non_null(strstr(weft_error_record()->text, "exit code 5"));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void sleep_on(void *arg, void *out)
{
    (void)arg;
    (void)out;
    sleep(1000);
}

static void its_time_has_an_end(void **unused)
{
    (void)unused;
    int number = 0;
    assert_int_equal(
        weft_os_run_apart(sleep_on, NULL, &number, sizeof number, weft_os_deadline(0.1)),
        WEFT_ERR_TIMEOUT);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void who_is_cancelled_does_not_wait_for_it(void **unused)
{
    (void)unused;
    int number = 0, ends[2];
    assert_int_equal(pipe(ends), 0);
    weft_os_cancel_by(ends[0]);
    close(ends[1]);
    uint64_t start = weft_os_clock_ns();
    assert_int_equal(
        weft_os_run_apart(sleep_on, NULL, &number, sizeof number, weft_os_deadline(30)),
        WEFT_ERR_ABORTED);
    assert_true(weft_os_clock_ns() - start < 10 * WEFT_NS_PER_S);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    weft_os_cancel_by(-1);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_answer_comes_back_and_nothing_else),
        cmocka_unit_test(its_end_without_an_answer_is_told),
        cmocka_unit_test(its_time_has_an_end),
        cmocka_unit_test(who_is_cancelled_does_not_wait_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
