/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Drawings show what the plans do: every rank, every link, every move, and trees only where the
 * messages form some. */
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "tests/support/plan_fixture.h"
#include "tests/support/svg_shapes.h"
#include "tests/support/unit.h"
#include "tests/support/xml_check.h"
#include "tools/draw.h"

typedef struct picture {
    weft_status_t status;
    draw_view_t view;
    char *text;
} picture_t;

static picture_t draw(const char *algo, weft_coll_t coll, uint32_t n, draw_view_t view)
{
    plan_fixture_t fixture;
    plan_fixture_open(&fixture, WEFT_PLUGIN_DIR, algo);
    weft_plan_t **plans = plan_fixture_emit(&fixture, coll, n, 0);
    assert_non_null(plans);
    uint32_t *host = calloc(n, sizeof *host);
    draw_input_t input = {
        .plans = plans, .nranks = n, .host = host, .nhosts = 1, .algo = algo, .slots = 4};
    picture_t picture = {.view = view};
    size_t bytes = 0;
    FILE *out = open_memstream(&picture.text, &bytes);
    picture.status = draw_plan(&input, &picture.view, out);
    fclose(out);
    free(host);
    plan_fixture_free(plans, n);
    plan_fixture_close(&fixture);
    return picture;
}

static void rings_have_an_arrow_for_every_link(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 64; n += n < 8 ? 1 : 19) {
        picture_t p = draw("algo-ring", WEFT_ALL_REDUCE, n, DRAW_AUTO);
        assert_int_equal(p.status, WEFT_OK);
        assert_int_equal(p.view, DRAW_RING);
        assert_null(xml_check(p.text));
        assert_int_equal(svg_count(p.text, "<title>rank "), n);
        assert_int_equal(xml_count(p.text, "circle"), n);
        free(p.text);
    }
}

static void an_exchange_is_no_tree(void **state)
{
    (void)state;
    picture_t p = draw("algo-flat", WEFT_ALL_REDUCE, 6, DRAW_AUTO);
    assert_int_equal(p.view, DRAW_RING);
    assert_int_equal(svg_count(p.text, "<title>rank "), 30);
    free(p.text);
    p = draw("algo-flat", WEFT_ALL_REDUCE, 6, DRAW_TREE);
    assert_int_equal(p.status, WEFT_ERR_ARG);
    assert_non_null(strstr(weft_error_record()->text, "form no tree"));
    free(p.text);
}

static void a_star_is_a_tree_of_one_level(void **state)
{
    (void)state;
    picture_t p = draw("algo-flat", WEFT_BROADCAST, 6, DRAW_AUTO);
    assert_int_equal(p.status, WEFT_OK);
    assert_int_equal(p.view, DRAW_TREE);
    assert_null(xml_check(p.text));
    assert_non_null(strstr(p.text, "root 0, 1 level below it"));
    assert_non_null(strstr(p.text, "from the root"));
    assert_null(strstr(p.text, "towards the root"));
    free(p.text);
}

static void lanes_have_a_bar_for_every_move(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 16; n += 7) {
        picture_t p = draw("algo-ring", WEFT_ALL_REDUCE, n, DRAW_LANES);
        assert_int_equal(p.status, WEFT_OK);
        assert_null(xml_check(p.text));
        assert_int_equal(svg_count(p.text, "<title>rank "), n * (2 * n - 1));
        free(p.text);
    }
}

static void too_many_ranks_are_refused_with_the_limit(void **state)
{
    (void)state;
    picture_t p = draw("algo-ring", WEFT_BROADCAST, 300, DRAW_RING);
    assert_int_equal(p.status, WEFT_ERR_ARG);
    assert_non_null(strstr(weft_error_record()->text, "up to 256 ranks"));
    free(p.text);
    p = draw("algo-ring", WEFT_BROADCAST, 40, DRAW_LANES);
    assert_int_equal(p.status, WEFT_ERR_ARG);
    free(p.text);
}

/* Every rank is in both trees. */
static void check_forest(uint32_t n)
{
    plan_fixture_t fixture;
    plan_fixture_open(&fixture, WEFT_PLUGIN_DIR, "algo-tree");
    weft_plan_t **plans = plan_fixture_emit(&fixture, WEFT_ALL_REDUCE, n, 0);
    uint32_t *host = calloc(n, sizeof *host);
    for (uint32_t r = 0; r < n; r++) {
        host[r] = r;
    }
    draw_input_t input = {
        .plans = plans, .nranks = n, .host = host, .nhosts = n, .algo = "x", .slots = 4};
    draw_view_t view = DRAW_AUTO;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(draw_plan(&input, &view, out), WEFT_OK);
    fclose(out);
    assert_int_equal(view, DRAW_TREE);
    assert_null(xml_check(text));
    assert_non_null(strstr(text, ">tree 0<"));
    assert_non_null(strstr(text, ">tree 1<"));
    assert_null(strstr(text, ">tree 2<"));
    assert_int_equal(xml_count(text, "circle"), 2 * n);
    free(text);
    free(host);
    plan_fixture_free(plans, n);
    plan_fixture_close(&fixture);
}

static void double_trees_are_two_trees_of_all_ranks(void **state)
{
    (void)state;
    for (uint32_t n = 4; n <= 64; n += n < 9 ? 1 : 11) {
        check_forest(n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_have_an_arrow_for_every_link),
        cmocka_unit_test(an_exchange_is_no_tree),
        cmocka_unit_test(a_star_is_a_tree_of_one_level),
        cmocka_unit_test(lanes_have_a_bar_for_every_move),
        cmocka_unit_test(too_many_ranks_are_refused_with_the_limit),
        cmocka_unit_test(double_trees_are_two_trees_of_all_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
