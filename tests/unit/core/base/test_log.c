/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lines of the log: one call is one line, whatever texts are in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/log.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_forges_no_line),
        cmocka_unit_test(a_long_text_ends_with_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
