/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What weft_option_given() says of the sources of a configuration. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/option.h>

#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static int fresh(void **state)
{
    (void)state;
    clearenv();
    setenv("HOME", scratch_folder(), 1);
    setenv("WEFT_CORE_LOG", "error", 1);
    return 0;
}

static void need_kernel(const weft_comm_options_t *options, const char *want)
{
    char value[64] = "untouched";
    assert_int_equal(weft_option_given(options, "core", "kernel", value, sizeof value), WEFT_OK);
    assert_string_equal(value, want);
}

static const char *write_file(const char *text)
{
    return scratch_write("weft.ini", text, strlen(text));
}

static void the_strongest_source_is_told(void **state)
{
    static const char *const settings[] = {"core.kernel=from-set"};
    weft_comm_options_t options = {.size = sizeof options};
    (void)state;
    need_kernel(NULL, ""); /* and not the default */
    need_kernel(&options, "");
    setenv("WEFT_CONF", write_file("[core]\nkernel = from-file ; a comment\n"), 1);
    need_kernel(NULL, "from-file");
    setenv("WEFT_CORE_KERNEL", "from-variable", 1);
    need_kernel(NULL, "from-variable");
    options.settings = settings;
    options.settings_count = 1;
    need_kernel(&options, "from-set");
    unsetenv("WEFT_CORE_KERNEL");
    options.settings_count = 0;
    options.config = write_file("[core]\nnet = net-shm\n");
    need_kernel(&options, "");
}

static void need_error(weft_status_t status, weft_status_t want, const char *part)
{
    weft_error_t error = {.size = sizeof error};
    assert_int_equal(status, want);
    assert_int_equal(weft_last_error(&error), WEFT_OK);
    assert_says(error.text, part);
}

static void mistakes_are_told(void **state)
{
    char value[8] = "as it w", name[] = "core";
    (void)state;
    need_error(weft_option_given(NULL, NULL, name, value, sizeof value), WEFT_ERR_ARG, "section");
    need_error(weft_option_given(NULL, name, NULL, value, sizeof value), WEFT_ERR_ARG, "key");
    need_error(weft_option_given(NULL, name, name, NULL, sizeof value), WEFT_ERR_ARG, "value");
    need_error(weft_option_given(NULL, name, "net", value, 0), WEFT_ERR_ARG, "needs 1 bytes");
    setenv("WEFT_CORE_KERNEL", "12345678", 1);
    need_error(weft_option_given(NULL, name, "kernel", value, sizeof value), WEFT_ERR_ARG,
               "needs 9 bytes, there are 8");
    setenv("WEFT_CONF", "/no/such/file", 1);
    need_error(weft_option_given(NULL, name, "kernel", value, sizeof value), WEFT_ERR_CONFIG,
               "/no/such/file");
    assert_string_equal(value, "as it w");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_strongest_source_is_told, fresh),
        cmocka_unit_test_setup(mistakes_are_told, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
