/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The SVG writer and the plots made with it. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"
#include "tests/support/xml_check.h"
#include "tools/svg.h"
#include "tools/svg_plot.h"

static char *draw(void (*fill)(svg_t *svg))
{
    char *text = NULL;
    size_t bytes = 0;
    svg_t svg;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    svg_open(&svg, out, 100, 50, "a <title> & \"quotes\"");
    fill(&svg);
    svg_close(&svg);
    fclose(out);
    return text;
}

static void put_every_shape(svg_t *svg)
{
    svg_paint_t paint = {.fill = "#ffffff", .stroke = SVG_INK, .opacity = 0.5, .dash = "2 2"};
    svg_point_t points[3] = {{0, 0}, {10, 5}, {20, 0}};
    svg_font_t font = {.size = 12, .anchor = 'm', .bold = true};
    svg_rect(svg, (svg_box_t){1, 2, 3, 4, 1}, &paint);
    svg_circle(svg, points[1], 3, &paint);
    svg_line(svg, points[0], points[1], &paint);
    svg_poly(svg, points, 3, &paint);
    svg_arc(svg, points[1], 9, (double[2]){0, 2}, &paint);
    svg_arc(svg, points[1], 9, (double[2]){0, 7}, &paint);
    svg_arrow(svg, points, 4, &paint);
    svg_begin(svg, "tip of %s", "<this>");
    svg_text(svg, points[0], &font, "a < b && c > \"d\"");
    svg_end(svg);
}

static void the_check_refuses_what_is_not_well_formed(void **state)
{
    static const char *const bad[] = {"",         "<a>",          "<a></b>",  "<a><b></a></b>",
                                      "<a x=1/>", "<a x=\"<\"/>", "<a>&</a>", "<a/><b/>",
                                      "<a>></a>", "<a/>text"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_non_null(xml_check(bad[i]));
    }
    assert_null(xml_check("<?xml version='1.0'?>\n<a x=\"&lt;\"><b/>t &amp; t</a>\n"));
}

static void every_shape_is_well_formed(void **state)
{
    (void)state;
    char *text = draw(put_every_shape);
    assert_null(xml_check(text));
    assert_non_null(strstr(text, "a &lt; b &amp;&amp; c &gt; &quot;d&quot;"));
    assert_int_equal(xml_count(text, "circle"), 2);
    free(text);
}

static void arrow_of_no_length(svg_t *svg)
{
    svg_point_t same[3] = {{5, 5}, {5, 5}, {5, 5}};
    svg_paint_t paint = {.stroke = SVG_INK};
    svg_arrow(svg, same, 4, &paint);
}

static void arrows_of_no_length_have_numbers(void **state)
{
    (void)state;
    char *text = draw(arrow_of_no_length);
    assert_null(xml_check(text));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    free(text);
}

static void neighbouring_colours_differ(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 24; n++) {
        for (uint32_t i = 0; i < n; i++) {
            svg_colour_t a = svg_hue(i, n), b = svg_hue((i + 1) % n, n);
            assert_string_not_equal(a.text, b.text);
            assert_int_equal(strlen(a.text), 7);
        }
    }
    assert_string_equal(svg_oklch(1, 0, 0).text, "#ffffff");
    assert_string_equal(svg_oklch(0, 0, 0).text, "#000000");
}

static void plots_place_decades_evenly(void **state)
{
    (void)state;
    plot_t plot = {.box = {10, 20, 300, 200, 0},
                   .x = {"x", PLOT_NUMBER, 1, 1000},
                   .y = {"y", PLOT_NUMBER, 1, 100}};
    svg_point_t low = plot_at(&plot, 1, 1), middle = plot_at(&plot, 10, 10);
    svg_point_t high = plot_at(&plot, 1000, 100), beyond = plot_at(&plot, 1e6, 1e6);
    assert_float_equal(low.x, 10, 1e-9);
    assert_float_equal(low.y, 220, 1e-9);
    assert_float_equal(middle.x, 110, 1e-9);
    assert_float_equal(middle.y, 120, 1e-9);
    assert_float_equal(high.x, 310, 1e-9);
    assert_float_equal(high.y, 20, 1e-9);
    assert_float_equal(beyond.x, high.x, 1e-9);
}

static void put_plot(svg_t *svg)
{
    plot_t plot = {.svg = svg,
                   .box = {50, 20, 300, 200, 0},
                   .x = {"size", PLOT_BYTES, 8, 1 << 20},
                   .y = {"time", PLOT_SECONDS, 1e-7, 1}};
    double x[3] = {8, 1024, 1 << 20}, y[3] = {1e-6, -1, 1e-3};
    plot_style_t style = {.colour = "#123456", .width = 2, .marks = true};
    plot_axes(&plot, "title");
    plot_line(&plot, x, y, 3, &style);
}

static void plots_leave_out_what_has_no_value(void **state)
{
    (void)state;
    char *text = draw(put_plot);
    assert_null(xml_check(text));
    assert_int_equal(xml_count(text, "circle"), 2);
    assert_non_null(strstr(text, ">256 B<"));
    assert_non_null(strstr(text, ">1 us<"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_check_refuses_what_is_not_well_formed),
        cmocka_unit_test(every_shape_is_well_formed),
        cmocka_unit_test(arrows_of_no_length_have_numbers),
        cmocka_unit_test(neighbouring_colours_differ),
        cmocka_unit_test(plots_place_decades_evenly),
        cmocka_unit_test(plots_leave_out_what_has_no_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
