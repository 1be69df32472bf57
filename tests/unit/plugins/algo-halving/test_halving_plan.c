/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Halving and doubling: the arithmetic of the exchanges, the proof of every plan, and its size. */
#include <string.h>

#include "core/base/error.h"
#include "plugins/algo-halving/halving_lane.c"
#include "plugins/algo-halving/halving_plan.c"
#include "plugins/algo-halving/halving_scatter.c"
#include "plugins/algo-halving/halving_steps.c"
#include "tests/support/plan_fixture.h"
#include "tests/support/plan_sweep.h"
#include "tests/support/unit.h"

static uint32_t log2_floor(uint32_t n)
{
    return n < 2 ? 0 : 1 + log2_floor(n / 2);
}

static void units_are_runs_of_ranks(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 600; n++) {
        halving_job_t job = halving_job(n);
        assert_int_equal(job.units, UINT32_C(1) << job.steps);
        assert_true(job.units <= n && n < 2 * job.units);
        assert_int_equal(halving_first(&job, job.units), n);
        for (uint32_t rank = 0; rank < n; rank++) {
            uint32_t unit = halving_unit(&job, rank);
            assert_true(unit < job.units);
            assert_true(rank == halving_first(&job, unit) || rank == halving_second(&job, unit));
            assert_true(halving_first(&job, unit) <= rank && rank < halving_first(&job, unit + 1));
        }
    }
}

static void expect_mirrored(halving_fn_t step, uint32_t n)
{
    halving_job_t job = halving_job(n);
    for (uint32_t position = 0; position < job.units; position++) {
        uint32_t left = job.units;
        for (uint32_t i = 0; i < job.steps; i++) {
            halving_step_t mine = step(&job, position, i), theirs = step(&job, mine.peer, i);
            assert_int_equal(theirs.peer, position);
            assert_int_equal(mine.keep, theirs.give);
            assert_int_equal(mine.give, theirs.keep);
            assert_int_equal(2 * mine.cnt, left);
            left = mine.cnt;
        }
        assert_int_equal(left, 1);
    }
}

static void what_one_gives_the_other_keeps(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 256; n *= 2) {
        expect_mirrored(halving_near, n);
        expect_mirrored(halving_far, n);
    }
}

static void far_ends_at_the_own_place_and_near_at_its_mirror(void **state)
{
    (void)state;
    halving_job_t job = halving_job(64);
    for (uint32_t position = 0; position < 64; position++) {
        uint32_t mirror = 0;
        for (uint32_t bit = 0; bit < 6; bit++) {
            mirror |= (position >> bit & 1) << (5 - bit);
        }
        assert_int_equal(halving_far(&job, position, 5).keep, position);
        assert_int_equal(halving_near(&job, position, 5).keep, mirror);
        assert_int_equal(halving_far(&job, position, 0).peer, position ^ 32);
        assert_int_equal(halving_near(&job, position, 0).peer, position ^ 1);
    }
}

static const plan_sweep_t sweeps[] = {
    {.write = halving_all_reduce, .coll = WEFT_ALL_REDUCE},
    {.write = halving_reduce_scatter, .coll = WEFT_REDUCE_SCATTER},
    {.write = halving_all_gather, .coll = WEFT_ALL_GATHER},
};

static void every_plan_is_proved_for_2_to_40_ranks(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        plan_sweep_small(&sweeps[i]);
    }
}

static void sampled_plans_are_proved_up_to_300_ranks(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        plan_sweep_large(&sweeps[i]);
    }
}

/* In a PAR both directions progress, so not even a chunk larger than the queue stops an exchange.
 * (A reduce-scatter of 3, whose first exchange is also the last, needs the rule that slices <
 * slots.) */
static void more_slices_than_slots_do_no_harm(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t n = 4; n <= 13; n++) {
            plan_sweep_expect_ok(&sweeps[i], n, 1, 5);
        }
    }
}

static void all_reduce_has_one_order_for_all_ranks_and_elements(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 40; n++) {
        weft_plan_t **plans = plan_fixture_write(halving_all_reduce, WEFT_ALL_REDUCE, n);
        weft_verify_report_t report = plan_fixture_verify(plans, n, 8, 2, 1);
        assert_true(report.same_on_all_ranks);
        assert_true(report.same_for_all_chunks);
        plan_fixture_free(plans, n);
    }
}

static uint32_t largest_code(weft_plan_t *const *plans, uint32_t n)
{
    uint32_t most = 0;
    for (uint32_t rank = 0; rank < n; rank++) {
        assert_int_equal(plans[rank]->nlanes, 1);
        most = plans[rank]->lanes[0].ncode > most ? plans[rank]->lanes[0].ncode : most;
    }
    return most;
}

/* An exchange is a PAR and two MOVEs; the rest is for pairs and STOP. */
static void code_grows_with_the_logarithm(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {2, 3, 7, 8, 100, 1000, 1024};
    for (uint32_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        uint32_t n = sizes[s], steps = log2_floor(n);
        for (uint32_t i = 0; i < 3; i++) {
            weft_plan_t **plans = plan_fixture_write(sweeps[i].write, sweeps[i].coll, n);
            assert_non_null(plans);
            assert_true(largest_code(plans, n) <= (i == 0 ? 6 : 3) * steps + 4);
            plan_fixture_free(plans, n);
        }
    }
}

/* One MOVE to send and one to receive for each step, plus the copy of the own block. */
static void powers_of_two_take_log2_n_steps(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 128; n *= 2) {
        uint32_t steps = log2_floor(n);
        const uint32_t moves[] = {4 * steps, 2 * steps, 2 * steps + 1};
        for (uint32_t i = 0; i < 3; i++) {
            weft_plan_t **plans = plan_fixture_write(sweeps[i].write, sweeps[i].coll, n);
            weft_verify_report_t report = plan_fixture_verify(plans, n, 8, 2, 0);
            assert_int_equal(report.critical_moves, moves[i]);
            assert_int_equal(plans[0]->tmp_chunks,
                             sweeps[i].coll == WEFT_REDUCE_SCATTER && n > 2 ? n / 2 : 0);
            plan_fixture_free(plans, n);
        }
    }
}

static void other_collectives_are_refused_by_name(void **state)
{
    (void)state;
    plan_fixture_t fixture;
    plan_fixture_open(&fixture, WEFT_PLUGIN_DIR, "algo-halving");
    weft_algo_call_t call = {.size = sizeof call, .coll = WEFT_ALL_GATHER, .nranks = 7};
    assert_int_equal(fixture.ops->supports(fixture.algo, &call), WEFT_OK);
    call.coll = WEFT_BROADCAST;
    assert_int_equal(fixture.ops->supports(fixture.algo, &call), WEFT_ERR_UNSUPPORTED);
    assert_non_null(strstr(weft_error_record()->text, "all_reduce, reduce_scatter and all_gather"));
    plan_fixture_close(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_are_runs_of_ranks),
        cmocka_unit_test(what_one_gives_the_other_keeps),
        cmocka_unit_test(far_ends_at_the_own_place_and_near_at_its_mirror),
        cmocka_unit_test(every_plan_is_proved_for_2_to_40_ranks),
        cmocka_unit_test(sampled_plans_are_proved_up_to_300_ranks),
        cmocka_unit_test(more_slices_than_slots_do_no_harm),
        cmocka_unit_test(all_reduce_has_one_order_for_all_ranks_and_elements),
        cmocka_unit_test(code_grows_with_the_logarithm),
        cmocka_unit_test(powers_of_two_take_log2_n_steps),
        cmocka_unit_test(other_collectives_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
