/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which plans can meet: those of the plugins, and plans with one fault each. */
#include "core/plan/meeting.h"
#include "core/plan/verify.h"
#include "tests/support/plan_fixture.h"
#include "tests/support/unit.h"

static bool meet(weft_plan_t *const *plans, uint32_t n, uint32_t slots)
{
    bool meets = false;
    assert_non_null(plans);
    assert_int_equal(weft_plan_meets(plans, n, slots, &meets), WEFT_OK);
    return meets;
}

static bool plugin_meets(const char *name, weft_coll_t coll, uint32_t n)
{
    plan_fixture_t fixture;
    plan_fixture_open(&fixture, WEFT_PLUGIN_DIR, name);
    weft_plan_t **plans = plan_fixture_emit(&fixture, coll, n, 0);
    const bool meets = meet(plans, n, 4);
    plan_fixture_free(plans, n);
    plan_fixture_close(&fixture);
    return meets;
}

static void direct_exchanges_meet(void **state)
{
    static const weft_coll_t colls[] = {WEFT_ALL_REDUCE, WEFT_REDUCE_SCATTER, WEFT_ALL_GATHER};
    (void)state;
    for (uint32_t n = 2; n <= 12; n++) {
        for (int c = 0; c < 3; c++) {
            /* From 10 ranks on the second eight of algo-direct's all-gather wait for the first. */
            const bool waits = colls[c] == WEFT_ALL_GATHER && n > 9;
            assert_true(plugin_meets("algo-flat", colls[c], n));
            assert_int_equal(plugin_meets("algo-direct", colls[c], n), !waits);
        }
    }
    assert_true(plugin_meets("algo-flat", WEFT_ALL_REDUCE, 64));
    assert_false(plugin_meets("algo-direct", WEFT_ALL_TO_ALL, 65));
}

/* Ranks that talk to few others, or to one only. */
static void other_plans_do_not(void **state)
{
    (void)state;
    assert_false(plugin_meets("algo-ring", WEFT_ALL_REDUCE, 3));
    assert_false(plugin_meets("algo-tree", WEFT_ALL_REDUCE, 4));
    assert_false(plugin_meets("algo-halving", WEFT_ALL_REDUCE, 4));
    assert_false(plugin_meets("algo-flat", WEFT_BROADCAST, 2));
    assert_false(plugin_meets("algo-flat", WEFT_REDUCE, 3));
}

static void the_proof_says_it(void **state)
{
    plan_fixture_t flat;
    weft_verify_report_t reports[2];
    (void)state;
    plan_fixture_open(&flat, WEFT_PLUGIN_DIR, "algo-flat");
    weft_plan_t **plans = plan_fixture_emit(&flat, WEFT_ALL_REDUCE, 5, 0);
    weft_verify_input_t input = {.plans = plans, .nranks = 5, .slots = 4, .slices = 2};
    assert_int_equal(weft_plan_prove(&input, reports), WEFT_OK);
    assert_int_equal(reports[0].verdict, WEFT_VERDICT_OK);
    assert_true(reports[0].meets);
    input.limit = 1;
    assert_int_equal(weft_plan_prove(&input, reports), WEFT_OK);
    assert_int_equal(reports[0].verdict, WEFT_VERDICT_TOO_BIG);
    assert_false(reports[0].meets);
    plan_fixture_free(plans, 5);
    plan_fixture_close(&flat);
}

/* Faults --------------------------------------------------------------------------------------- */

typedef enum fault { NONE, LATE, SCRATCH, LOOPED, TWO_LANES, TWICE, WAITS } fault_t;

static fault_t fault;

/* An exchange of two ranks and the sum, with a fault on rank 1. */
static void write_exchange(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    const fault_t mine = call->rank == 1 ? fault : NONE;
    b->grid(b, 1, 1);
    uint32_t lane = b->lane(b);
    weft_operand_t to = weft_port(b->port(b, lane, 1 - call->rank, 0, 1));
    weft_operand_t from = weft_port(b->port(b, lane, 1 - call->rank, 0, 0));
    weft_move_t give = {.dst = {to}, .src = {weft_in(0, 0)}, .ndst = 1, .nsrc = 1};
    weft_move_t keep = {.dst = {weft_tmp(0, 0)}, .src = {weft_in(0, 0)}, .ndst = 1, .nsrc = 1};
    weft_move_t sum = {.dst = {weft_out(0, 0)}, .src = {from, weft_in(0, 0)}, .ndst = 1, .nsrc = 2};
    if (mine == TWO_LANES) {
        b->move(b, b->lane(b), &keep);
    }
    if (mine == SCRATCH || mine == WAITS) {
        b->move(b, lane, &keep);
    }
    if (mine == LATE) {
        b->move(b, lane, &sum);
    }
    give.src[0] = mine == SCRATCH ? weft_tmp(0, 0) : weft_in(0, 0);
    give.like = weft_in(0, 0);
    if (mine == WAITS) {
        give.after[0] = (weft_after_t){.lane = lane, .pc = 0};
        give.nafter = 1;
    }
    if (mine == LOOPED) {
        b->loop(b, lane, 1);
    }
    b->move(b, lane, &give);
    if (mine == LOOPED) {
        b->end(b, lane);
    }
    for (int i = 0; mine == TWICE && i < 2; i++) {
        b->move(b, lane, &give);
    }
    if (mine != LATE) {
        b->move(b, lane, &sum);
    }
}

static bool exchange_meets(fault_t with, uint32_t slots)
{
    fault = with;
    weft_plan_t **plans = plan_fixture_write(write_exchange, WEFT_ALL_REDUCE, 2);
    const bool meets = meet(plans, 2, slots);
    plan_fixture_free(plans, 2);
    return meets;
}

static void one_rank_that_cannot_is_enough(void **state)
{
    (void)state;
    assert_true(exchange_meets(NONE, 2));
    assert_false(exchange_meets(LATE, 2));    /* needs something before it has told its peer */
    assert_false(exchange_meets(SCRATCH, 2)); /* sends what does not stay */
    assert_false(exchange_meets(LOOPED, 2));
    assert_false(exchange_meets(TWO_LANES, 2));
    assert_false(exchange_meets(WAITS, 2));
    assert_true(exchange_meets(TWICE, 4)); /* what is sent more than once needs more slots */
    assert_false(exchange_meets(TWICE, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(direct_exchanges_meet),
        cmocka_unit_test(other_plans_do_not),
        cmocka_unit_test(the_proof_says_it),
        cmocka_unit_test(one_rank_that_cannot_is_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
