/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the values say about the order of lanes: a partial sum that is the only place of the rank's
 * own input is sent before the result comes back, and no other read of it is excused with that. */
#include <string.h>

#include "core/plan/verify.c"
#include "tests/support/plan_fixture.h"
#include "tests/support/unit.h"

typedef enum leak {
    LEAK_NONE,
    LEAK_READ_TWICE,  /* another lane reads the partial sum, too */
    LEAK_SENT_BEFORE, /* what is sent is another copy of the input */
    LEAK_TWO_PLACES,  /* … that the same MOVE made */
    LEAK_TWO_PLACES_IN_SCRATCH
} leak_t;

static leak_t leak;

static void move(weft_plan_builder_t *b, uint32_t lane, weft_operand_t dst, weft_operand_t src)
{
    weft_move_t one = {.dst = {dst}, .src = {src}, .ndst = 1, .nsrc = 1, .like = weft_out(0, 0)};
    b->move(b, lane, &one);
}

static void move_two(weft_plan_builder_t *b, uint32_t lane, weft_operand_t first,
                     weft_operand_t second)
{
    weft_move_t two = {.dst = {first, second}, .src = {weft_in(0, 0)}, .ndst = 2, .nsrc = 1};
    b->move(b, lane, &two);
}

/* Rank 0 adds; rank 1 sends its input from OUT in one lane and takes the result there in
 * another. */
static void write_adder(weft_plan_builder_t *b)
{
    uint32_t lane = b->lane(b);
    weft_move_t add = {.dst = {weft_out(0, 0), weft_port(b->port(b, lane, 1, 1, 1))},
                       .src = {weft_in(0, 0), weft_port(b->port(b, lane, 1, 0, 0))},
                       .ndst = 2,
                       .nsrc = 2,
                       .flags = WEFT_MOVE_FINAL};
    b->move(b, lane, &add);
}

static void write_plan(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    b->grid(b, 1, 2);
    if (call->rank == 0) {
        write_adder(b);
        return;
    }
    uint32_t up = b->lane(b), down = b->lane(b), other = b->lane(b);
    weft_operand_t to = weft_port(b->port(b, up, 0, 0, 1));
    weft_operand_t from = weft_port(b->port(b, down, 0, 1, 0));
    if (leak == LEAK_TWO_PLACES) {
        move_two(b, up, weft_out(0, 0), to);
    } else if (leak == LEAK_TWO_PLACES_IN_SCRATCH) {
        move_two(b, up, weft_out(0, 0), weft_tmp(1, 0));
    } else {
        move(b, up, weft_out(0, 0), weft_in(0, 0));
    }
    for (uint32_t lane = 0; lane < 3; lane++) {
        b->bar(b, lane, 7);
    }
    if (leak == LEAK_SENT_BEFORE) {
        move(b, up, to, weft_in(0, 0));
    } else if (leak == LEAK_TWO_PLACES_IN_SCRATCH) {
        move(b, up, to, weft_tmp(1, 0));
    } else if (leak != LEAK_TWO_PLACES) {
        move(b, up, to, weft_out(0, 0));
    }
    if (leak != LEAK_NONE) {
        move(b, other, weft_tmp(0, 0), weft_out(0, 0));
    }
    move(b, down, weft_out(0, 0), from);
    for (uint32_t lane = 0; lane < 3; lane++) {
        b->bar(b, lane, 7);
    }
}

/* What clocks inside ranks alone leave open, and the verdict. */
static uint32_t marked(leak_t how, weft_verify_report_t *report)
{
    leak = how;
    weft_plan_t **plans = plan_fixture_write(write_plan, WEFT_ALL_REDUCE, 2);
    assert_non_null(plans);
    verify_proof_t proof;
    weft_verify_input_t input = {.plans = plans, .nranks = 2, .slots = 2, .slices = 1};
    weft_verify_report_t unused = {.verdict = WEFT_VERDICT_OK};
    assert_int_equal(verify_proof_init(&proof, &input), WEFT_OK);
    *report = unused;
    assert_int_equal(verify_check_shape(&proof, report), WEFT_OK);
    assert_int_equal(verify_judge(&proof, report, &unused), WEFT_OK);
    uint32_t marks = proof.marks[0] | proof.marks[1];
    verify_proof_fini(&proof);
    plan_fixture_free(plans, 2);
    return marks;
}

static void the_only_place_of_the_own_input_is_read_before_the_result_comes(void **state)
{
    (void)state;
    weft_verify_report_t report;
    assert_int_equal(marked(LEAK_NONE, &report), 0);
    assert_int_equal(report.verdict, WEFT_VERDICT_OK);
}

static void other_reads_are_not_excused(void **state)
{
    (void)state;
    for (int how = LEAK_READ_TWICE; how <= LEAK_TWO_PLACES_IN_SCRATCH; how++) {
        weft_verify_report_t report;
        assert_true((marked((leak_t)how, &report) & WEFT_SUSPECT) != 0);
        assert_int_equal(report.verdict, WEFT_VERDICT_RACE);
        assert_int_equal(report.rank, 1);
        assert_non_null(strstr(report.text, "out[0]"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_only_place_of_the_own_input_is_read_before_the_result_comes),
        cmocka_unit_test(other_reads_are_not_excused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
