/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Values of parameters, of a section and of a text, are inside the ranges of their table. */
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/plugin/algo_params.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static const weft_algo_param_t params[] = {
    {"depth", "more than one value", -1, 9, 3},
    {"only", "one value, which is 0", 0, 0, 0},
    {"five", "one value, which is not", 5, 5, 5},
    {NULL, NULL, 0, 0, 0},
};
static const weft_algo_ops_t ops = {.size = sizeof ops, .params = params};

static int fresh(void **state)
{
    (void)state;
    clearenv();
    setenv("HOME", scratch_folder(), 1);
    weft_error_clear(weft_error_record());
    return 0;
}

static weft_status_t configure(const char *setting, int64_t values[WEFT_ALGO_PARAMS_MAX])
{
    weft_config_t *config = NULL;
    const weft_comm_options_t options = {
        .size = sizeof options, .settings = &setting, .settings_count = 1};
    assert_int_equal(weft_config_load(&options, &config), WEFT_OK);
    weft_status_t status = weft_algo_params_configure(config, "algo-x", &ops, values);
    weft_config_destroy(config);
    return status;
}

static const char *section_of(const char *word)
{
    static char setting[64];
    snprintf(setting, sizeof setting, "algo-x.%s", word);
    return setting;
}

static void values_inside_the_ranges_are_taken(void **state)
{
    static const char *const words[] = {"depth=-1", "depth=9", "only=0", "five=5"};
    static const int64_t expected[][3] = {{-1, 0, 5}, {9, 0, 5}, {3, 0, 5}, {3, 0, 5}};
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        int64_t section[WEFT_ALGO_PARAMS_MAX], text[WEFT_ALGO_PARAMS_MAX] = {3, 0, 5};
        assert_int_equal(configure(section_of(words[i]), section), WEFT_OK);
        assert_int_equal(weft_algo_params_take("algo-x", &ops, words[i], text), WEFT_OK);
        assert_memory_equal(section, expected[i], sizeof expected[i]);
        assert_memory_equal(text, expected[i], sizeof expected[i]);
    }
}

static void values_outside_of_them_are_refused_by_name_and_range(void **state)
{
    static const char *const wrong[][2] = {
        {"depth=10", "-1 to 9"}, {"depth=-2", "-1 to 9"}, {"only=7", "0 to 0"},
        {"only=-1", "0 to 0"},   {"five=0", "5 to 5"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int64_t values[WEFT_ALGO_PARAMS_MAX] = {0};
        char name[8] = "";
        memcpy(name, wrong[i][0], strcspn(wrong[i][0], "="));
        assert_int_equal(configure(section_of(wrong[i][0]), values), WEFT_ERR_CONFIG);
        assert_non_null(strstr(weft_error_record()->text, wrong[i][1]));
        assert_non_null(strstr(weft_error_record()->text, name));
        assert_int_equal(weft_algo_params_take("algo-x", &ops, wrong[i][0], values),
                         WEFT_ERR_CONFIG);
        assert_non_null(strstr(weft_error_record()->text, wrong[i][1]));
        assert_non_null(strstr(weft_error_record()->text, name));
    }
}

static void a_parameter_given_twice_is_refused(void **state)
{
    int64_t values[WEFT_ALGO_PARAMS_MAX] = {3, 0, 5};
    (void)state;
    assert_int_equal(weft_algo_params_take("algo-x", &ops, "depth=1,only=0,depth=2", values),
                     WEFT_ERR_CONFIG);
    assert_string_equal(weft_error_record()->text, "algo-x: depth is given twice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_parameter_given_twice_is_refused, fresh),
        cmocka_unit_test_setup(values_inside_the_ranges_are_taken, fresh),
        cmocka_unit_test_setup(values_outside_of_them_are_refused_by_name_and_range, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
