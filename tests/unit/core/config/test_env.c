/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading the environment. */
#include <stdlib.h>
#include <string.h>

#include "core/config/env.h"
#include "tests/support/secure.h"
#include "tests/support/unit.h"

static void unset_variable_is_null(void **state)
{
    (void)state;
    unsetenv("WEFT_X");
    assert_null(weft_env("WEFT_X"));
    assert_null(weft_env_hidden("WEFT_X"));
    setenv("WEFT_X", "", 1);
    assert_string_equal(weft_env("WEFT_X"), "");
    assert_null(weft_env_hidden("WEFT_X"));
}

static void numbers_are_strict(void **state)
{
    static const char *const bad[] = {"", "-1", " 1", "1 ", "1x", "0x1", "18446744073709551616"};
    uint64_t value = 77;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        setenv("WEFT_X", bad[i], 1);
        assert_false(weft_env_number("WEFT_X", &value));
    }
    unsetenv("WEFT_X");
    assert_false(weft_env_number("WEFT_X", &value));
    assert_int_equal(value, 77);
    setenv("WEFT_X", "18446744073709551615", 1);
    assert_true(weft_env_number("WEFT_X", &value));
    assert_true(value == UINT64_MAX);
}

static void prefix_lists_each_variable_once(void **state)
{
    (void)state;
    clearenv();
    assert_null(weft_env_prefixed("WEFT_", 0));
    setenv("WEFT_A", "1", 1);
    setenv("OTHER", "2", 1);
    setenv("WEFT_B", "3=4", 1);
    assert_string_equal(weft_env_prefixed("WEFT_", 0), "WEFT_A=1");
    assert_string_equal(weft_env_prefixed("WEFT_", 1), "WEFT_B=3=4");
    assert_null(weft_env_prefixed("WEFT_", 2));
}

/* Exit status of a set-user-id copy of this program. */
static int secure_child(void)
{
    const char *hidden = weft_env_hidden("WEFT_X");
    if (hidden == NULL || strcmp(hidden, "1") != 0 || weft_env_hidden("WEFT_Y") != NULL) {
        return 2;
    }
    return weft_env("WEFT_X") == NULL && weft_env_prefixed("WEFT_", 0) == NULL ? 0 : 1;
}

static void set_user_id_program_sees_no_variable(void **state)
{
    (void)state;
    assert_int_equal(secure_run("WEFT_X=1"), 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--secure") == 0) {
        secure_exit(secure_child());
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unset_variable_is_null),
        cmocka_unit_test(numbers_are_strict),
        cmocka_unit_test(set_user_id_program_sees_no_variable),
        cmocka_unit_test(prefix_lists_each_variable_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
