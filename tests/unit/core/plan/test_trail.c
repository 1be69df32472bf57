/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A proof that fails says where the wrong value comes from: the MOVE that folded it last, and which
 * ranks are missing in it or in it more than once, however many there are. */
#include <string.h>

#include "core/base/error.h"
#include "core/plan/verify.h"
#include "tests/support/plan_fixture.h"
#include "tests/support/unit.h"

static const weft_operand_t none = {WEFT_OPERAND_NONE, 0, 0};

static void expect(plan_fixture_fn_t write, weft_coll_t coll, uint32_t n, const char *text)
{
    weft_plan_t **plans = plan_fixture_write(write, coll, n);
    if (plans == NULL) {
        fail_msg("%s", weft_error_record()->text);
    }
    weft_verify_report_t report = plan_fixture_verify(plans, n, 4, 1, 0);
    plan_fixture_free(plans, n);
    assert_int_equal(report.verdict, WEFT_VERDICT_WRONG);
    assert_string_equal(report.text, text);
}

/* The ring of three ranks without FINAL at rank 0, which is where chunk 1 is complete. */
static void the_fold_is_named_where_its_value_was_only_forwarded(void **state)
{
    (void)state;
    plan_fixture_t ring;
    plan_fixture_open(&ring, WEFT_PLUGIN_DIR, "algo-ring");
    weft_plan_t **plans = plan_fixture_emit(&ring, WEFT_ALL_REDUCE, 3, 0);
    uint32_t changed = 0;
    for (uint32_t i = 0; i < plans[0]->nmoves; i++) {
        changed += (plans[0]->moves[i].flags & WEFT_MOVE_FINAL) != 0;
        plans[0]->moves[i].flags &= (uint8_t)~WEFT_MOVE_FINAL;
    }
    assert_int_equal(changed, 1);
    weft_verify_report_t report = plan_fixture_verify(plans, 3, 4, 1, 0);
    plan_fixture_free(plans, 3);
    plan_fixture_close(&ring);
    assert_int_equal(report.verdict, WEFT_VERDICT_WRONG);
    assert_int_equal(report.from, WEFT_ORIGIN_FOLDED);
    assert_int_equal(report.rank, 1);
    assert_int_equal(report.pc, 6);
    assert_int_equal(report.origin.rank, 0);
    assert_int_equal(report.origin.lane, 0);
    assert_int_equal(report.origin.pc, 4);
    assert_string_equal(report.text, "rank 1 lane 0 pc 6: out[1] slice 0 is wrong: no MOVE is "
                                     "FINAL; last folded at rank 0 lane 0 pc 4");
}

/* Rank 0 folds what each rank sends; some send nothing, some twice or three times. */
static uint32_t times_of(uint32_t rank)
{
    return rank == 3 || (rank >= 5 && rank <= 8) || rank == 70 ? 0
           : rank == 2                                         ? 2
           : rank == 9 || rank == 10                           ? 3
                                                               : 1;
}

static void uneven(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    b->grid(b, 1, 1);
    uint32_t lane = b->lane(b);
    for (uint32_t i = 0; call->rank != 0 && i < times_of(call->rank); i++) {
        plan_fixture_put(b, lane, weft_port(b->port(b, lane, 0, i, 1)), weft_in(0, 0), none, 0);
    }
    if (call->rank != 0) {
        return;
    }
    plan_fixture_put(b, lane, weft_tmp(0, 0), weft_in(0, 0), none, 0);
    for (uint32_t rank = 1; rank < call->nranks; rank++) {
        for (uint32_t i = 0; i < times_of(rank); i++) {
            plan_fixture_put(b, lane, weft_tmp(0, 0), weft_tmp(0, 0),
                             weft_port(b->port(b, lane, rank, i, 0)), 0);
        }
    }
    plan_fixture_put(b, lane, weft_out(0, 0), weft_tmp(0, 0), none, WEFT_MOVE_FINAL);
}

static void ranks_are_counted_however_many(void **state)
{
    (void)state;
    expect(uneven, WEFT_REDUCE, 3,
           "rank 0 lane 0 pc 4: out[0] slice 0 is wrong: it contains rank 2 twice");
    expect(uneven, WEFT_REDUCE, 80,
           "rank 0 lane 0 pc 79: out[0] slice 0 is wrong: missing in it: ranks 3, 5-8, 70; twice: "
           "ranks 2; more often: ranks 9, 10");
}

/* Even ranks are lost: more than the text has room for. */
static void half(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    b->grid(b, 1, 0);
    uint32_t lane = b->lane(b);
    if (call->rank % 2 == 1) {
        plan_fixture_put(b, lane, weft_port(b->port(b, lane, 0, 0, 1)), weft_in(0, 0), none, 0);
    }
    weft_operand_t sum = weft_in(0, 0);
    for (uint32_t rank = 1; call->rank == 0 && rank < call->nranks; rank += 2) {
        bool last = rank + 2 >= call->nranks;
        plan_fixture_put(b, lane, weft_out(0, 0), sum, weft_port(b->port(b, lane, rank, 0, 0)),
                         last ? WEFT_MOVE_FINAL : 0);
        sum = weft_out(0, 0);
    }
}

static void a_long_list_ends_in_dots(void **state)
{
    (void)state;
    weft_plan_t **plans = plan_fixture_write(half, WEFT_REDUCE, 100);
    assert_non_null(plans);
    weft_verify_report_t report = plan_fixture_verify(plans, 100, 4, 1, 0);
    plan_fixture_free(plans, 100);
    assert_non_null(strstr(report.text, "missing in it: ranks 2, 4, 6, 8, "));
    const char *dots = strstr(report.text, ", …");
    assert_non_null(dots);
    assert_string_equal(dots, ", …");
}

/* Rank 1 completes its own part, rank 0 the sum. */
static void final_twice(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    b->grid(b, 1, 1);
    uint32_t lane = b->lane(b);
    if (call->rank == 1) {
        plan_fixture_put(b, lane, weft_port(b->port(b, lane, 0, 0, 1)), weft_in(0, 0), none,
                         WEFT_MOVE_FINAL);
    } else {
        weft_operand_t from = weft_port(b->port(b, lane, 1, 0, 0));
        plan_fixture_put(b, lane, weft_out(0, 0), from, weft_in(0, 0), WEFT_MOVE_FINAL);
    }
}

/* Each rank adds its chunk 1 to the other's chunk 0, by way of TMP. */
static void mixed(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    b->grid(b, 2, 1);
    uint32_t lane = b->lane(b);
    weft_operand_t to = weft_port(b->port(b, lane, 1 - call->rank, 0, 1));
    weft_operand_t from = weft_port(b->port(b, lane, 1 - call->rank, 0, 0));
    for (uint32_t chunk = 0; chunk < 2; chunk++) {
        weft_move_t give = {.dst = {to}, .src = {weft_in(chunk, 0)}, .ndst = 1, .nsrc = 1};
        weft_move_t keep = {
            .dst = {weft_tmp(0, 0)}, .src = {weft_in(1 - chunk, 0)}, .ndst = 1, .nsrc = 1};
        weft_move_t fold = {.dst = {weft_out(chunk, 0)},
                            .src = {weft_tmp(0, 0), from},
                            .ndst = 1,
                            .nsrc = 2,
                            .flags = WEFT_MOVE_FINAL};
        b->move(b, lane, &give);
        b->move(b, lane, &keep);
        b->move(b, lane, &fold);
    }
}

static void other_mistakes_have_words_of_their_own(void **state)
{
    (void)state;
    expect(final_twice, WEFT_REDUCE, 2,
           "rank 0 lane 0 pc 0: out[0] slice 0 is wrong: a part of it passed 2 FINAL moves");
    expect(mixed, WEFT_ALL_REDUCE, 2,
           "rank 0 lane 0 pc 2: out[0] slice 0 is wrong: it is a fold of different chunks of in");
}

/* A broadcast of two chunks along a chain, in which the root sends the second one twice. */
static void wrong_chunk(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    b->grid(b, 2, 1);
    uint32_t lane = b->lane(b), me = call->rank;
    uint32_t in = me > 0 ? b->port(b, lane, me - 1, 0, 0) : 0;
    uint32_t out = me + 1 < call->nranks ? b->port(b, lane, me + 1, 0, 1) : 0;
    if (me == 0) {
        weft_move_t keep = {.dst = {weft_tmp(0, 0)}, .src = {weft_in(1, 0)}, .ndst = 1, .nsrc = 1};
        b->move(b, lane, &keep);
    }
    for (uint32_t chunk = 0; chunk < 2; chunk++) {
        weft_move_t move = {.dst = {weft_out(chunk, 0)},
                            .src = {me > 0 ? weft_port(in) : weft_in(chunk, 0)},
                            .ndst = 1,
                            .nsrc = 1};
        if (me + 1 < call->nranks && me > 0) {
            move.dst[move.ndst++] = weft_port(out);
        }
        b->move(b, lane, &move);
        weft_move_t give = {.dst = {weft_port(out)},
                            .src = {weft_tmp(0, 0)},
                            .ndst = 1,
                            .nsrc = 1,
                            .like = weft_in(chunk, 0)};
        if (me == 0) {
            b->move(b, lane, &give);
        }
    }
}

static void a_wrong_copy_says_where_it_was_read(void **state)
{
    (void)state;
    weft_plan_t **plans = plan_fixture_write(wrong_chunk, WEFT_BROADCAST, 3);
    if (plans == NULL) {
        fail_msg("%s", weft_error_record()->text);
    }
    weft_verify_report_t report = plan_fixture_verify(plans, 3, 4, 1, 0);
    plan_fixture_free(plans, 3);
    assert_int_equal(report.verdict, WEFT_VERDICT_WRONG);
    assert_int_equal(report.from, WEFT_ORIGIN_READ);
    assert_int_equal(report.origin.rank, 0);
    assert_int_equal(report.origin.pc, 0);
    assert_non_null(strstr(report.text,
                           "it is in[1] of rank 0, not in[0] of rank 0; read at rank 0 "
                           "lane 0 pc 0"));
}

/* Two lanes: the second one writes the result. */
static void second_lane(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    b->grid(b, 1, 0);
    uint32_t give = b->lane(b), get = b->lane(b);
    plan_fixture_put(b, give, weft_port(b->port(b, give, 1 - call->rank, 0, 1)), weft_in(0, 0),
                     none, 0);
    plan_fixture_put(b, get, weft_out(0, 0), weft_port(b->port(b, get, 1 - call->rank, 0, 0)),
                     weft_in(0, 0), 0);
}

static void the_lane_that_wrote_is_named(void **state)
{
    (void)state;
    expect(second_lane, WEFT_ALL_REDUCE, 2,
           "rank 1 lane 1 pc 0: out[0] slice 0 is wrong: no MOVE is FINAL");
}

/* Right apart; in place the second MOVE writes over the input that the third one reads. */
static void clobbered(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    b->grid(b, 1, 0);
    uint32_t lane = b->lane(b);
    weft_operand_t to = weft_port(b->port(b, lane, 1 - call->rank, 0, 1));
    plan_fixture_put(b, lane, to, weft_in(0, 0), none, 0);
    plan_fixture_put(b, lane, weft_out(0, 0), weft_port(b->port(b, lane, 1 - call->rank, 0, 0)),
                     none, 0);
    plan_fixture_put(b, lane, weft_out(0, 0), weft_out(0, 0), weft_in(0, 0), WEFT_MOVE_FINAL);
}

static void what_was_written_over_the_input_is_told_on_request(void **state)
{
    (void)state;
    weft_plan_t **plans = plan_fixture_write(clobbered, WEFT_ALL_REDUCE, 2);
    weft_verify_input_t input = {.plans = plans, .nranks = 2, .slots = 4, .slices = 1};
    weft_verify_report_t reports[2];
    assert_non_null(plans);
    for (int asked = 0; asked < 2; asked++) {
        input.explain_in_place = asked != 0;
        assert_int_equal(weft_plan_prove(&input, reports), WEFT_OK);
        assert_int_equal(reports[0].verdict, WEFT_VERDICT_OK);
        assert_int_equal(reports[1].verdict, WEFT_VERDICT_WRONG);
        assert_int_equal(reports[1].pc, 2);
        assert_int_equal(reports[1].from, asked ? WEFT_ORIGIN_WRITTEN : WEFT_ORIGIN_NONE);
    }
    assert_int_equal(reports[1].origin.rank, reports[1].rank);
    assert_int_equal(reports[1].origin.pc, 1);
    assert_non_null(strstr(reports[1].text, "lane 0 pc 1"));
    plan_fixture_free(plans, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fold_is_named_where_its_value_was_only_forwarded),
        cmocka_unit_test(ranks_are_counted_however_many),
        cmocka_unit_test(a_long_list_ends_in_dots),
        cmocka_unit_test(other_mistakes_have_words_of_their_own),
        cmocka_unit_test(a_wrong_copy_says_where_it_was_read),
        cmocka_unit_test(the_lane_that_wrote_is_named),
        cmocka_unit_test(what_was_written_over_the_input_is_told_on_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
