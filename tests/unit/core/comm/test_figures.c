/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The section [figures]: what its lines say, and what is wrong with them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/error.h"
#include "core/comm/figures.h"

static void figures_are_found_by_transport_and_level(void **state)
{
    (void)state;
    weft_figures_t f;
    assert_int_equal(
        weft_figures_read(
            "w.ini:1\tnet-a inside latency=300ns overhead=0.1us bandwidth=8GB/s\n"
            "w.ini:2\tnet-a between latency=14us wire=2GB/s turn=3us slice=2us work=4GB/s\n",
            "w.ini:3\tk float=10GB/s copy=12.5GB/s memory=5GB/s\nw.ini:4\tother float=1MB/s\n", "k",
            &f),
        WEFT_OK);
    const weft_figures_edge_t *inside = weft_figures_find(&f, "net-a", WEFT_LEVEL_INSIDE);
    const weft_figures_edge_t *between = weft_figures_find(&f, "net-a", WEFT_LEVEL_BETWEEN);
    assert_non_null(inside);
    assert_non_null(between);
    assert_null(weft_figures_find(&f, "net-b", WEFT_LEVEL_INSIDE));
    assert_true(fabs(inside->edge.alpha - 300e-9) < 1e-15);
    assert_true(fabs(inside->edge.overhead - 100e-9) < 1e-15);
    assert_true(fabs(inside->edge.beta * 8e9 - 1) < 1e-9);
    assert_true(fabs(between->wire * 2e9 - 1) < 1e-9);
    assert_true(fabs(between->busy.turn - 3e-6) < 1e-15);
    assert_true(fabs(between->busy.slice - 2e-6) < 1e-15);
    assert_true(fabs(between->busy.beta * 4e9 - 1) < 1e-9);
    assert_true(inside->busy.turn == 0);
    assert_true(fabs(f.kernel.gamma[WEFT_FIGURES_MEMORY] * 5e9 - 1) < 1e-9);
    assert_true(fabs(f.kernel.gamma[WEFT_FP32] * 10e9 - 1) < 1e-9);
    assert_true(fabs(f.kernel.gamma[WEFT_FIGURES_COPY] * 12.5e9 - 1) < 1e-9);
    assert_true(f.kernel.gamma[WEFT_FP16] == 0);
}

static void wrong_lines_are_told_with_their_place(void **state)
{
    (void)state;
    static const char *const edges[][2] = {
        {"w.ini:9\tnet-a insde latency=1us\n", "did you mean inside?"},
        {"w.ini:9\tnet-a inside latncy=1us\n", "did you mean latency?"},
        {"w.ini:9\tnet-a inside latency\n", "latency"},
        {"w.ini:9\tnet-a inside latency=1parsec\n", "time such as"},
        {"w.ini:9\tnet-a inside bandwidth=8\n", "rate such as"},
        {"w.ini:9\tnet-a inside bandwidth=-8GB/s\n", "rate such as"},
        {"w.ini:9\tnet-a\n", "inside or between"},
    };
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        weft_figures_t f;
        assert_int_equal(weft_figures_read(edges[i][0], "", "k", &f), WEFT_ERR_CONFIG);
        assert_non_null(strstr(weft_error_record()->text, "w.ini:9: [figures] edge"));
        assert_non_null(strstr(weft_error_record()->text, edges[i][1]));
    }
    weft_figures_t f;
    assert_int_equal(weft_figures_read("", "w.ini:9\tk flot=1GB/s\n", "k", &f), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "did you mean float?"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_found_by_transport_and_level),
        cmocka_unit_test(wrong_lines_are_told_with_their_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
