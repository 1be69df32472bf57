/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Drawings can be read: they fit a screen, no text is small, no two discs, boxes or texts overlap,
 * and no link passes under a rank that is not its end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/plan/topo_view.h"
#include "tests/support/plan_fixture.h"
#include "tests/support/svg_shapes.h"
#include "tests/support/unit.h"
#include "tests/support/xml_check.h"
#include "tools/draw.h"

#define BOX "#f3f5f7" /* of a host */

static plan_fixture_t ring, flat, tree, halving, hier;
static plan_fixture_t *all[] = {&ring, &flat, &tree, &halving, &hier, NULL};
static const weft_plan_finder_t finder = {.find = plan_fixture_find, .arg = all};

typedef struct sample {
    const plan_fixture_t *by;
    weft_coll_t coll;
    uint32_t n, nhosts;
    draw_view_t view, chosen; /* `chosen`: what AUTO takes */
} sample_t;

static const sample_t samples[] = {
    {&ring, WEFT_ALL_REDUCE, 8, 1, DRAW_AUTO, DRAW_RING},
    {&ring, WEFT_ALL_REDUCE, 64, 1, DRAW_AUTO, DRAW_RING},
    {&ring, WEFT_ALL_REDUCE, 65, 1, DRAW_AUTO, DRAW_GRID},
    {&ring, WEFT_ALL_REDUCE, 12, 3, DRAW_AUTO, DRAW_HOSTS},
    {&ring, WEFT_ALL_REDUCE, 8, 1, DRAW_LANES, DRAW_LANES},
    {&ring, WEFT_ALL_REDUCE, 16, 4, DRAW_LANES, DRAW_LANES},
    {&flat, WEFT_ALL_REDUCE, 6, 1, DRAW_AUTO, DRAW_RING},
    {&flat, WEFT_ALL_REDUCE, 24, 1, DRAW_AUTO, DRAW_GRID},
    {&flat, WEFT_ALL_REDUCE, 24, 1, DRAW_RING, DRAW_RING},
    {&halving, WEFT_ALL_REDUCE, 16, 1, DRAW_AUTO, DRAW_RING},
    {&halving, WEFT_ALL_REDUCE, 32, 1, DRAW_RING, DRAW_RING},
    {&halving, WEFT_ALL_REDUCE, 64, 1, DRAW_RING, DRAW_RING},
    {&halving, WEFT_ALL_REDUCE, 64, 1, DRAW_AUTO, DRAW_GRID},
    {&halving, WEFT_ALL_REDUCE, 16, 2, DRAW_HOSTS, DRAW_HOSTS},
    {&halving, WEFT_ALL_REDUCE, 8, 1, DRAW_HOSTS, DRAW_HOSTS},
    {&hier, WEFT_ALL_REDUCE, 16, 4, DRAW_AUTO, DRAW_HOSTS},
    {&hier, WEFT_ALL_REDUCE, 16, 4, DRAW_LANES, DRAW_LANES},
    {&hier, WEFT_ALL_REDUCE, 64, 8, DRAW_AUTO, DRAW_HOSTS},
    {&hier, WEFT_ALL_REDUCE, 64, 16, DRAW_AUTO, DRAW_HOSTS},
    {&halving, WEFT_ALL_REDUCE, 32, 8, DRAW_AUTO, DRAW_HOSTS},
    {&hier, WEFT_ALL_REDUCE, 128, 32, DRAW_AUTO, DRAW_GRID},
    {&tree, WEFT_ALL_REDUCE, 16, 1, DRAW_AUTO, DRAW_TREE},
    {&tree, WEFT_ALL_REDUCE, 64, 64, DRAW_AUTO, DRAW_TREE},
    {&tree, WEFT_ALL_REDUCE, 64, 1, DRAW_AUTO, DRAW_TREE},
    {&tree, WEFT_ALL_REDUCE, 12, 3, DRAW_AUTO, DRAW_TREE},
    {&tree, WEFT_ALL_REDUCE, 64, 8, DRAW_AUTO, DRAW_TREE},
    {&tree, WEFT_ALL_REDUCE, 256, 256, DRAW_AUTO, DRAW_TREE},
};
#define SAMPLES (sizeof samples / sizeof *samples)

static char *texts[SAMPLES];
static svg_shapes_t drawn[SAMPLES];

static char *draw_one(const sample_t *s)
{
    uint32_t *host = calloc(s->n, sizeof *host);
    for (uint32_t r = 0; r < s->n; r++) {
        host[r] = r / (s->n / s->nhosts);
        host[r] = host[r] < s->nhosts ? host[r] : s->nhosts - 1;
    }
    weft_algo_topo_t from = {.size = sizeof from, .nhosts = s->nhosts, .host = host};
    weft_algo_call_t call = {.coll = s->coll, .nranks = s->n};
    weft_topo_view_t seen;
    assert_int_equal(weft_topo_view_init(&seen, &from, NULL, s->n), WEFT_OK);
    weft_plan_t **plans = plan_fixture_emit_view(s->by, &call, &seen.topo, &finder);
    if (plans == NULL) {
        fail_msg("%s", weft_error_record()->text);
    }
    draw_input_t input = {.plans = plans,
                          .nranks = s->n,
                          .host = host,
                          .nhosts = s->nhosts,
                          .algo = s->by->plugin->name,
                          .slots = 4,
                          .slices = 2};
    draw_view_t view = s->view;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(draw_plan(&input, &view, out), WEFT_OK);
    fclose(out);
    if (view != s->chosen) {
        fail_msg("%s, %u ranks on %u hosts: view %s", input.algo, s->n, s->nhosts,
                 draw_view_name(view));
    }
    plan_fixture_free(plans, s->n);
    weft_topo_view_fini(&seen);
    free(host);
    return text;
}

static int draw_all(void **state)
{
    (void)state;
    static const char *const names[] = {"algo-ring", "algo-flat", "algo-tree", "algo-halving",
                                        "algo-hier"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        plan_fixture_open(all[i], WEFT_PLUGIN_DIR, names[i]);
    }
    for (size_t i = 0; i < SAMPLES; i++) {
        texts[i] = draw_one(&samples[i]);
        svg_shapes_read(&drawn[i], texts[i], BOX);
    }
    return 0;
}

static int free_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        svg_shapes_free(&drawn[i]);
        free(texts[i]);
    }
    for (size_t i = 0; all[i] != NULL; i++) {
        plan_fixture_close(all[i]);
    }
    return 0;
}

static void complain(size_t i, const char *what, double one, double two)
{
    const sample_t *s = &samples[i];
    fail_msg("%s, %u ranks on %u hosts, view %s: %s (%.1f, %.1f)", s->by->plugin->name, s->n,
             s->nhosts, draw_view_name(s->chosen), what, one, two);
}

static void drawings_are_xml_and_fit_a_screen(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        assert_null(xml_check(texts[i]));
        if (drawn[i].width > DRAW_SCREEN) {
            complain(i, "too wide", drawn[i].width, DRAW_SCREEN);
        }
    }
}

static void no_text_is_small_or_outside(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        assert_true(drawn[i].nwords > 2);
        for (size_t w = 0; w < drawn[i].nwords; w++) {
            const svg_words_t *words = &drawn[i].words[w];
            const svg_box_t *box = &words->box;
            if (words->size < DRAW_TEXT_LEAST) {
                complain(i, words->text, words->size, 0);
            }
            if (box->x < 0 || box->y < 0 || box->x + box->w > drawn[i].width ||
                box->y + box->h > drawn[i].height) {
                complain(i, words->text, box->x, box->y);
            }
        }
    }
}

static void no_two_texts_overlap(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        for (size_t a = 0; a < drawn[i].nwords; a++) {
            for (size_t b = 0; b < a; b++) {
                if (svg_boxes_overlap(&drawn[i].words[a].box, &drawn[i].words[b].box)) {
                    char both[140];
                    snprintf(both, sizeof both, "'%s' over '%s'", drawn[i].words[a].text,
                             drawn[i].words[b].text);
                    complain(i, both, drawn[i].words[a].box.x, drawn[i].words[a].box.y);
                }
            }
        }
    }
}

static void no_two_discs_overlap(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        bool ranks = samples[i].chosen != DRAW_LANES && samples[i].chosen != DRAW_GRID;
        assert_true(!ranks || drawn[i].ndiscs % samples[i].n == 0);
        assert_true(!ranks || drawn[i].ndiscs > 0);
        for (size_t a = 0; a < drawn[i].ndiscs; a++) {
            for (size_t b = 0; b < a; b++) {
                const svg_disc_t *x = &drawn[i].discs[a], *y = &drawn[i].discs[b];
                double apart = hypot(x->centre.x - y->centre.x, x->centre.y - y->centre.y);
                if (apart < x->radius + y->radius) {
                    complain(i, "discs overlap", apart, x->radius + y->radius);
                }
            }
        }
    }
}

static bool inside(const svg_box_t *box, svg_point_t at, double more)
{
    return at.x > box->x - more && at.x < box->x + box->w + more && at.y > box->y - more &&
           at.y < box->y + box->h + more;
}

static void no_two_hosts_overlap_and_each_rank_is_in_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        const svg_shapes_t *s = &drawn[i];
        assert_true(samples[i].chosen != DRAW_HOSTS || s->nboxes == samples[i].nhosts);
        for (size_t a = 0; a < s->nboxes; a++) {
            for (size_t b = 0; b < a; b++) {
                if (svg_boxes_overlap(&s->boxes[a], &s->boxes[b])) {
                    complain(i, "hosts overlap", (double)a, (double)b);
                }
            }
        }
        for (size_t d = 0; d < s->ndiscs && s->nboxes > 0; d++) {
            uint32_t in = 0;
            for (size_t b = 0; b < s->nboxes; b++) {
                in += inside(&s->boxes[b], s->discs[d].centre, -s->discs[d].radius);
            }
            assert_int_equal(in, 1);
        }
    }
}

static bool ends_at(const svg_point_t curve[3], const svg_disc_t *disc)
{
    for (int end = 0; end < 3; end += 2) {
        if (hypot(curve[end].x - disc->centre.x, curve[end].y - disc->centre.y) <
            disc->radius + 14) {
            return true;
        }
    }
    return false;
}

/* Of trees the lines between levels pass beside discs of other levels; there is no rule for
 * them. */
static void links_pass_under_no_other_rank(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        const svg_shapes_t *s = &drawn[i];
        if (samples[i].chosen != DRAW_RING && samples[i].chosen != DRAW_HOSTS) {
            continue;
        }
        assert_true(s->ncurves > 0);
        for (size_t c = 0; c < s->ncurves; c++) {
            for (size_t d = 0; d < s->ndiscs; d++) {
                for (int at = 0; at <= 40 && !ends_at(s->curves[c], &s->discs[d]); at++) {
                    svg_point_t p = svg_curve_at(s->curves[c], at / 40.0);
                    double apart = hypot(p.x - s->discs[d].centre.x, p.y - s->discs[d].centre.y);
                    if (apart < s->discs[d].radius + 2) {
                        complain(i, "a link under a rank", s->discs[d].centre.x,
                                 s->discs[d].centre.y);
                    }
                }
            }
        }
    }
}

/* A link between hosts begins and ends at their boxes and touches no other one. */
static void links_pass_under_no_other_host(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        const svg_shapes_t *s = &drawn[i];
        for (size_t c = 0; c < s->ncurves && samples[i].chosen == DRAW_HOSTS; c++) {
            for (size_t b = 0; b < s->nboxes; b++) {
                bool own = inside(&s->boxes[b], s->curves[c][0], 16) ||
                           inside(&s->boxes[b], s->curves[c][2], 16);
                for (int at = 0; at <= 40 && !own; at++) {
                    if (inside(&s->boxes[b], svg_curve_at(s->curves[c], at / 40.0), 2)) {
                        complain(i, "a link under a host", (double)c, (double)b);
                    }
                }
            }
        }
    }
}

static void grids_and_boxes_show_all_that_is_sent(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        uint32_t n = samples[i].n;
        if (samples[i].by == &flat && samples[i].chosen == DRAW_GRID) {
            assert_int_equal(svg_count(texts[i], "<title>rank "), n * (n - 1));
        }
        if (samples[i].by == &ring && samples[i].chosen == DRAW_GRID) {
            assert_int_equal(svg_count(texts[i], "<title>rank "), n);
        }
        if (samples[i].by == &ring && samples[i].chosen == DRAW_HOSTS) {
            assert_int_equal(svg_count(texts[i], "<title>host "), 3);
            assert_int_equal(svg_count(texts[i], "<title>rank "), 9);
        }
        if (samples[i].by == &hier && samples[i].chosen == DRAW_HOSTS && n == 16) {
            assert_int_equal(svg_count(texts[i], ">×4<"), 4);
        }
    }
}

static void each_bar_says_its_chunk(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        const char *bar = samples[i].chosen == DRAW_LANES ? strstr(texts[i], "<title>rank ") : NULL;
        assert_true(samples[i].chosen != DRAW_LANES || bar != NULL);
        for (; bar != NULL; bar = strstr(bar + 1, "<title>rank ")) {
            const char *text = strstr(bar, "<text "), *end = strstr(bar, "</g>");
            if (text == NULL || text > end) {
                complain(i, "a bar without its chunk", (double)(bar - texts[i]), 0);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drawings_are_xml_and_fit_a_screen),
        cmocka_unit_test(no_text_is_small_or_outside),
        cmocka_unit_test(no_two_texts_overlap),
        cmocka_unit_test(no_two_discs_overlap),
        cmocka_unit_test(no_two_hosts_overlap_and_each_rank_is_in_one),
        cmocka_unit_test(links_pass_under_no_other_rank),
        cmocka_unit_test(links_pass_under_no_other_host),
        cmocka_unit_test(grids_and_boxes_show_all_that_is_sent),
        cmocka_unit_test(each_bar_says_its_chunk),
    };
    return cmocka_run_group_tests(tests, draw_all, free_all);
}
