/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is printed is read back as the same, or is not printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/error.h"
#include "core/config/config.h"
#include "core/config/settings.h"
#include "tests/support/scratch.h"
static void a_value_that_a_file_would_cut_is_not_printed(void **state)
{
    const char *const setting = "boot.label=a ; b";
    const weft_comm_options_t options = {
        .size = sizeof options, .config = "/dev/null", .settings = &setting, .settings_count = 1};
    weft_settings_t settings;
    weft_config_t *config;
    (void)state;
    assert_int_equal(weft_config_load(&options, &config), WEFT_OK);
    assert_int_equal(weft_settings_read(config, &settings), WEFT_OK);
    FILE *file = fopen(scratch_path("cut.ini"), "w");
    assert_non_null(file);
    assert_int_equal(weft_config_print(config, file), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text,
                           "options.settings: [boot] label = a ; b: cannot stand in a file"));
    fclose(file);
    weft_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_that_a_file_would_cut_is_not_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
