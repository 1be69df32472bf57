/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shape of the direct exchange: the latency path of two ranks, the number of folds, the limit. */
#include <string.h>

#include "core/base/error.h"
#include "plugins/algo-flat/flat_plan.c"
#include "tests/support/plan_fixture.h"
#include "tests/support/unit.h"

static void two_ranks_need_two_moves(void **state)
{
    (void)state;
    weft_plan_t **plans = plan_fixture_write(flat_all_reduce, WEFT_ALL_REDUCE, 2);
    assert_non_null(plans);
    for (uint32_t rank = 0; rank < 2; rank++) {
        const weft_plan_t *plan = plans[rank];
        assert_int_equal(plan->lanes[0].ncode, 3);
        assert_int_equal(plan->k, 1);
        assert_int_equal(plan->tmp_chunks, 0);
        weft_plan_view_t send = weft_plan_view(plan, 0), fold = weft_plan_view(plan, 1);
        assert_int_equal(send.dst[0].kind, WEFT_OPERAND_PORT);
        assert_int_equal(send.src[0].kind, WEFT_OPERAND_IN);
        assert_int_equal(fold.dst[0].kind, WEFT_OPERAND_OUT);
        assert_int_equal(fold.src[rank].kind, WEFT_OPERAND_IN);
        assert_int_equal(fold.src[1 - rank].kind, WEFT_OPERAND_PORT);
        assert_int_equal(fold.flags, WEFT_MOVE_FINAL);
    }
    plan_fixture_free(plans, 2);
}

static void folds_are_counted_right(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= FLAT_RANKS_MAX; n++) {
        weft_plan_t **plans = plan_fixture_write(flat_reduce, WEFT_REDUCE, n);
        assert_non_null(plans);
        assert_int_equal(plans[0]->nmoves, flat_folds(n));
        assert_int_equal(plans[0]->tmp_chunks, flat_folds(n) > 1);
        assert_int_equal(plans[1]->nmoves, 1);
        plan_fixture_free(plans, n);
        n += n > 20 ? 20 : 0;
    }
}

static void all_ranks_fold_alike(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 17; n++) {
        weft_plan_t **plans = plan_fixture_write(flat_all_reduce, WEFT_ALL_REDUCE, n);
        assert_non_null(plans);
        weft_verify_report_t report = plan_fixture_verify(plans, n, 4, 2, 1);
        assert_int_equal(report.verdict, WEFT_VERDICT_OK);
        assert_true(report.same_on_all_ranks);
        assert_true(report.same_for_all_chunks);
        plan_fixture_free(plans, n);
    }
}

static void more_ranks_than_max_ranks_are_refused(void **state)
{
    (void)state;
    plan_fixture_t fixture;
    plan_fixture_open(&fixture, WEFT_PLUGIN_DIR, "algo-flat");
    weft_algo_call_t call = {.size = sizeof call, .coll = WEFT_ALL_REDUCE, .nranks = 64};
    assert_int_equal(fixture.ops->supports(fixture.algo, &call), WEFT_OK);
    call.nranks = 65;
    assert_int_equal(fixture.ops->supports(fixture.algo, &call), WEFT_ERR_UNSUPPORTED);
    assert_non_null(strstr(weft_error_record()->text, "up to 64 ranks (max_ranks), not 65"));
    call.coll = WEFT_BARRIER;
    assert_int_equal(fixture.ops->supports(fixture.algo, &call), WEFT_ERR_UNSUPPORTED);
    plan_fixture_close(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_ranks_need_two_moves),
        cmocka_unit_test(folds_are_counted_right),
        cmocka_unit_test(all_ranks_fold_alike),
        cmocka_unit_test(more_ranks_than_max_ranks_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
