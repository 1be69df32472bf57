/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The text of an error: what is too long for it leaves room for the cause. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "tests/support/unit.h"

enum { TEXT = sizeof(((weft_error_t *)NULL)->text) };

/* The error of a path of so many letters ü. */
static const char *fail_with_path(size_t letters)
{
    static char path[2 * TEXT + 1];
    memset(path, 0, sizeof path);
    for (size_t i = 0; i < letters; i++) {
        memcpy(path + 2 * i, "ü", 2);
    }
    assert_int_equal(weft_fail(WEFT_ERR_SYSTEM, ENOENT, "cannot read %s", path), WEFT_ERR_SYSTEM);
    assert_int_equal(weft_error_record()->os_errno, ENOENT);
    return weft_error_record()->text;
}

static void the_cause_stands_behind_the_text(void **state)
{
    (void)state;
    assert_string_equal(fail_with_path(1), "cannot read ü: No such file or directory");
}

/* At every length: the cause is whole, and no character is cut in two. */
static void a_cause_stands_once(void **state)
{
    (void)state;
    weft_fail(WEFT_ERR_CONFIG, ENOENT, "cannot read %s", "a.ini");
    const weft_error_t before = *weft_error_record();
    weft_fail(before.status, before.os_errno, "rank 1 gave up: %s", before.text);
    assert_string_equal(weft_error_record()->text,
                        "rank 1 gave up: cannot read a.ini: No such file or directory");
}

static void a_long_text_leaves_room_for_the_cause(void **state)
{
    static const char cause[] = "…: No such file or directory";
    (void)state;
    for (size_t letters = 200; letters < TEXT; letters++) {
        const char *text = fail_with_path(letters);
        const size_t length = strlen(text);
        assert_true(length < TEXT);
        const char *end = text + length - (sizeof cause - 1);
        assert_string_equal(strchr(end + strlen("…"), ':'), ": No such file or directory");
        if (2 * letters + strlen("cannot read ") > TEXT) {
            assert_string_equal(end, cause);
            assert_memory_equal(end - 2, "ü", 2);
        }
    }
}

static void a_text_is_one_line_that_tells_a_terminal_nothing(void **state)
{
    (void)state;
    weft_fail(WEFT_ERR_CONFIG, 0, "environment %s: no such option",
              "WEFT_\033[31mX\nweft[1] error\x7f\ty");
    assert_string_equal(weft_error_record()->text,
                        "environment WEFT_?[31mX weft[1] error? y: no such option");
}

/* Records are copied whole, to the caller and to other ranks. */
static void use_the_stack(void)
{
    volatile char used[8192];
    for (size_t i = 0; i < sizeof used; i++) {
        used[i] = 's';
    }
}

static void nothing_of_the_stack_or_of_an_earlier_text_is_behind_the_text(void **state)
{
    static const char nothing[TEXT];
    (void)state;
    fail_with_path(TEXT / 2);
    use_the_stack();
    weft_fail(WEFT_ERR_SYSTEM, ENOENT, "cannot read %s", "a.ini");
    const char *text = weft_error_record()->text;
    assert_memory_equal(text + strlen(text), nothing, TEXT - strlen(text));
}

static void what_a_call_was_for_stands_before_its_text(void **state)
{
    (void)state;
    weft_fail(WEFT_ERR_SYSTEM, ENOENT, "cannot read %s", "a.machine");
    assert_int_equal(weft_fail_about("[core] machine"), WEFT_ERR_SYSTEM);
    assert_string_equal(weft_error_record()->text,
                        "[core] machine: cannot read a.machine: No such file or directory");
    assert_int_equal(weft_error_record()->os_errno, ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cause_stands_behind_the_text),
        cmocka_unit_test(a_cause_stands_once),
        cmocka_unit_test(a_long_text_leaves_room_for_the_cause),
        cmocka_unit_test(a_text_is_one_line_that_tells_a_terminal_nothing),
        cmocka_unit_test(nothing_of_the_stack_or_of_an_earlier_text_is_behind_the_text),
        cmocka_unit_test(what_a_call_was_for_stands_before_its_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
