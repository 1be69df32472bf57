/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin as it is loaded: defaults, and what it does not serve. */
#include "tests/unit/plugins/algo-tree/shape.h"

static void the_loaded_plugin_has_the_usual_settings_by_default(void **state)
{
    (void)state;
    plan_fixture_t fixture;
    plan_fixture_open(&fixture, WEFT_PLUGIN_DIR, "algo-tree");
    static shape_t shape = {.settings = USUAL, .coll = WEFT_REDUCE, .n = 9, .root = 4};
    one_host(&shape);
    weft_plan_t **plans = plan_fixture_emit(&fixture, WEFT_REDUCE, 9, 4);
    assert_non_null(plans);
    for (uint32_t rank = 0; rank < 9; rank++) {
        weft_plan_t *plan = emit_one(&shape, rank);
        assert_true(weft_plan_hash(plan) == weft_plan_hash(plans[rank]));
        weft_plan_destroy(plan);
    }
    plan_fixture_free(plans, 9);
    plan_fixture_close(&fixture);
}

static void other_collectives_are_refused_in_words(void **state)
{
    (void)state;
    plan_fixture_t fixture;
    plan_fixture_open(&fixture, WEFT_PLUGIN_DIR, "algo-tree");
    weft_algo_call_t call = {.size = sizeof call, .coll = WEFT_ALL_GATHER, .nranks = 4};
    assert_int_equal(fixture.ops->supports(fixture.algo, &call), WEFT_ERR_UNSUPPORTED);
    assert_non_null(strstr(weft_error_record()->text, "no plan for all_gather"));
    assert_non_null(strstr(weft_error_record()->text, "all_reduce, broadcast and reduce"));
    assert_null(plan_fixture_emit(&fixture, WEFT_ALL_TO_ALL, 4, 0));
    call.coll = WEFT_COLL_COUNT;
    assert_int_equal(fixture.ops->supports(fixture.algo, &call), WEFT_ERR_UNSUPPORTED);
    for (uint32_t i = 0; i < 3; i++) {
        call.coll = colls[i];
        assert_int_equal(fixture.ops->supports(fixture.algo, &call), WEFT_OK);
    }
    plan_fixture_close(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loaded_plugin_has_the_usual_settings_by_default),
        cmocka_unit_test(other_collectives_are_refused_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
