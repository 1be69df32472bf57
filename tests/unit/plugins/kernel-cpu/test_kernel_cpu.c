/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The choice of the instruction set. What the functions compute is the business of the conformance
 * suite. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <weft/plugin/kernel.h>

#include "tests/support/fake_host.h"

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
    static float a[4096], b[4096], sum[2][4096];
    static const char *const stream[] = {"stream=no", "stream=yes"};
    (void)state;
    for (int i = 0; i < 4096; i++) {
        a[i] = (float)i / 7;
        b[i] = (float)(i * i % 1009);
    }
    for (size_t i = 0; i < 2; i++) {
        weft_combine_t c = {.src = {a, b}, .dst = {sum[i]}, .count = 4096, .nsrc = 2, .ndst = 1};
        weft_combine_fn_t fn;
        made_t made;
        c.nt_mask = 1;
        assert_int_equal(make(&made, "isa=auto", stream[i]), WEFT_OK);
        assert_int_equal(made.ops->select(made.kernel, WEFT_FP32, WEFT_SUM, &fn), WEFT_OK);
        fn(&c);
        unmake(&made);
    }
    assert_memory_equal(sum[0], sum[1], sizeof sum[0]);
    assert_true(sum[0][7] == a[7] + b[7]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            an_instruction_set_of_another_processor_is_refused_and_the_usable_are_named),
        cmocka_unit_test(auto_takes_the_first_that_the_error_line_would_name),
        cmocka_unit_test(plain_c_serves_everywhere),
        cmocka_unit_test(results_do_not_depend_on_streaming),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
