/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Swing: the arithmetic of the exchanges, what the links of a ring and of a torus carry, the proof
 * of every plan, and what is refused. */
#include <string.h>

#include "core/base/error.h"
#include "plugins/algo-swing/swing_plan.c"
#include "plugins/algo-swing/swing_steps.c"
#include "tests/support/plan_fixture.h"
#include "tests/support/unit.h"

enum { MOST = 256 };

/* Sizes of rings and tori. */
static const uint32_t tori[][SWING_DIMENSIONS] = {
    {2, 1, 1}, {4, 1, 1}, {8, 1, 1},  {16, 1, 1}, {64, 1, 1}, {256, 1, 1}, {2, 2, 1},  {4, 4, 1},
    {8, 2, 1}, {2, 8, 1}, {16, 4, 1}, {8, 8, 4},  {4, 4, 4},  {2, 2, 2},   {16, 16, 1}};
enum { TORI = sizeof tori / sizeof *tori };

static void steps_are_as_in_the_paper(void **state)
{
    (void)state;
    static const uint32_t of_0[] = {1, 15, 3, 11}, of_1[] = {0, 2, 14, 6}; /* 1, −1, 3, −5 */
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(swing_partner(16, 0, i), of_0[i]);
        assert_int_equal(swing_partner(16, 1, i), of_1[i]);
    }
}

/* All steps, from every dimension on and both ways. */
static void expect_mirrored(const swing_order_t *order)
{
    bool taken[MOST] = {false};
    for (uint32_t place = 0; place < order->n; place++) {
        uint32_t left = order->n, start = 0;
        for (uint32_t i = 0; i < order->nsteps; i++) {
            swing_step_t mine = swing_step(order, place, i);
            swing_step_t theirs = swing_step(order, mine.peer, i);
            assert_int_not_equal(mine.peer, place);
            assert_int_equal(theirs.peer, place);
            assert_int_equal(mine.keep, theirs.give);
            assert_int_equal(mine.give, theirs.keep);
            assert_int_equal(2 * mine.cnt, left);
            assert_int_equal(mine.keep < mine.give ? mine.keep : mine.give, start);
            start = mine.keep;
            left = mine.cnt;
        }
        assert_int_equal(left, 1);
        assert_int_equal(start, swing_label(order, place));
        assert_false(taken[start]);
        taken[start] = true;
    }
}

static void what_one_gives_the_other_keeps(void **state)
{
    (void)state;
    for (uint32_t t = 0; t < TORI; t++) {
        for (uint32_t first = 0; first < SWING_DIMENSIONS; first++) {
            for (uint32_t mirrored = 0; mirrored < 2; mirrored++) {
                swing_order_t order = swing_order(tori[t], first, mirrored);
                expect_mirrored(&order);
            }
        }
    }
}

/* Pieces over the busiest link of a ring, one direction: each exchange goes the shorter way, and at
 * half way up. Partners that are 1, 2, 4 … away, the nearest first, for comparison. */
static uint32_t busiest_link(uint32_t n, bool swings)
{
    const uint32_t size[SWING_DIMENSIONS] = {n, 1, 1};
    uint32_t up[MOST] = {0}, down[MOST] = {0}, most = 0;
    swing_order_t order = swing_order(size, 0, 0);
    for (uint32_t i = 0; i < order.nsteps; i++) {
        for (uint32_t place = 0; place < n; place++) {
            uint32_t peer = swings ? swing_step(&order, place, i).peer : place ^ 1u << i;
            uint32_t cnt = n >> (i + 1), far = (peer + n - place) % n;
            for (uint32_t hop = 0; far <= n / 2 && hop < far; hop++) {
                up[(place + hop) % n] += cnt;
            }
            for (uint32_t hop = 0; far > n / 2 && hop < n - far; hop++) {
                down[(place + n - hop) % n] += cnt;
            }
        }
    }
    for (uint32_t link = 0; link < n; link++) {
        most = up[link] > most ? up[link] : most;
        most = down[link] > most ? down[link] : most;
    }
    return most;
}

static void no_link_carries_as_much_as_by_halving(void **state)
{
    (void)state;
    for (uint32_t n = 8; n <= MOST; n *= 2) {
        uint32_t swing = busiest_link(n, true), halving = busiest_link(n, false);
        print_message("%u ranks: busiest link %u pieces, by halving %u\n", n, swing, halving);
        assert_true(swing < halving);
    }
}

static weft_verify_report_t proof(const plan_fixture_t *fixture, uint32_t n, uint32_t slots,
                                  uint32_t slices, int in_place)
{
    weft_plan_t **plans = plan_fixture_emit(fixture, WEFT_ALL_REDUCE, n, 0);
    assert_non_null(plans);
    weft_verify_report_t report = plan_fixture_verify(plans, n, slots, slices, in_place);
    if (report.verdict != WEFT_VERDICT_OK) {
        print_error("%u ranks: %s\n", n, report.text);
    }
    plan_fixture_free(plans, n);
    return report;
}

static void expect_proved(const swing_settings_t *settings, uint32_t n)
{
    plan_fixture_t fixture;
    plan_fixture_open_with(&fixture, WEFT_PLUGIN_DIR, "algo-swing", settings);
    for (uint32_t slots = 2; slots <= 8; slots *= 2) {
        for (int in_place = 0; in_place < 2; in_place++) {
            weft_verify_report_t report = proof(&fixture, n, slots, slots - 1, in_place);
            assert_int_equal(report.verdict, WEFT_VERDICT_OK);
            assert_true(report.same_on_all_ranks);
        }
    }
    plan_fixture_close(&fixture);
}

static void every_plan_is_proved(void **state)
{
    (void)state;
    for (uint32_t t = 0; t < TORI; t++) {
        uint32_t n = tori[t][0] * tori[t][1] * tori[t][2];
        swing_settings_t settings = {.x = tori[t][0], .y = tori[t][1]};
        for (uint32_t mirror = 0; mirror < 2 && n <= 64; mirror++) {
            settings.mirror = mirror != 0;
            expect_proved(&settings, n);
        }
    }
}

/* All lanes go at the same time: as many MOVEs one after the other as one of them has. */
static void an_all_reduce_takes_twice_log2_n_exchanges(void **state)
{
    (void)state;
    for (uint32_t n = 2, steps = 1; n <= 64; n *= 2, steps++) {
        plan_fixture_t fixture;
        plan_fixture_open(&fixture, WEFT_PLUGIN_DIR, "algo-swing");
        assert_int_equal(proof(&fixture, n, 8, 2, 0).critical_moves, 4 * steps);
        plan_fixture_close(&fixture);
    }
}

static void expect_refused(const swing_settings_t *settings, uint32_t n, const char *words)
{
    plan_fixture_t fixture;
    plan_fixture_open_with(&fixture, WEFT_PLUGIN_DIR, "algo-swing", settings);
    weft_algo_call_t call = {.size = sizeof call, .coll = WEFT_ALL_REDUCE, .nranks = n};
    assert_int_equal(fixture.ops->supports(fixture.algo, &call), WEFT_ERR_UNSUPPORTED);
    assert_non_null(strstr(weft_error_record()->text, words));
    plan_fixture_close(&fixture);
}

static void what_is_no_torus_is_refused(void **state)
{
    (void)state;
    expect_refused(&(swing_settings_t){.x = 0}, 6, "powers of two; there are 6");
    expect_refused(&(swing_settings_t){.x = 3}, 8, "8 ranks are no torus with x = 3");
    expect_refused(&(swing_settings_t){.x = 16}, 8, "x = 16");
    expect_refused(&(swing_settings_t){.x = 4, .y = 4}, 8, "y = 4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_as_in_the_paper),
        cmocka_unit_test(what_one_gives_the_other_keeps),
        cmocka_unit_test(no_link_carries_as_much_as_by_halving),
        cmocka_unit_test(every_plan_is_proved),
        cmocka_unit_test(an_all_reduce_takes_twice_log2_n_exchanges),
        cmocka_unit_test(what_is_no_torus_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
