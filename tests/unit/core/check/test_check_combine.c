/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit tests of combinations under core.check: what is right passes, also at the ends of a type's
 * range; what is wrong ends the process. */
#include <float.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/check/check_combine.h"
#include "tests/support/unit.h"

enum { SOURCES = 3 };

static weft_check_t check;
static float wrong_by;

static void sum(const weft_combine_t *c)
{
    for (uint64_t i = 0; i < c->count; i++) {
        float value = ((const float *)c->src[0])[i];
        for (uint32_t s = 1; s < c->nsrc; s++) {
            value += ((const float *)c->src[s])[i];
        }
        ((float *)c->dst[0])[i] = value + wrong_by;
    }
}

static void product(const weft_combine_t *c)
{
    for (uint64_t i = 0; i < c->count; i++) {
        float value = ((const float *)c->src[0])[i];
        for (uint32_t s = 1; s < c->nsrc; s++) {
            value *= ((const float *)c->src[s])[i];
        }
        ((float *)c->dst[0])[i] = value;
    }
}

/* Combines three numbers in a process of its own; returns whether it ended well. */
static bool passes(weft_op_t op, weft_combine_fn_t own, float a, float b, float c)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        float dst = 0;
        weft_combine_t combine = {
            .src = {&a, &b, &c}, .dst = {&dst}, .count = 1, .nsrc = SOURCES, .ndst = 1};
        signal(SIGABRT, SIG_DFL);
        weft_check_combine(&check, WEFT_FP32, op, own)(&combine);
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int init(void **state)
{
    (void)state;
    memset(&check, 0, sizeof check);
    check.plugin.name = "kernel-test";
    check.path = "/kernel-test.so";
    wrong_by = 0;
    return 0;
}

static void right_results_pass(void **state)
{
    (void)state;
    assert_true(passes(WEFT_SUM, sum, 1.0f, 0.1f, -7.25f));
    assert_true(passes(WEFT_PROD, product, 1.5f, 0.1f, -7.25f));
}

static void a_wrong_result_ends_the_process(void **state)
{
    (void)state;
    wrong_by = 0.01f;
    assert_false(passes(WEFT_SUM, sum, 1.0f, 0.1f, -7.25f));
}

static void results_that_leave_the_range_pass(void **state)
{
    (void)state;
    assert_true(passes(WEFT_SUM, sum, 26.0f, 4.9e37f, 3.32e38f));
    assert_true(passes(WEFT_SUM, sum, -FLT_MAX, -FLT_MAX, FLT_MAX));
    assert_true(passes(WEFT_PROD, product, 1e30f, 1e30f, 1e-30f));
    assert_true(passes(WEFT_PROD, product, 1e-30f, 1e-30f, 1e30f));
    assert_true(passes(WEFT_PROD, product, 1e-30f, 1e-12f, 1.3f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(right_results_pass, init),
        cmocka_unit_test_setup(a_wrong_result_ends_the_process, init),
        cmocka_unit_test_setup(results_that_leave_the_range_pass, init),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
