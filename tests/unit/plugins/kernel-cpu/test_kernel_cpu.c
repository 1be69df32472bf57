/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The choice of the instruction set. What the functions compute is the business of the conformance
 * suite. */
#include <fenv.h>
#include <stdio.h>
#include <string.h>

#include <weft/plugin/kernel.h>

#include "plugins/kernel-cpu/float_mode.h"
#include "tests/support/fake_host.h"
#include "tests/support/unit.h"

#if defined(__aarch64__)
#define FOREIGN "avx2"
#else
#define FOREIGN "neon"
#endif

typedef struct made {
    const weft_kernel_ops_t *ops;
    void *config;
    weft_kernel_t *kernel;
    fake_host_t fake;
} made_t;

static weft_status_t make(made_t *made, const char *isa, const char *stream)
{
    const char *settings[] = {isa, stream, NULL};
    char why[512];
    const weft_plugin_t *plugin =
        fake_plugin_open(WEFT_PLUGIN_DIR "/kernel-cpu.so", WEFT_KIND_KERNEL, why, sizeof why);
    assert_non_null(plugin);
    made->ops = plugin->ops;
    made->kernel = NULL;
    made->config = fake_config_create(plugin, settings, why, sizeof why);
    assert_non_null(made->config);
    fake_host_init(&made->fake, "kernel-cpu");
    return made->ops->create(&made->fake.host, made->config, &made->kernel);
}

static void unmake(made_t *made)
{
    made->ops->destroy(made->kernel);
    assert_int_equal(made->fake.live, 0);
    fake_host_fini(&made->fake);
    fake_config_destroy(made->config);
}

static void
an_instruction_set_of_another_processor_is_refused_and_the_usable_are_named(void **state)
{
    made_t made;
    char text[512];
    (void)state;
    assert_int_equal(make(&made, "isa=" FOREIGN, "stream=yes"), WEFT_ERR_UNSUPPORTED);
    assert_null(made.kernel);
    fake_host_take_error(&made.fake, text, sizeof text);
    assert_non_null(strstr(text, "isa = " FOREIGN));
    assert_non_null(strstr(text, "it has"));
    assert_int_equal(text[strlen(text) - 1], 'c');
    unmake(&made);
}

static void auto_takes_the_first_that_the_error_line_would_name(void **state)
{
    weft_kernel_props_t props = {.size = sizeof props};
    made_t made;
    char text[512];
    (void)state;
    assert_int_equal(make(&made, "isa=" FOREIGN, "stream=yes"), WEFT_ERR_UNSUPPORTED);
    fake_host_take_error(&made.fake, text, sizeof text);
    unmake(&made);
    assert_int_equal(make(&made, "isa=auto", "stream=yes"), WEFT_OK);
    assert_int_equal(made.ops->props(made.kernel, &props), WEFT_OK);
    const char *first = strstr(text, "it has ") + strlen("it has ");
    assert_memory_equal(first, props.variant, strcspn(first, ","));
    unmake(&made);
}

static void plain_c_serves_everywhere(void **state)
{
    made_t made;
    (void)state;
    assert_int_equal(make(&made, "isa=c", "stream=no"), WEFT_OK);
    unmake(&made);
}

static void results_do_not_depend_on_streaming(void **state)
{
    /* Too short for it, the shortest, with bytes before and behind whole vectors, long. */
    static const uint64_t counts[] = {255, 256, 300, 4096};
    static float a[4096], b[4096], sum[2][4096 + 1];
    static const char *const stream[] = {"stream=no", "stream=yes"};
    (void)state;
    for (int i = 0; i < 4096; i++) {
        a[i] = (float)i / 7;
        b[i] = (float)(i * i % 1009);
    }
    for (size_t i = 0; i < 8; i++) {
        const uint64_t count = counts[i / 2];
        weft_combine_t c = {
            .src = {a, b}, .dst = {sum[i % 2] + 1}, .count = count, .nsrc = 2, .ndst = 1};
        weft_combine_fn_t fn;
        made_t made;
        c.nt_mask = 1;
        memset(sum[i % 2], 0, sizeof sum[0]);
        assert_int_equal(make(&made, "isa=auto", stream[i % 2]), WEFT_OK);
        assert_int_equal(made.ops->select(made.kernel, WEFT_FP32, WEFT_SUM, &fn), WEFT_OK);
        fn(&c);
        unmake(&made);
        assert_true(sum[i % 2][1 + 7] == a[7] + b[7]);
        assert_true(sum[i % 2][count] == a[count - 1] + b[count - 1]);
        assert_true(i % 2 == 0 || memcmp(sum[0], sum[1], sizeof sum[0]) == 0);
    }
}

#define SMALL 71u /* numbers: whole vectors and some more */

typedef struct float_type {
    weft_dtype_t dtype;
    uint32_t bytes, mantissa; /* bits of it */
} float_type_t;

static const float_type_t floats[] = {{WEFT_FP32, 4, 23},    {WEFT_FP64, 8, 52},
                                      {WEFT_FP16, 2, 10},    {WEFT_BF16, 2, 7},
                                      {WEFT_FP8_E4M3, 1, 3}, {WEFT_FP8_E5M2, 1, 2}};

/* Two of three numbers are subnormal, or zero. The others are any: their sums are not exact, and
 * some are no numbers. */
static void fill_small(const float_type_t *type, uint8_t *numbers, uint64_t seed)
{
    for (uint32_t i = 0; i < SMALL; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t bits = seed >> (64 - 8 * type->bytes);
        bits = i % 3 == 0 ? bits : bits & ((UINT64_C(1) << type->mantissa) - 1);
        memcpy(numbers + i * type->bytes, &bits, type->bytes); /* little-endian */
    }
}

static void combine_in_mode(weft_combine_fn_t fn, const weft_combine_t *c, uint64_t mode)
{
    const uint64_t before = float_mode_get();
    float_mode_set(mode);
    fn(c);
    const uint64_t after = float_mode_get();
    float_mode_set(before);
    assert_int_equal(after & FLOAT_MODE_MASK, mode & FLOAT_MODE_MASK);
}

#define MODES 3u

/* Writes modes that this processor has. */
static void find_modes(uint64_t modes[MODES])
{
    const uint64_t before = float_mode_get();
    float_mode_set(FLOAT_MODE_IEEE | FLOAT_MODE_ODD);
    modes[0] = float_mode_get();
    float_mode_set(before);
    assert_int_equal(fesetround(FE_UPWARD), 0);
    modes[1] = float_mode_get();
    assert_int_equal(fesetround(FE_TOWARDZERO), 0);
    modes[2] = float_mode_get();
    fesetround(FE_TONEAREST);
}

static void compare_modes(const made_t *made, const float_type_t *type, weft_op_t op)
{
    static _Alignas(8) uint8_t a[SMALL * 8], b[SMALL * 8], plain[SMALL * 8], result[SMALL * 8];
    weft_combine_t c = {.src = {a, b}, .count = SMALL, .nsrc = 2, .ndst = 1, .nranks = 3};
    uint64_t modes[MODES];
    weft_combine_fn_t fn;
    find_modes(modes);
    fill_small(type, a, 1);
    fill_small(type, b, 2);
    c.flags = WEFT_COMBINE_FINAL;
    assert_int_equal(made->ops->select(made->kernel, type->dtype, op, &fn), WEFT_OK);
    c.dst[0] = plain;
    combine_in_mode(fn, &c, FLOAT_MODE_IEEE);
    c.dst[0] = result;
    for (uint32_t i = 0; i < MODES; i++) {
        combine_in_mode(fn, &c, modes[i]);
        assert_memory_equal(result, plain, SMALL * type->bytes);
    }
}

static void compare_types(const made_t *made)
{
    for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++) {
        for (weft_op_t op = 0; op < WEFT_PREMULSUM; op++) {
            compare_modes(made, &floats[i], op);
        }
    }
}

/* A program that was linked with -ffast-math flushes subnormal numbers; its other ranks may not. */
static void results_do_not_depend_on_the_mode_of_the_caller(void **state)
{
    static const char *const sets[] = {"isa=c", "isa=avx2", "isa=avx512", "isa=neon"};
    (void)state;
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        made_t made;
        char text[512];
        weft_status_t status = make(&made, sets[i], "stream=yes");
        assert_true(status == WEFT_OK || (i > 0 && status == WEFT_ERR_UNSUPPORTED));
        if (status == WEFT_OK) {
            compare_types(&made);
        }
        fake_host_take_error(&made.fake, text, sizeof text);
        unmake(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            an_instruction_set_of_another_processor_is_refused_and_the_usable_are_named),
        cmocka_unit_test(auto_takes_the_first_that_the_error_line_would_name),
        cmocka_unit_test(plain_c_serves_everywhere),
        cmocka_unit_test(results_do_not_depend_on_streaming),
        cmocka_unit_test(results_do_not_depend_on_the_mode_of_the_caller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
