/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verifier over plans of several lanes: what orders a move of one after a move of another. */
#include <string.h>

#include "tests/support/plan_fixture.h"
#include "tests/support/unit.h"

static const weft_operand_t none = {WEFT_OPERAND_NONE, 0, 0};

/* Lane 0 receives into TMP, lane 1 sends; how lane 1's fold knows that TMP is there varies. */
static void two_lanes(const weft_algo_call_t *call, weft_plan_builder_t *b, int ordered, int bars)
{
    b->grid(b, 1, 1);
    uint32_t get = b->lane(b), give = b->lane(b);
    weft_operand_t from = weft_port(b->port(b, get, 1 - call->rank, 0, 0));
    weft_operand_t to = weft_port(b->port(b, give, 1 - call->rank, 0, 1));
    uint32_t pc = plan_fixture_put(b, get, weft_tmp(0, 0), from, none, 0);
    plan_fixture_put(b, give, to, weft_in(0, 0), none, 0);
    if (bars) {
        b->bar(b, get, 3);
        b->bar(b, give, 3);
    }
    weft_move_t move = {.dst = {weft_out(0, 0)},
                        .src = {weft_tmp(0, 0), weft_in(0, 0)},
                        .ndst = 1,
                        .nsrc = 2,
                        .flags = WEFT_MOVE_FINAL,
                        .nafter = ordered ? 1 : 0,
                        .after = {{get, pc}}};
    b->move(b, give, &move);
    if (bars) {
        b->bar(b, get, 3);
        b->bar(b, give, 3);
    }
}

static void lanes_unordered(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    two_lanes(call, b, 0, 0);
}

static void lanes_after(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    two_lanes(call, b, 1, 0);
}

static void lanes_barrier(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    two_lanes(call, b, 0, 1);
}

static void races_between_lanes_are_found_over_two_passes(void **state)
{
    (void)state;
    weft_verdict_t unordered = plan_fixture_verify_written(lanes_unordered, 4, 1, 0).verdict;
    assert_true(unordered == WEFT_VERDICT_RACE || unordered == WEFT_VERDICT_UNWRITTEN);
    /* The second pass may overwrite TMP while the first still reads it: only barriers prevent
     * it. */
    weft_verify_report_t report = plan_fixture_verify_written(lanes_after, 4, 1, 0);
    assert_int_equal(report.verdict, WEFT_VERDICT_RACE);
    assert_non_null(strstr(report.text, "tmp[0]"));
    assert_int_equal(plan_fixture_verify_written(lanes_barrier, 4, 1, 0).verdict, WEFT_VERDICT_OK);
    assert_int_equal(plan_fixture_verify_written(lanes_barrier, 4, 3, 1).verdict, WEFT_VERDICT_OK);
}

/* Rank 0: lane 0 sends IN away, lane 1 gets the result back and overwrites it in place: what orders
 * the two is the way through rank 1. */
static void round_trip(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    b->grid(b, 1, 0);
    uint32_t up = b->lane(b), down = call->rank == 0 ? b->lane(b) : up;
    if (call->rank == 0) {
        weft_operand_t to = weft_port(b->port(b, up, 1, 0, 1));
        weft_operand_t from = weft_port(b->port(b, down, 1, 0, 0));
        plan_fixture_put(b, up, to, weft_in(0, 0), none, 0);
        plan_fixture_put(b, down, weft_out(0, 0), from, none, 0);
        return;
    }
    weft_operand_t from = weft_port(b->port(b, up, 0, 0, 0));
    weft_operand_t to = weft_port(b->port(b, up, 0, 0, 1));
    weft_move_t move = {.dst = {weft_out(0, 0), to},
                        .src = {from, weft_in(0, 0)},
                        .ndst = 2,
                        .nsrc = 2,
                        .flags = WEFT_MOVE_FINAL};
    b->move(b, up, &move);
}

static void order_through_another_rank_counts(void **state)
{
    (void)state;
    for (uint32_t slices = 1; slices < 4; slices++) {
        weft_verify_report_t report = plan_fixture_verify_written(round_trip, 4, slices, 1);
        if (report.verdict != WEFT_VERDICT_OK) {
            fail_msg("%s", report.text);
        }
    }
}

static uint32_t folds_in; /* the lane of the fold: that of the PAR, or another one */

/* A PAR sends, receives into TMP, and folds what it has received; or sends what another lane folds,
 * which waits for what the PAR receives. */
static void par_that_waits(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    b->grid(b, 1, 2);
    uint32_t lane = b->lane(b), other = folds_in == 0 ? lane : b->lane(b);
    weft_operand_t from = weft_port(b->port(b, lane, 1 - call->rank, 0, 0));
    weft_operand_t to = weft_port(b->port(b, lane, 1 - call->rank, 0, 1));
    plan_fixture_put(b, lane, to, weft_in(0, 0), none, 0);
    b->par(b, lane, 2);
    uint32_t pc = plan_fixture_put(b, lane, weft_tmp(0, 0), from, none, 0);
    weft_move_t fold = {.dst = {weft_out(0, 0)},
                        .src = {weft_tmp(0, 0), weft_in(0, 0)},
                        .ndst = 1,
                        .nsrc = 2,
                        .flags = WEFT_MOVE_FINAL,
                        .nafter = 1,
                        .after = {{lane, pc}}};
    weft_move_t copy = {.dst = {weft_tmp(1, 0)},
                        .src = {weft_out(0, 0)},
                        .ndst = 1,
                        .nsrc = 1,
                        .nafter = 1,
                        .after = {{other, 0}}};
    if (other == lane) {
        b->move(b, lane, &fold);
        return;
    }
    b->move(b, lane, &copy);
    b->move(b, other, &fold);
}

/* Executors begin a PAR when all its MOVEs may begin, and note it as one. */
static void moves_of_a_par_begin_and_complete_together(void **state)
{
    static const char *const words[] = {"rank 0 lane 0 pc 3: waits for lane 0 pc 2 to finish; 1 "
                                        "lane waits for itself, 2 stand still",
                                        "rank 0 lane 0 pc 3: waits for lane 1 pc 0 to finish; 2 "
                                        "lanes wait for each other in a ring, "
                                        "4 stand still"};
    (void)state;
    for (folds_in = 0; folds_in < 2; folds_in++) {
        weft_verify_report_t report = plan_fixture_verify_written(par_that_waits, 4, 1, 0);
        assert_int_equal(report.verdict, WEFT_VERDICT_DEADLOCK);
        assert_string_equal(report.text, words[folds_in]);
    }
}

static int answered; /* rank 0 waits for what rank 1 sends */

/* Rank 1: lane 1 sends what it has in TMP and then takes five messages, lane 0 writes TMP when rank
 * 0 has sent those five. With four slots rank 0 waits for the first to be taken. */
static void full_queue(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    uint32_t peer = 1 - call->rank, sends = call->rank == 0;
    b->grid(b, 1, 1);
    uint32_t last = b->lane(b), many = sends ? last : b->lane(b);
    weft_operand_t five = weft_port(b->port(b, many, peer, 0, sends));
    weft_operand_t sixth = weft_port(b->port(b, last, peer, 1, sends));
    weft_operand_t back = weft_port(b->port(b, many, peer, 0, !sends));
    plan_fixture_put(b, many, weft_out(call->rank, 0), weft_in(0, 0), none, 0);
    if (!sends) {
        plan_fixture_put(b, many, weft_tmp(0, 0), weft_in(0, 0), none, 0);
        plan_fixture_put(b, many, back, weft_tmp(0, 0), none, 0);
    } else if (answered) {
        plan_fixture_put(b, many, weft_out(peer, 0), back, none, 0);
    }
    for (uint32_t i = 0; i < 5; i++) {
        plan_fixture_put(b, many, sends ? five : weft_out(peer, 0), sends ? weft_in(0, 0) : five,
                         none, 0);
    }
    plan_fixture_put(b, last, sends ? sixth : weft_tmp(0, 0), sends ? weft_in(0, 0) : sixth, none,
                     0);
    if (sends && !answered) {
        plan_fixture_put(b, many, weft_out(peer, 0), back, none, 0);
    }
    for (uint32_t lane = 0; !sends && lane < 2; lane++) {
        b->bar(b, lane, 3);
    }
}

/* Transports take more messages than a queue has slots: decision 143. */
static void a_full_queue_orders_nothing(void **state)
{
    (void)state;
    for (answered = 0; answered < 2; answered++) {
        weft_plan_t **plans = plan_fixture_write(full_queue, WEFT_ALL_GATHER, 2);
        assert_non_null(plans);
        weft_verify_report_t report = plan_fixture_verify(plans, 2, 4, 1, 0);
        plan_fixture_free(plans, 2);
        assert_int_equal(report.verdict, answered ? WEFT_VERDICT_OK : WEFT_VERDICT_RACE);
        assert_string_equal(report.text, answered
                                             ? ""
                                             : "rank 1 lane 0 pc 0: writes tmp[0] while lane 1 "
                                               "member 0 may still use it");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_queue_orders_nothing),
        cmocka_unit_test(moves_of_a_par_begin_and_complete_together),
        cmocka_unit_test(races_between_lanes_are_found_over_two_passes),
        cmocka_unit_test(order_through_another_rank_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
