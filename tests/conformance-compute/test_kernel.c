/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Conformance of kernel plugins: every plugin named as an argument, with every instruction set its
 * option `isa` offers and this machine has, over every type, operator and shape. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_shape.h"
#include "tests/support/fake_host.h"
#include "tests/support/unit.h"

#define COUNT_MAX 257

/* A plugin with one instruction set. */
typedef struct instance {
    char name[96];
    char setting[64];
    const weft_kernel_ops_t *ops;
    void *config;
    fake_host_t fake;
    weft_kernel_t *kernel;
} instance_t;

static shape_bench_t bench;

static void shape_failed(const char *text)
{
    fail_msg("%s", text);
}

static weft_combine_fn_t selected(instance_t *instance, weft_dtype_t dtype, weft_op_t op)
{
    weft_combine_fn_t fn = NULL;
    assert_int_equal(instance->ops->select(instance->kernel, dtype, op, &fn), WEFT_OK);
    assert_non_null(fn);
    return fn;
}

/* Every length, and with each of them another number of destinations: the draws of one operator
 * bring all pairs of the two. */
static void check_counts(const reference_case_t *what, weft_combine_fn_t fn, uint32_t draw)
{
    shape_expect(&bench, what, COUNT_MAX);
    for (size_t count = 0; count <= COUNT_MAX; count++) {
        uint32_t ndst = 1 + (uint32_t)(count + draw) % WEFT_COMBINE_MAX;
        shape_t shape = shape_draw(&bench, ndst, count);
        shape_check(&bench, &shape, fn);
    }
}

static void combinations_of_0_to_257_elements_match_the_reference(void **state)
{
    for (weft_dtype_t dtype = 0; dtype < WEFT_DTYPE_COUNT; dtype++) {
        shape_fill(&bench, dtype);
        for (weft_op_t op = 0; op < WEFT_OP_COUNT; op++) {
            if (!reference_has(dtype, op)) {
                continue;
            }
            const int draws = op == WEFT_PREMULSUM ? 4 : op == WEFT_AVG ? 3 : 1;
            for (uint32_t i = 0; i < WEFT_COMBINE_MAX * (uint32_t)draws; i++) {
                reference_case_t what =
                    shape_draw_case(&bench, dtype, op, 1 + i % WEFT_COMBINE_MAX);
                check_counts(&what, selected(*state, dtype, op), i);
            }
        }
    }
}

static void large_combinations_match_the_reference(void **state)
{
    for (weft_dtype_t dtype = 0; dtype < WEFT_DTYPE_COUNT; dtype++) {
        const size_t most = SHAPE_LARGEST / 4 / reference_size(dtype);
        shape_fill(&bench, dtype);
        for (uint32_t i = 0; i < 4 * WEFT_OP_COUNT; i++) {
            const weft_op_t op = i % WEFT_OP_COUNT;
            if (!reference_has(dtype, op)) {
                continue;
            }
            reference_case_t what = shape_draw_case(&bench, dtype, op, 1 + i / WEFT_OP_COUNT);
            shape_expect(&bench, &what, most);
            for (uint32_t ndst = 1; ndst <= WEFT_COMBINE_MAX; ndst++) {
                size_t count = most - shape_random(&bench) % (most / 2);
                shape_t shape = shape_draw(&bench, ndst, count);
                shape_check(&bench, &shape, selected(*state, dtype, op));
            }
        }
    }
}

/* All pairs of 8-bit floats, and all 16-bit floats beside random others, one period at a time. */
static void every_pattern_of_small_floats_combines_as_the_reference_says(void **state)
{
    static const weft_dtype_t types[] = {WEFT_FP16, WEFT_BF16, WEFT_FP8_E4M3, WEFT_FP8_E5M2};
    for (uint32_t i = 0; i < 4 * WEFT_BAND; i++) {
        reference_case_t what = {.dtype = types[i / WEFT_BAND],
                                 .op = i % WEFT_BAND,
                                 .nsrc = 2,
                                 .nranks = 3,
                                 .final = true};
        for (uint64_t first = 0; first < 65536; first += SHAPE_PERIOD) {
            for (uint64_t k = 0; k < SHAPE_PERIOD; k++) {
                bench.value[0][k] = first + k;
                bench.value[1][k] =
                    reference_size(what.dtype) == 1 ? (first + k) >> 8 : shape_random(&bench);
                for (uint32_t s = 0; s < 2; s++) {
                    reference_store(what.dtype, bench.pool[s], k, bench.value[s][k]);
                    bench.value[s][k] = reference_load(what.dtype, bench.pool[s], k);
                }
            }
            shape_expect(&bench, &what, SHAPE_PERIOD);
            shape_t shape = shape_draw(&bench, 1, SHAPE_PERIOD);
            shape_check(&bench, &shape, selected(*state, what.dtype, what.op));
        }
    }
}

static void scaling_by_one_changes_no_number(void **state)
{
    for (weft_dtype_t dtype = 0; dtype < WEFT_DTYPE_COUNT; dtype++) {
        reference_case_t what = {.dtype = dtype, .op = WEFT_PREMULSUM, .nsrc = 1, .pre_mask = 1};
        what.scalar = reference_is_float(dtype) ? reference_encode(dtype, 1) : 1;
        shape_fill(&bench, dtype);
        shape_expect(&bench, &what, SHAPE_PERIOD);
        for (size_t i = 0; i < SHAPE_PERIOD; i++) {
            assert_true(reference_same(dtype, bench.expected[i], bench.value[0][i]));
        }
        shape_t shape = shape_draw(&bench, 1, SHAPE_PERIOD);
        shape_check(&bench, &shape, selected(*state, dtype, WEFT_PREMULSUM));
    }
}

static void what_goes_well_is_no_failure(void **state)
{
    instance_t *instance = *state;
    uint8_t in = 3, out = 0;
    const weft_combine_t c = {.src = {&in}, .dst = {&out}, .count = 1, .nsrc = 1, .ndst = 1};
    selected(instance, WEFT_UINT8, WEFT_SUM)(&c);
    assert_int_equal(out, 3);
    if (WEFT_HAS(instance->ops, weft_kernel_ops_t, combine_status)) {
        assert_int_equal(instance->ops->combine_status(instance->kernel), WEFT_OK);
    }
}

static void properties_name_the_variant_and_a_bandwidth(void **state)
{
    instance_t *instance = *state;
    weft_kernel_props_t props = {.size = sizeof props};
    assert_int_equal(instance->ops->props(instance->kernel, &props), WEFT_OK);
    assert_int_equal(props.size, sizeof props);
    assert_int_equal(props.memory_kind, WEFT_MEMORY_HOST);
    assert_true(props.variant[0] != '\0' && memchr(props.variant, '\0', sizeof props.variant));
    assert_true(props.bandwidth > 0);
    if (strncmp(instance->setting, "isa=", 4) == 0 && strcmp(instance->setting, "isa=auto") != 0) {
        assert_string_equal(props.variant, instance->setting + 4);
    }
}

static void unknown_types_and_operators_are_refused_with_words(void **state)
{
    instance_t *instance = *state;
    weft_combine_fn_t fn = NULL;
    char text[256];
    assert_int_equal(instance->ops->select(instance->kernel, WEFT_DTYPE_COUNT, WEFT_SUM, &fn),
                     WEFT_ERR_UNSUPPORTED);
    fake_host_take_error(&instance->fake, text, sizeof text);
    assert_true(text[0] != '\0');
    assert_int_equal(instance->ops->select(instance->kernel, WEFT_FP32, WEFT_OP_COUNT, &fn),
                     WEFT_ERR_UNSUPPORTED);
    fake_host_take_error(&instance->fake, text, sizeof text);
    assert_true(text[0] != '\0');
    for (weft_dtype_t dtype = 0; dtype < WEFT_DTYPE_COUNT; dtype++) {
        if (reference_is_float(dtype)) {
            assert_int_equal(instance->ops->select(instance->kernel, dtype, WEFT_BXOR, &fn),
                             WEFT_ERR_UNSUPPORTED);
            fake_host_take_error(&instance->fake, text, sizeof text);
            assert_non_null(strstr(text, "bits"));
        }
    }
    assert_null(fn);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(properties_name_the_variant_and_a_bandwidth),
    cmocka_unit_test(unknown_types_and_operators_are_refused_with_words),
    cmocka_unit_test(scaling_by_one_changes_no_number),
    cmocka_unit_test(what_goes_well_is_no_failure),
    cmocka_unit_test(combinations_of_0_to_257_elements_match_the_reference),
    cmocka_unit_test(large_combinations_match_the_reference),
    cmocka_unit_test(every_pattern_of_small_floats_combines_as_the_reference_says),
};
#define NTESTS (sizeof tests / sizeof tests[0])
#define NQUICK 3u /* the first ones; enough for `auto`, which is one of the others */

/* Makes one instance and runs all tests on it. Returns the number of failures. */
static int run_instance(const weft_plugin_t *plugin, const char *setting)
{
    instance_t instance = {.ops = plugin->ops};
    const char *settings[] = {setting[0] != '\0' ? setting : NULL, NULL};
    struct CMUnitTest mine[NTESTS];
    char why[512];
    int failures = 1;

    snprintf(instance.setting, sizeof instance.setting, "%s", setting);
    snprintf(instance.name, sizeof instance.name, "%s %s", plugin->name, setting);
    fake_host_init(&instance.fake, plugin->name);
    instance.config = fake_config_create(plugin, settings, why, sizeof why);
    if (instance.config == NULL) {
        printf("FAILED %s: %s\n", instance.name, why);
        goto err_fake;
    }
    weft_status_t status =
        instance.ops->create(&instance.fake.host, instance.config, &instance.kernel);
    if (status == WEFT_ERR_UNSUPPORTED) {
        fake_host_take_error(&instance.fake, why, sizeof why);
        printf("SKIPPED %s: %s\n", instance.name, why);
        failures = why[0] == '\0';
        goto err_config;
    }
    if (status != WEFT_OK) {
        printf("FAILED %s: create gives %d\n", instance.name, (int)status);
        goto err_config;
    }
    weft_kernel_props_t props = {.size = sizeof props};
    if (instance.ops->props(instance.kernel, &props) == WEFT_OK &&
        props.memory_kind != WEFT_MEMORY_HOST) {
        printf("SKIPPED %s: memory kind %u is not host memory\n", instance.name, props.memory_kind);
        failures = 0;
        goto err_kernel;
    }
    printf("TESTING %s\n", instance.name);
    memcpy(mine, tests, sizeof mine);
    for (size_t i = 0; i < NTESTS; i++) {
        mine[i].initial_state = &instance;
    }
    const size_t number = strcmp(setting, "isa=auto") == 0 ? NQUICK : NTESTS;
    failures = _cmocka_run_group_tests(instance.name, mine, number, NULL, NULL);
err_kernel:
    instance.ops->destroy(instance.kernel);
    failures += instance.fake.live != 0;
err_config:
    fake_config_destroy(instance.config);
err_fake:
    fake_host_fini(&instance.fake);
    return failures;
}

/* Once per choice of the option `isa`, or once if there is none. */
static int run_plugin(const weft_plugin_t *plugin)
{
    const weft_option_t *option = plugin->options;
    int failures = 0;
    while (option != NULL && option->name != NULL && strcmp(option->name, "isa") != 0) {
        option++;
    }
    if (option == NULL || option->name == NULL) {
        return run_instance(plugin, "");
    }
    for (const char *choice = option->choices; choice != NULL;) {
        char setting[64];
        snprintf(setting, sizeof setting, "isa=%.*s", (int)strcspn(choice, "|"), choice);
        failures += run_instance(plugin, setting);
        choice = strchr(choice, '|');
        choice = choice != NULL ? choice + 1 : NULL;
    }
    return failures;
}

int main(int argc, char **argv)
{
    int failures = argc < 2;
    if (argc < 2) {
        printf("usage: %s PLUGIN.so…\n", argv[0]);
    }
    shape_open(&bench, shape_failed);
    for (int i = 1; i < argc; i++) {
        char why[512];
        const weft_plugin_t *plugin = fake_plugin_open(argv[i], WEFT_KIND_KERNEL, why, sizeof why);
        if (plugin == NULL) {
            printf("FAILED %s: %s\n", argv[i], why);
        }
        failures += plugin == NULL ? 1 : run_plugin(plugin);
    }
    shape_close(&bench);
    return failures != 0;
}
