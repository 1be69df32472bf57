/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which MOVEs send memory that stays as it is, for plans written by hand. */
#include "core/plan/stable.h"
#include "tests/support/plan_fixture.h"
#include "tests/support/unit.h"

enum { NONE = 0, APART = WEFT_STABLE_APART, BOTH = WEFT_STABLE_APART | WEFT_STABLE_IN_PLACE };

static weft_operand_t to, from;
static uint32_t lane;

static void begin(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    b->grid(b, 1, 1);
    lane = b->lane(b);
    to = weft_port(b->port(b, lane, 1 - call->rank, 0, 1));
    from = weft_port(b->port(b, lane, 1 - call->rank, 0, 0));
}

static void copy(weft_plan_builder_t *b, weft_operand_t dst, weft_operand_t src)
{
    weft_move_t one = {.dst = {dst}, .src = {src}, .ndst = 1, .nsrc = 1, .like = weft_out(0, 0)};
    b->move(b, lane, &one);
}

/* The first MOVE of rank 0 in a plan of two ranks. */
static uint8_t first_mark(plan_fixture_fn_t write, weft_coll_t coll,
                          const weft_stable_arithmetic_t *arithmetic)
{
    uint8_t marks[8];
    weft_plan_t **plans = plan_fixture_write(write, coll, 2);
    assert_non_null(plans);
    assert_true(plans[0]->nmoves <= 8);
    assert_int_equal(weft_plan_stable(plans[0], arithmetic, marks), WEFT_OK);
    plan_fixture_free(plans, 2);
    return marks[0];
}

static uint8_t mark_of(plan_fixture_fn_t write, weft_coll_t coll)
{
    return first_mark(write, coll, &(weft_stable_arithmetic_t){.pre = 0});
}

static void write_exchange(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    begin(call, b);
    weft_move_t add = {.dst = {weft_out(0, 0)},
                       .src = {from, weft_in(0, 0)},
                       .ndst = 1,
                       .nsrc = 2,
                       .flags = WEFT_MOVE_FINAL};
    copy(b, to, weft_in(0, 0));
    b->move(b, lane, &add);
}

static void input_stays_unless_it_is_also_the_output(void **state)
{
    (void)state;
    assert_int_equal(mark_of(write_exchange, WEFT_ALL_REDUCE), APART);
    assert_int_equal(
        first_mark(write_exchange, WEFT_ALL_REDUCE, &(weft_stable_arithmetic_t){.pre = 1}), NONE);
}

static void write_gather(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    begin(call, b);
    copy(b, to, weft_in(0, 0));
    copy(b, weft_out(call->rank, 0), weft_in(0, 0));
    copy(b, weft_out(1 - call->rank, 0), from);
}

static void a_copy_onto_itself_changes_nothing(void **state)
{
    (void)state;
    assert_int_equal(mark_of(write_gather, WEFT_ALL_GATHER), BOTH);
}

static void write_sum_and_send(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    begin(call, b);
    weft_move_t add = {.dst = {to, weft_out(0, 0)},
                       .src = {from, weft_in(0, 0)},
                       .ndst = 2,
                       .nsrc = 2,
                       .flags = WEFT_MOVE_FINAL};
    b->move(b, lane, &add);
}

static void what_is_sent_and_kept_is_where_it_is_kept(void **state)
{
    (void)state;
    assert_int_equal(mark_of(write_sum_and_send, WEFT_ALL_REDUCE), BOTH);
    assert_int_equal(first_mark(write_sum_and_send, WEFT_ALL_REDUCE,
                                &(weft_stable_arithmetic_t){.pre = 1, .final = 1}),
                     BOTH);
}

static void write_twice(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    begin(call, b);
    weft_move_t both = {.dst = {weft_out(0, 0), to}, .src = {weft_in(0, 0)}, .ndst = 2, .nsrc = 1};
    b->move(b, lane, &both);
    copy(b, weft_out(0, 0), from);
}

static void write_in_turns(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    begin(call, b);
    weft_move_t take = {.dst = {weft_out(0, 1), to}, .src = {from}, .ndst = 2, .nsrc = 1};
    b->loop(b, lane, call->rank == 0 ? 3 : 2);
    b->move(b, lane, &take);
    b->end(b, lane);
}

static void write_both_once(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    begin(call, b);
    weft_move_t take = {.dst = {weft_out(1, 0), to}, .src = {from}, .ndst = 2, .nsrc = 1, .cnt = 2};
    b->move(b, lane, &take);
}

static void output_that_is_written_again_does_not_stay(void **state)
{
    (void)state;
    assert_int_equal(mark_of(write_twice, WEFT_ALL_REDUCE), NONE);
    /* The third turn comes to the first of two chunks again. */
    assert_int_equal(mark_of(write_in_turns, WEFT_ALL_GATHER), NONE);
    assert_int_equal(mark_of(write_both_once, WEFT_ALL_GATHER), BOTH);
}

static void write_scratch(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    begin(call, b);
    copy(b, to, weft_tmp(0, 0));
}

static void scratch_does_not_stay(void **state)
{
    (void)state;
    assert_int_equal(mark_of(write_scratch, WEFT_ALL_REDUCE), NONE);
}

/* Returns how many chunks of rank 0 may be written by their senders, and the first of them. */
static uint32_t landings(plan_fixture_fn_t write, weft_coll_t coll,
                         const weft_stable_arithmetic_t *arithmetic, weft_plan_landing_t *first)
{
    weft_plan_landing_t list[8];
    weft_plan_landings_t found = {.list = list};
    weft_plan_t **plans = plan_fixture_write(write, coll, 2);
    assert_non_null(plans);
    assert_true(plans[0]->nports <= 8);
    assert_int_equal(weft_plan_find_landings(plans[0], arithmetic, &found), WEFT_OK);
    *first = found.count > 0 ? list[0] : (weft_plan_landing_t){.port = UINT32_MAX};
    plan_fixture_free(plans, 2);
    return found.count;
}

/* Both ranks exchange two chunks of IN, sum one each, and give the sum to each other. */
static void write_direct(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    b->grid(b, 2, 0);
    lane = b->lane(b);
    to = weft_port(b->port(b, lane, 1 - call->rank, 0, 1));
    from = weft_port(b->port(b, lane, 1 - call->rank, 0, 0));
    weft_move_t give = {.dst = {to}, .src = {weft_in(1 - call->rank, 0)}, .ndst = 1, .nsrc = 1};
    weft_move_t sum = {.dst = {weft_out(call->rank, 0), to},
                       .src = {from, weft_in(call->rank, 0)},
                       .ndst = 2,
                       .nsrc = 2,
                       .flags = WEFT_MOVE_FINAL};
    weft_move_t take = {.dst = {weft_out(1 - call->rank, 0)}, .src = {from}, .ndst = 1, .nsrc = 1};
    b->move(b, lane, &give);
    b->move(b, lane, &sum);
    b->move(b, lane, &take);
}

static void write_direct_and_again(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    write_direct(call, b);
    weft_move_t again = {.dst = {weft_out(1 - call->rank, 0)},
                         .src = {weft_in(1 - call->rank, 0)},
                         .ndst = 1,
                         .nsrc = 1};
    b->move(b, lane, &again);
}

static void what_is_only_copied_may_be_written_by_its_sender(void **state)
{
    const weft_stable_arithmetic_t plain = {.pre = 0};
    weft_plan_landing_t landing;
    (void)state;
    assert_int_equal(landings(write_direct, WEFT_ALL_REDUCE, &plain, &landing), 1);
    assert_int_equal(landing.port, 1);
    assert_int_equal(landing.ahead, 1); /* behind the chunk that is summed */
    assert_int_equal(landing.chunk, 1);
    assert_int_equal(landings(write_gather, WEFT_ALL_GATHER, &plain, &landing), 1);
    assert_int_equal(landing.ahead, 0);
    /* Sums are made here; chunks that are written again, or change on the way, do not land. */
    assert_int_equal(landings(write_exchange, WEFT_ALL_REDUCE, &plain, &landing), 0);
    assert_int_equal(landings(write_direct_and_again, WEFT_ALL_REDUCE, &plain, &landing), 0);
    assert_int_equal(landings(write_twice, WEFT_ALL_REDUCE, &plain, &landing), 0);
    /* In a loop a MOVE has another chunk each time. */
    assert_int_equal(landings(write_in_turns, WEFT_ALL_GATHER, &plain, &landing), 0);
}

/* The sum is made by the peer from what it was sent; who reads the input as well may come later. */
static void what_was_folded_may_be_written_over(void **state)
{
    (void)state;
    assert_int_equal(mark_of(write_direct, WEFT_ALL_REDUCE), APART | WEFT_STABLE_FOLDED);
    assert_int_equal(mark_of(write_direct_and_again, WEFT_ALL_REDUCE), APART);
    assert_int_equal(
        first_mark(write_direct, WEFT_ALL_REDUCE, &(weft_stable_arithmetic_t){.pre = 1}), NONE);
}

static void write_sent_twice(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    begin(call, b);
    weft_operand_t more = weft_port(b->port(b, lane, 1 - call->rank, 1, 1));
    weft_move_t both = {.dst = {to, more}, .src = {weft_in(0, 0)}, .ndst = 2, .nsrc = 1};
    b->move(b, lane, &both);
    copy(b, weft_out(0, 0), from);
}

static void two_readers_may_be_late(void **state)
{
    (void)state;
    assert_int_equal(mark_of(write_sent_twice, WEFT_ALL_REDUCE), APART);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(input_stays_unless_it_is_also_the_output),
        cmocka_unit_test(a_copy_onto_itself_changes_nothing),
        cmocka_unit_test(what_is_sent_and_kept_is_where_it_is_kept),
        cmocka_unit_test(output_that_is_written_again_does_not_stay),
        cmocka_unit_test(scratch_does_not_stay),
        cmocka_unit_test(what_is_only_copied_may_be_written_by_its_sender),
        cmocka_unit_test(what_was_folded_may_be_written_over),
        cmocka_unit_test(two_readers_may_be_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
