/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Settings and variables are plain text, as files are: a value may be printed, and read again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/config/config.h"
#include "tests/support/unit.h"

static weft_status_t load(const char *setting)
{
    const weft_comm_options_t options = {.size = sizeof options,
                                         .config = "/dev/null",
                                         .settings = &setting,
                                         .settings_count = setting != NULL};
    weft_config_t *config;
    weft_status_t status = weft_config_load(&options, &config);
    if (status == WEFT_OK) {
        weft_config_destroy(config);
    }
    return status;
}

static void values_that_are_no_plain_text_are_told(void **state)
{
    static const char *const values[][2] = {
        {"a\nb", "control character"}, {"a\rb", "control character"}, {"a\xff", "not UTF-8"}};
    (void)state;
    assert_int_equal(load("boot.label=a\tü"), WEFT_OK);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char setting[64];
        snprintf(setting, sizeof setting, "boot.label=%s", values[i][0]);
        assert_int_equal(load(setting), WEFT_ERR_CONFIG);
        assert_non_null(strstr(weft_error_record()->text, "options.settings boot.label="));
        assert_non_null(strstr(weft_error_record()->text, values[i][1]));
        setenv("WEFT_BOOT_LABEL", values[i][0], 1);
        assert_int_equal(load(NULL), WEFT_ERR_CONFIG);
        assert_non_null(strstr(weft_error_record()->text, "environment WEFT_BOOT_LABEL: "));
        assert_non_null(strstr(weft_error_record()->text, values[i][1]));
        unsetenv("WEFT_BOOT_LABEL");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_that_are_no_plain_text_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
