/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The section [figures]: what its lines say, and what is wrong with them. */
#include <math.h>
#include <string.h>

#include "core/base/error.h"
#include "core/comm/figures.h"
#include "tests/support/unit.h"

#define SIMPLE WEFT_KERNEL_PROTOCOL_SIMPLE

static void figures_are_found_by_transport_and_level(void **state)
{
    (void)state;
    weft_figures_t f;
    assert_int_equal(
        weft_figures_read(
            "w.ini:1\tnet-a inside latency=300ns overhead=0.1us bandwidth=8GB/s\n"
            "w.ini:2\tnet-a between latency=14us wire=2GB/s turn=3us slice=2us work=4GB/s\n",
            "w.ini:3\tk float=10GB/s copy=12.5GB/s memory=5GB/s\nw.ini:4\tother float=1MB/s\n", "k",
            NULL, &f),
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

static void paths_between_devices_are_found_by_kernel(void **state)
{
    (void)state;
    weft_figures_t f;
    assert_int_equal(
        weft_figures_read("w.ini:1\tk same latency=3us overhead=1us bandwidth=20GB/s wire=400GB/s\n"
                          "w.ini:2\tk bus bandwidth=10GB/s\n"
                          "w.ini:3\tk inside latency=1us\n"
                          "w.ini:4\tk same ll128 latency=2us\n",
                          "w.ini:4\tk launch=5us float=10GB/s\n", "k", NULL, &f),
        WEFT_OK);
    const weft_figures_edge_t *same =
        weft_figures_find_path(&f, "k", WEFT_KERNEL_PATH_SAME, SIMPLE);
    const weft_figures_edge_t *bus = weft_figures_find_path(&f, "k", WEFT_KERNEL_PATH_BUS, SIMPLE);
    assert_non_null(same);
    assert_non_null(bus);
    assert_null(weft_figures_find_path(&f, "k", WEFT_KERNEL_PATH_DIRECT, SIMPLE));
    assert_null(weft_figures_find_path(&f, "other", WEFT_KERNEL_PATH_SAME, SIMPLE));
    assert_true(fabs(same->edge.alpha - 3e-6) < 1e-15);
    assert_true(fabs(same->edge.overhead - 1e-6) < 1e-15);
    assert_true(fabs(same->edge.beta * 20e9 - 1) < 1e-9);
    assert_true(fabs(same->wire * 400e9 - 1) < 1e-9);
    assert_true(bus->edge.alpha == 0);
    assert_true(fabs(f.kernel.launch - 5e-6) < 1e-15);
    const weft_figures_edge_t *lines =
        weft_figures_find_path(&f, "k", WEFT_KERNEL_PATH_SAME, WEFT_KERNEL_PROTOCOL_LL128);
    assert_non_null(lines);
    assert_true(fabs(lines->edge.alpha - 2e-6) < 1e-15);
    assert_null(weft_figures_find_path(&f, "k", WEFT_KERNEL_PATH_SAME, WEFT_KERNEL_PROTOCOL_LL));
    /* A line of a path is none of a level. */
    const weft_figures_edge_t *inside = weft_figures_find(&f, "k", WEFT_LEVEL_INSIDE);
    assert_non_null(inside);
    assert_true(fabs(inside->edge.alpha - 1e-6) < 1e-15);
    for (uint32_t path = 0; path < WEFT_KERNEL_PATH_COUNT; path++) {
        static const char *const names[] = {"same", "direct", "bus", "host"};
        assert_string_equal(weft_figures_path_name((weft_kernel_path_t)path), names[path]);
    }
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
        {"w.ini:9\tnet-a inside bandwidth=1e300GB/s\n", "at most 1000TB/s"},
        {"w.ini:9\tnet-a inside bandwidth=1e-300GB/s\n", "rate such as"},
        {"w.ini:9\tnet-a\n", "inside or between"},
        {"w.ini:9\tk drect latency=1us\n", "did you mean direct?"},
        {"w.ini:9\tk bus turn=1us\n", "is for transports"},
        {"w.ini:9\tk bus work=1GB/s\n", "is for transports"},
        {"w.ini:9\tk bus ll12 latency=1us\n", "did you mean ll128?"},
        {"w.ini:9\tnet-a inside ll latency=1us\n", "latency"},
        {"w.ini:9\tnet-a inside latency=61s\n", "at most 60s"},
        {"w.ini:9\tnet-a inside turn=1us turn=1us\n", "given twice: \"turn=1us\""},
        {"w.ini:9\tnet-a inside wire=1GB/s\n", "is for edges between hosts"},
        {"w.ini:8\tnet-a inside turn=1us\nw.ini:9\tnet-a inside latency=1us\n",
         "a second line for the same edge of \"net-a\""},
        {"w.ini:8\tk bus ll wire=1GB/s\nw.ini:9\tk bus ll latency=1us\n",
         "a second line for the same edge of \"k\""},
    };
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        weft_figures_t f;
        assert_int_equal(weft_figures_read(edges[i][0], "", "k", NULL, &f), WEFT_ERR_CONFIG);
        assert_non_null(strstr(weft_error_record()->text, "w.ini:9: [figures] edge"));
        assert_non_null(strstr(weft_error_record()->text, edges[i][1]));
    }
    weft_figures_t f;
    assert_int_equal(weft_figures_read("", "w.ini:9\tk flot=1GB/s\n", "k", NULL, &f),
                     WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "did you mean float?"));
    assert_int_equal(weft_figures_read("", "w.ini:9\tk lunch=1us\n", "k", NULL, &f),
                     WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "did you mean launch?"));
    assert_int_equal(weft_figures_read("", "w.ini:9\tk launch=1GB/s\n", "k", NULL, &f),
                     WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "a time such as"));
    assert_int_equal(
        weft_figures_read("", "w.ini:9\tk copy=1GB/s float=1GB/s copy=2GB/s\n", "k", NULL, &f),
        WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "given twice: \"copy=2GB/s\""));
    assert_int_equal(
        weft_figures_read("", "w.ini:8\tk float=1GB/s\nw.ini:9\tk launch=1us\n", "k", NULL, &f),
        WEFT_ERR_CONFIG);
    assert_string_equal(weft_error_record()->text,
                        "w.ini:9: [figures] kernel: a second line for \"k\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_found_by_transport_and_level),
        cmocka_unit_test(paths_between_devices_are_found_by_kernel),
        cmocka_unit_test(wrong_lines_are_told_with_their_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
