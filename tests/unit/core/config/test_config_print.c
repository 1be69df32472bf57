/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is printed is read back as the same, or is not printed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/config/config.h"
#include "core/config/settings.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static void is_not_printed(const char *setting, const char *why)
{
    const weft_comm_options_t options = {
        .size = sizeof options, .config = "/dev/null", .settings = &setting, .settings_count = 1};
    weft_settings_t settings;
    weft_config_t *config;
    assert_int_equal(weft_config_load(&options, &config), WEFT_OK);
    assert_int_equal(weft_settings_read(config, &settings), WEFT_OK);
    FILE *file = fopen(scratch_path("cut.ini"), "w");
    assert_non_null(file);
    assert_int_equal(weft_config_print(config, file), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, why));
    assert_int_equal(ftell(file), 0);
    fclose(file);
    weft_config_destroy(config);
}

static void a_value_that_a_file_would_cut_is_not_printed(void **state)
{
    (void)state;
    is_not_printed("boot.label=a ; b", "options.settings: [boot] label = a ; b: cannot stand in a "
                                       "file, where '#' and ';' behind a blank begin a comment");
}

static void a_value_that_makes_its_line_too_long_is_not_printed(void **state)
{
    char label[1001];
    (void)state;
    memset(label, 'a', sizeof label - 1);
    label[sizeof label - 1] = '\0';
    assert_int_equal(setenv("WEFT_BOOT_LABEL", label, 1), 0);
    is_not_printed("boot.bind=", "WEFT_BOOT_LABEL: [boot] label = aaa");
    is_not_printed("boot.bind=", "cannot stand in a file, whose lines have at most 1000 bytes");
    assert_int_equal(unsetenv("WEFT_BOOT_LABEL"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_that_a_file_would_cut_is_not_printed),
        cmocka_unit_test(a_value_that_makes_its_line_too_long_is_not_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
