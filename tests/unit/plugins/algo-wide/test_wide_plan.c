/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The wide tree: everybody is in it once, plans are proved for all ranks, roots and widths, and the
 * number of peers is bounded. */
#include <string.h>

#include "plugins/algo-wide/wide_plan.c"
#include "tests/support/plan_fixture.h"
#include "tests/support/unit.h"

static uint32_t width_now = 16;

static void write_all_reduce(const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    wide_all_reduce(call, width_now, builder);
}

static void write_broadcast(const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    wide_broadcast(call, width_now, builder);
}

static void write_reduce(const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    wide_reduce(call, width_now, builder);
}

static void everybody_is_below_one_other(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 70; n++) {
        weft_algo_call_t call = {.size = sizeof call, .nranks = n, .root = n / 3};
        uint32_t above[70] = {0};
        for (call.rank = 0; call.rank < n; call.rank++) {
            wide_position_t position;
            wide_position(&call, 4, &position);
            assert_int_equal(position.up < 0, call.rank == call.root);
            assert_true(position.ndown <= 4);
            for (uint32_t i = 0; i < position.ndown; i++) {
                weft_algo_call_t below = call;
                wide_position_t its;
                below.rank = position.down[i];
                wide_position(&below, 4, &its);
                assert_int_equal(its.up, call.rank);
                above[position.down[i]]++;
            }
        }
        for (uint32_t rank = 0; rank < n; rank++) {
            assert_int_equal(above[rank], rank != call.root);
        }
    }
}

static void plans_are_proved(void **state)
{
    static const struct {
        plan_fixture_fn_t write;
        weft_coll_t coll;
    } colls[] = {{write_all_reduce, WEFT_ALL_REDUCE},
                 {write_broadcast, WEFT_BROADCAST},
                 {write_reduce, WEFT_REDUCE}};
    static const uint32_t widths[] = {2, 3, 4, 5, 16};
    (void)state;
    for (uint32_t w = 0; w < 5; w++) {
        width_now = widths[w];
        for (uint32_t i = 0; i < 3 * 40; i++) {
            uint32_t n = 2 + i / 3, in_place = i % 2;
            weft_plan_t **plans = plan_fixture_write(colls[i % 3].write, colls[i % 3].coll, n);
            assert_non_null(plans);
            weft_verify_report_t report = plan_fixture_verify(plans, n, 4, 3, (int)in_place);
            assert_int_equal(report.verdict, WEFT_VERDICT_OK);
            assert_true(report.same_on_all_ranks && report.same_for_all_chunks);
            plan_fixture_free(plans, n);
        }
    }
}

static void peers_are_bounded(void **state)
{
    (void)state;
    width_now = 16;
    weft_plan_t **plans = plan_fixture_write(write_all_reduce, WEFT_ALL_REDUCE, 300);
    assert_non_null(plans);
    for (uint32_t rank = 0; rank < 300; rank++) {
        assert_true(plans[rank]->nports <= 2 * 17);
    }
    plan_fixture_free(plans, 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_is_below_one_other),
        cmocka_unit_test(plans_are_proved),
        cmocka_unit_test(peers_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
