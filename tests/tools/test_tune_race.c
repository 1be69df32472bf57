/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Candidates are compared within rounds, and those far behind run no more. */
#include <string.h>

#include "tests/support/unit.h"
#include "tools/tune_race.h"

static void near(double value, double expected)
{
    assert_true(value > expected * 0.999 && value < expected * 1.001);
}

static void run_round(tune_race_t *race, const double *seconds)
{
    for (uint32_t i = 0; i < race->count; i++) {
        if (!race->runs[i].out) {
            tune_race_take(race, i, seconds[i]);
        }
    }
    tune_race_end_round(race);
}

static void equal_rounds_give_their_times(void **state)
{
    (void)state;
    tune_race_t race = {.count = 3};
    tune_result_t results[3];
    for (int round = 0; round < 8; round++) {
        run_round(&race, (double[]){10e-6, 11e-6, 12e-6});
    }
    tune_race_judge(&race, results);
    near(results[0].seconds, 10e-6);
    near(results[1].low, 11e-6);
    near(results[2].high, 12e-6);
}

/* The machine gets slower in the middle of a round: the first has eight slow rounds of 15, the
 * second seven, so the median of its times would be three times as small. */
static void a_slow_moment_is_nobodys_merit(void **state)
{
    (void)state;
    tune_race_t race = {.count = 2};
    tune_result_t results[2];
    for (int round = 0; round < 15; round++) {
        run_round(&race, (double[]){round < 7 ? 10e-6 : 30e-6, round < 8 ? 11e-6 : 33e-6});
    }
    tune_race_judge(&race, results);
    near(results[1].seconds / results[0].seconds, 1.1);
}

static void who_is_far_behind_is_out(void **state)
{
    (void)state;
    tune_race_t race = {.count = 4};
    tune_result_t results[4];
    run_round(&race, (double[]){1e-6, 6e-6, 2e-6, 2e-6});
    assert_false(race.runs[1].out); /* once is chance */
    run_round(&race, (double[]){1e-6, 7e-6, 2e-6, 1.2e-6});
    assert_true(race.runs[1].out);
    run_round(&race, (double[]){1e-6, 0, 2e-6, 2e-6});
    assert_true(race.runs[2].out);
    assert_false(race.runs[3].out); /* it was near once */
    run_round(&race, (double[]){1e-6, 0, 0, 1.8e-6});
    assert_int_equal(race.runs[1].count, 2);
    assert_int_equal(race.runs[2].count, 3);
    tune_race_judge(&race, results);
    assert_true(results[0].seconds < results[3].seconds);
    assert_true(results[3].seconds < results[2].seconds + 1e-9);
    assert_true(results[2].seconds < results[1].seconds);
}

/* One of three communicators was unlucky: that is neither nothing nor all. */
static void luck_counts_for_its_part(void **state)
{
    (void)state;
    tune_race_t race = {.count = 2};
    tune_result_t results[2];
    for (int round = 0; round < 18; round++) {
        run_round(&race, (double[]){1e-6, round % 3 == 0 ? 1.4e-6 : 1e-6});
    }
    tune_race_judge(&race, results);
    assert_true(results[1].seconds > 1.01 * results[0].seconds);
    assert_true(results[1].seconds < 1.3 * results[0].seconds);
}

/* A slow moment that hits all alike puts nobody out, however long ago the best time is. */
static void a_slow_moment_puts_nobody_out(void **state)
{
    (void)state;
    tune_race_t race = {.count = 2};
    for (int round = 0; round < 6; round++) {
        double pace = round == 0 ? 1 : 10;
        run_round(&race, (double[]){1e-6 * pace, 1.2e-6 * pace});
    }
    assert_false(race.runs[0].out);
    assert_false(race.runs[1].out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_rounds_give_their_times),
        cmocka_unit_test(a_slow_moment_is_nobodys_merit),
        cmocka_unit_test(who_is_far_behind_is_out),
        cmocka_unit_test(luck_counts_for_its_part),
        cmocka_unit_test(a_slow_moment_puts_nobody_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
