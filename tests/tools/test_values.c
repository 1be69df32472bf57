/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Values on the command line, and the option parser. */
#include <string.h>

#include "tests/support/unit.h"
#include "tools/args.h"
#include "tools/tool.h"
#include "tools/values.h"

static void sizes_take_units_and_fractions(void **state)
{
    (void)state;
    uint64_t size = 0;
    assert_true(tool_parse_size("x", "8", &size) && size == 8);
    assert_true(tool_parse_size("x", "1.5K", &size) && size == 1536);
    assert_true(tool_parse_size("x", "16m", &size) && size == 16 << 20);
    assert_true(tool_parse_size("x", "2G", &size) && size == UINT64_C(2) << 30);
    assert_false(tool_parse_size("x", "", &size));
    assert_false(tool_parse_size("x", "8Q", &size));
    assert_false(tool_parse_size("x", "-1", &size));
    assert_false(tool_parse_size("x", "nan", &size));
    assert_false(tool_parse_size("x", "8KB", &size));
}

static void integers_keep_their_range(void **state)
{
    (void)state;
    int64_t value = 0;
    assert_true(tool_parse_integer("x", "7", 0, 7, &value) && value == 7);
    assert_false(tool_parse_integer("x", "8", 0, 7, &value));
    assert_false(tool_parse_integer("x", "7x", 0, 7, &value));
    assert_false(tool_parse_integer("x", "99999999999999999999", 0, INT64_MAX, &value));
    assert_false(tool_parse_integer("x", "", 0, 7, &value));
    /* As in the configuration: a zero in front does not make it octal. */
    assert_true(tool_parse_integer("x", "010", 0, 16, &value) && value == 10);
    assert_true(tool_parse_integer("x", "0x10", 0, 16, &value) && value == 16);
    assert_true(tool_parse_integer("x", "-1", -1, 7, &value) && value == -1);
}

static void the_nearest_name_is_offered(void **state)
{
    static const char *const names[] = {"all_reduce", "broadcast", NULL};
    (void)state;
    assert_string_equal(tool_nearest("all_reduc", names), "all_reduce");
    assert_null(tool_nearest("zzz", names));
}

static const tool_option_t table[] = {
    {'b', "begin", "N", "", 1}, {'q', "quiet", NULL, "", 2}, {0, NULL, NULL, NULL, 0}};

static int first_of(char *a, char *b, const char **value)
{
    char program[] = "x";
    char *argv[] = {program, a, b, NULL};
    tool_args_t args = {.options = table, .argc = b != NULL ? 3 : 2, .argv = argv, .at = 1};
    int id = tool_args_next(&args);
    *value = args.value;
    return id;
}

static void options_are_read_in_every_form(void **state)
{
    char joined[] = "-b8", letter[] = "-b", name[] = "--begin", equals[] = "--begin=8";
    char eight[] = "8", quiet[] = "--quiet", loud[] = "--quiet=1", operand[] = "all";
    const char *value = NULL;
    (void)state;
    assert_int_equal(first_of(joined, NULL, &value), 1);
    assert_string_equal(value, "8");
    assert_int_equal(first_of(letter, eight, &value), 1);
    assert_string_equal(value, "8");
    assert_int_equal(first_of(name, eight, &value), 1);
    assert_int_equal(first_of(equals, NULL, &value), 1);
    assert_string_equal(value, "8");
    assert_int_equal(first_of(quiet, NULL, &value), 2);
    assert_int_equal(first_of(loud, NULL, &value), TOOL_ARGS_ERROR);
    assert_int_equal(first_of(name, NULL, &value), TOOL_ARGS_ERROR);
    assert_int_equal(first_of(operand, NULL, &value), TOOL_ARGS_OPERAND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_take_units_and_fractions),
        cmocka_unit_test(integers_keep_their_range),
        cmocka_unit_test(the_nearest_name_is_offered),
        cmocka_unit_test(options_are_read_in_every_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
