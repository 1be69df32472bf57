/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packed MOVEs: one message for the same slice of several chunks. Are they proved as what they are,
 * and are their mistakes named? */
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/plan/classes.h"
#include "core/plan/dot.h"
#include "core/plan/plan_parse.h"
#include "core/plan/plan_print.h"
#include "core/plan/stable.h"
#include "core/plan/verify.h"
#include "tests/support/plan_fixture.h"
#include "tests/support/plan_reference.h"
#include "tests/support/unit.h"

#define RANKS 8

/* How the ranks of an all-gather by recursive doubling write their exchanges; the culprit, rank 1,
 * writes what it takes in the last one with other figures. */
typedef struct style {
    uint32_t pack; /* 1: a LOOP of plain MOVEs */
    int32_t takes; /* stride of what the culprit takes */
    uint32_t count, flags, shift;
} style_t;

static const style_t right = {.pack = 4, .takes = 1, .count = 4, .flags = WEFT_MOVE_PACKED};
static style_t style;

static void exchange(weft_plan_builder_t *b, uint32_t lane, const weft_move_t pair[2],
                     uint32_t times)
{
    if (times > 1) {
        b->loop(b, lane, times);
    }
    b->par(b, lane, 2);
    b->move(b, lane, &pair[0]);
    b->move(b, lane, &pair[1]);
    if (times > 1) {
        b->end(b, lane);
    }
}

static void write_doubling(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    uint32_t r = call->rank;
    b->grid(b, 1, 0);
    uint32_t lane = b->lane(b);
    weft_move_t own = {.dst = {weft_out(r, 0)}, .src = {weft_in(0, 0)}, .ndst = 1, .nsrc = 1};
    b->move(b, lane, &own);
    for (uint32_t d = 1; d < RANKS; d *= 2) {
        uint32_t mine = r / d * d, theirs = mine ^ d, pack = style.pack < d ? style.pack : d;
        weft_move_t pair[2] = {
            {.ndst = 1, .nsrc = 1, .cnt = pack, .flags = WEFT_MOVE_PACKED},
            {.ndst = 1, .nsrc = 1, .cnt = pack, .flags = WEFT_MOVE_PACKED},
        };
        pair[0].dst[0] = weft_port(b->port(b, lane, r ^ d, 0, 1));
        pair[1].src[0] = weft_port(b->port(b, lane, r ^ d, 0, 0));
        pair[0].src[0] = weft_out(mine, 1);
        pair[1].dst[0] = weft_out(theirs, 1);
        if (r == 1 && d == RANKS / 2) {
            pair[1].cnt = style.count;
            pair[1].flags = style.flags;
            pair[1].dst[0] = weft_out((theirs + style.shift) % RANKS, style.takes);
        }
        exchange(b, lane, pair, d / pack);
    }
}

static weft_verify_report_t judge(const style_t *of, uint32_t slots, uint32_t slices)
{
    style = *of;
    weft_plan_t **plans = plan_fixture_write(write_doubling, WEFT_ALL_GATHER, RANKS);
    assert_non_null(plans);
    weft_verify_report_t report = plan_fixture_verify(plans, RANKS, slots, slices, 0);
    plan_fixture_free(plans, RANKS);
    return report;
}

static style_t pack_of(uint32_t pack)
{
    style_t of = right;
    of.pack = of.count = pack;
    return of;
}

static void a_packed_move_is_proved_as_the_loop_that_it_stands_for(void **state)
{
    (void)state;
    style_t plain = pack_of(1);
    weft_verify_report_t one = judge(&plain, 4, 2);
    assert_int_equal(one.verdict, WEFT_VERDICT_OK);
    assert_int_equal(one.vector, WEFT_VECTOR_BLOCKS);
    for (uint32_t pack = 2; pack <= 4; pack *= 2) {
        for (uint32_t slots = 1; slots <= 4; slots++) {
            for (uint32_t slices = 1; slices <= 5; slices++) {
                style_t of = pack_of(pack);
                weft_verify_report_t report = judge(&of, slots, slices);
                assert_int_equal(report.verdict, WEFT_VERDICT_OK);
                assert_int_equal(report.fingerprint, one.fingerprint);
                assert_int_equal(report.vector, WEFT_VECTOR_NONE);
                assert_true(report.peak_slots <= slots);
            }
        }
    }
}

static void packed_moves_run_to_the_right_result(void **state)
{
    (void)state;
    for (uint32_t pack = 1; pack <= 4; pack *= 2) {
        style = pack_of(pack);
        weft_plan_t **plans = plan_fixture_write(write_doubling, WEFT_ALL_GATHER, RANKS);
        for (uint64_t seed = 1; seed <= 20; seed++) {
            assert_int_equal(plan_reference_run(plans, RANKS, 2, 3, seed), PLAN_RIGHT);
        }
        plan_fixture_free(plans, RANKS);
    }
}

static void expect_fault(const style_t *of, weft_verdict_t verdict, const char *words)
{
    weft_verify_report_t report = judge(of, 4, 2);
    if (report.verdict != verdict || strstr(report.text, words) == NULL) {
        fail_msg("found %s: %s; expected %s: %s", weft_verdict_name(report.verdict), report.text,
                 weft_verdict_name(verdict), words);
    }
}

static void a_wrong_stride_count_or_order_is_found(void **state)
{
    style_t of = right;
    (void)state;
    of.takes = -1; /* chunks 4, 3 … while the other member sends 0 to 3 */
    expect_fault(&of, WEFT_VERDICT_RACE, "rank 1 lane 0 pc 9: writes out[3]");
    of.shift = 3; /* chunks 7, 6, 5, 4 */
    expect_fault(&of, WEFT_VERDICT_WRONG,
                 "rank 1 lane 0 pc 9: out[4] slice 0 is wrong: it is in[0] of rank 7");
    of = right;
    of.takes = 2;
    expect_fault(&of, WEFT_VERDICT_RACE, "rank 1 lane 0 pc 9: writes out[0]");
    of = right;
    of.count = 3;
    expect_fault(&of, WEFT_VERDICT_MALFORMED,
                 "rank 1 lane 0 pc 9: expects 3 chunks in a message from rank 5 channel 0, which "
                 "packed 4");
    of = right;
    of.flags = 0;
    expect_fault(&of, WEFT_VERDICT_MALFORMED, "expects 1 chunks in a message");
    of = pack_of(1);
    of.count = 4;
    expect_fault(&of, WEFT_VERDICT_MALFORMED, "expects 4 chunks in a message");
}

/* Two chunks a MOVE: neighbours, or the same piece of both blocks if they are packed. */
static void send_then_take(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    uint32_t r = call->rank, first = 4 * r, other = 4 * (1 - r);
    b->grid(b, 4, 0);
    uint32_t lane = b->lane(b);
    weft_move_t move = {.ndst = 1, .nsrc = 1, .cnt = 2, .flags = style.flags};
    weft_move_t own = {
        .dst = {weft_out(first, 0)}, .src = {weft_in(0, 0)}, .ndst = 1, .nsrc = 1, .cnt = 4};
    b->move(b, lane, &own);
    weft_operand_t to = weft_port(b->port(b, lane, 1 - r, 0, 1));
    weft_operand_t from = weft_port(b->port(b, lane, 1 - r, 0, 0));
    for (uint32_t i = 0; i < 4; i++) {
        move.dst[0] = to;
        move.src[0] = weft_out(first + i, 4);
        move.cnt = 2;
        b->move(b, lane, &move);
        move.dst[0] = weft_out(other + i, 4);
        move.src[0] = from;
        b->move(b, lane, &move);
    }
}

static void chunks_of_a_message_are_the_same_piece(void **state)
{
    (void)state;
    style.flags = 0;
    weft_plan_t **plans = plan_fixture_write(send_then_take, WEFT_ALL_GATHER, 2);
    assert_non_null(plans);
    plan_fixture_free(plans, 2);
    style.flags = WEFT_MOVE_PACKED;
    plans = plan_fixture_write(send_then_take, WEFT_ALL_GATHER, 2);
    assert_non_null(plans);
    plan_fixture_free(plans, 2);
}

static void write_first(const weft_algo_call_t *call, weft_plan_builder_t *b, const weft_move_t *of,
                        uint32_t k, uint32_t times)
{
    weft_move_t move = *of;
    b->grid(b, k, 0);
    uint32_t lane = b->lane(b);
    move.dst[0] = weft_port(b->port(b, lane, 1 - call->rank, 0, 1));
    move.ndst = move.nsrc = 1;
    move.flags = WEFT_MOVE_PACKED;
    b->loop(b, lane, times);
    b->move(b, lane, &move);
    b->end(b, lane);
}

static void write_pieces(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    weft_move_t move = {.src = {weft_out(0, 2)}, .cnt = 2};
    write_first(call, b, &move, 4, 1);
}

static void write_many(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    weft_move_t move = {.src = {weft_out(0, 0)}, .cnt = WEFT_PACK_MAX + 1};
    write_first(call, b, &move, 1000, 1);
}

static void write_long(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    weft_move_t move = {.src = {weft_out(0, 1)}, .cnt = 2};
    write_first(call, b, &move, 1, UINT32_MAX);
}

static void write_more(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    weft_move_t move = {.src = {weft_out(0, 1)}, .cnt = 3};
    write_first(call, b, &move, 1, 1);
}

static void malformed_ones_are_refused_with_words(void **state)
{
    static const struct {
        plan_fixture_fn_t write;
        const char *words;
    } faults[] = {
        {write_pieces, "packs out[0+2]: different pieces of 4"},
        {write_many, "packs 257 chunks, at most 256 are allowed"},
        {write_long, "packs 2 chunks in a LOOP of 4294967295 iterations"},
        {write_more, "count 3, but out has 2 chunks"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        assert_null(plan_fixture_write(faults[i].write, WEFT_ALL_GATHER, 2));
        assert_says(weft_error_record()->text, faults[i].words);
    }
}

static bool waits;

/* Lane 0 takes chunks 0 and 2 of TMP in a message, lane 1 stores them. */
static void two_lanes(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    b->grid(b, 1, 4);
    uint32_t get = b->lane(b);
    weft_move_t move = {.ndst = 1, .nsrc = 1, .cnt = 2, .flags = WEFT_MOVE_PACKED};
    if (call->rank == 0) {
        move.dst[0] = weft_port(b->port(b, get, 1, 0, 1));
        move.src[0] = weft_in(0, 1);
        b->move(b, get, &move);
        weft_move_t own = {.dst = {weft_out(0, 0)}, .src = {weft_in(0, 0)}, .ndst = 1, .nsrc = 1};
        b->move(b, get, &own);
        return;
    }
    uint32_t keep = b->lane(b);
    move.src[0] = weft_port(b->port(b, get, 0, 0, 0));
    move.dst[0] = weft_tmp(0, 2);
    move.like = weft_out(0, 0);
    uint32_t pc = b->move(b, get, &move);
    weft_move_t store = {.dst = {weft_out(0, 0)}, .src = {weft_tmp(2, 0)}, .ndst = 1, .nsrc = 1};
    store.nafter = waits ? 1 : 0;
    store.after[0] = (weft_after_t){get, pc};
    b->move(b, keep, &store);
    b->bar(b, get, 3);
    b->bar(b, keep, 3);
}

static void lanes_that_share_a_chunk_of_a_message_need_an_order(void **state)
{
    (void)state;
    for (int ordered = 0; ordered < 2; ordered++) {
        waits = ordered != 0;
        weft_plan_t **plans = plan_fixture_write(two_lanes, WEFT_SCATTER, 2);
        assert_non_null(plans);
        weft_verify_report_t report = plan_fixture_verify(plans, 2, 2, 1, 0);
        plan_fixture_free(plans, 2);
        if (ordered) {
            assert_int_equal(report.verdict, WEFT_VERDICT_OK);
        } else {
            assert_true(report.verdict == WEFT_VERDICT_RACE ||
                        report.verdict == WEFT_VERDICT_UNWRITTEN);
            assert_non_null(strstr(report.text, "tmp[2]"));
        }
    }
}

/* Members of a PAR: one takes into chunks 1 and 3, the other sends chunk 3. */
static void par_members(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    uint32_t r = call->rank;
    b->grid(b, 1, 4);
    uint32_t lane = b->lane(b);
    weft_move_t fill = {.dst = {weft_tmp(0, 0)}, .src = {weft_in(0, 0)}, .ndst = 1, .nsrc = 1};
    for (uint32_t i = 0; i < 4; i++) {
        fill.dst[0].index = i;
        b->move(b, lane, &fill);
    }
    weft_move_t send = {.ndst = 1, .nsrc = 1, .cnt = 2, .flags = WEFT_MOVE_PACKED};
    send.like = weft_in(0, 0);
    weft_move_t take = send;
    send.dst[0] = weft_port(b->port(b, lane, 1 - r, 0, 1));
    send.src[0] = weft_tmp(0, style.takes);
    take.src[0] = weft_port(b->port(b, lane, 1 - r, 0, 0));
    take.dst[0] = weft_tmp(1, 2);
    b->par(b, lane, 2);
    b->move(b, lane, &send);
    b->move(b, lane, &take);
    weft_move_t sum = {.dst = {weft_out(0, 0)},
                       .src = {weft_tmp(0, 0), weft_tmp(1, 0)},
                       .ndst = 1,
                       .nsrc = 2,
                       .flags = WEFT_MOVE_FINAL};
    b->move(b, lane, &sum);
}

static void members_of_a_par_must_not_share_a_chunk_of_a_message(void **state)
{
    (void)state;
    for (int32_t stride = 2; stride <= 3; stride++) {
        style.takes = stride;
        weft_plan_t **plans = plan_fixture_write(par_members, WEFT_ALL_REDUCE, 2);
        assert_non_null(plans);
        weft_verify_report_t report = plan_fixture_verify(plans, 2, 2, 1, 0);
        plan_fixture_free(plans, 2);
        assert_int_equal(report.verdict, stride == 2 ? WEFT_VERDICT_OK : WEFT_VERDICT_RACE);
    }
}

static void a_message_costs_one_overhead_and_the_bytes_of_all_chunks(void **state)
{
    weft_cost_t cost[2];
    (void)state;
    for (int packed = 0; packed < 2; packed++) {
        style = pack_of(packed ? 4 : 1);
        weft_plan_t **plans = plan_fixture_write(write_doubling, WEFT_ALL_GATHER, RANKS);
        assert_int_equal(weft_plan_cost(plans, RANKS, NULL, 4, &cost[packed]), WEFT_OK);
        plan_fixture_free(plans, RANKS);
        assert_int_equal(cost[packed].packed, packed ? 4 : 1);
        assert_true(cost[packed].steady.edges[0] == 7);
        assert_true(cost[packed].steady.messages[0] == (packed ? 3 : 7));
        assert_true(cost[packed].fill.edges[0] == 7);
        assert_true(cost[packed].fill.messages[0] == (packed ? 3 : 7));
        assert_true(cost[packed].fill.hops[0] == (packed ? 3 : 7));
        assert_int_equal(cost[packed].total_chunks[0], 7 * RANKS);
        assert_int_equal(cost[packed].total_messages[0], (packed ? 3 : 7) * RANKS);
    }
    const weft_cost_model_t model = weft_cost_uniform(1e-5, 1e-9, 0, 1e-6);
    double plain = weft_cost_time(&cost[0], &model, 11 * 1024, 1, 1, 1024);
    double joint = weft_cost_time(&cost[1], &model, 11 * 1024, 1, 1, 1024);
    double saved = 4 * model.level[0].alpha + 10 * 4 * model.level[0].overhead;
    assert_true(plain - joint > 0.999 * saved && plain - joint < 1.001 * saved);
}

static void text_is_read_back(void **state)
{
    (void)state;
    style = right;
    weft_plan_t **plans = plan_fixture_write(write_doubling, WEFT_ALL_GATHER, RANKS);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    weft_plan_print(plans[5], out);
    fclose(out);
    assert_non_null(strstr(text, "move port 4 <- out[4+1] count 4 packed\n"));
    weft_plan_t *again = NULL;
    assert_int_equal(weft_plan_parse(text, &again), WEFT_OK);
    assert_true(weft_plan_hash(again) == weft_plan_hash(plans[5]));
    weft_plan_destroy(again);
    char *packed = strstr(text, " packed");
    memset(packed, ' ', strlen(" packed"));
    assert_int_equal(weft_plan_parse(text, &again), WEFT_OK);
    assert_true(weft_plan_hash(again) != weft_plan_hash(plans[5]));
    weft_plan_destroy(again);
    free(text);
    plan_fixture_free(plans, RANKS);
}

/* A drawing has one arrow for a pair of MOVEs, however many chunks they pack. */
static void a_graph_joins_the_ends_of_a_message(void **state)
{
    (void)state;
    for (uint32_t pack = 1; pack <= 4; pack *= 2) {
        style = pack_of(pack);
        weft_plan_t **plans = plan_fixture_write(write_doubling, WEFT_ALL_GATHER, RANKS);
        char *text = NULL;
        size_t bytes = 0, arrows = 0;
        FILE *out = open_memstream(&text, &bytes);
        weft_plan_print_dot(plans, RANKS, out);
        fclose(out);
        for (const char *at = text; (at = strstr(at, "color=blue")) != NULL; at++) {
            arrows++;
        }
        assert_int_equal(arrows, 3 * RANKS);
        free(text);
        plan_fixture_free(plans, RANKS);
    }
}

/* What a message packs lies in several places: it is copied. Writers count all the same. */
static void packed_moves_are_neither_stable_nor_landings(void **state)
{
    const weft_stable_arithmetic_t arithmetic = {.pre = false};
    weft_plan_landing_t list[8];
    weft_plan_landings_t landings = {.list = list};
    uint8_t marks[16];
    (void)state;
    style = right;
    weft_plan_t **plans = plan_fixture_write(write_doubling, WEFT_ALL_GATHER, RANKS);
    assert_int_equal(weft_plan_stable(plans[5], &arithmetic, marks), WEFT_OK);
    assert_int_equal(plans[5]->nmoves, 7);
    for (uint32_t i = 0; i < 7; i++) {
        weft_plan_view_t move = weft_plan_view(plans[5], i);
        bool sends = move.dst[0].kind == WEFT_OPERAND_PORT;
        assert_int_equal(marks[i] != 0, sends && !weft_plan_packs(&move));
    }
    assert_int_equal(weft_plan_find_landings(plans[5], &arithmetic, &landings), WEFT_OK);
    assert_int_equal(landings.count, 1); /* of the first round, whose messages have one chunk */
    assert_int_equal(landings.list[0].port, 1);
    plan_fixture_free(plans, RANKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packed_move_is_proved_as_the_loop_that_it_stands_for),
        cmocka_unit_test(packed_moves_run_to_the_right_result),
        cmocka_unit_test(a_wrong_stride_count_or_order_is_found),
        cmocka_unit_test(chunks_of_a_message_are_the_same_piece),
        cmocka_unit_test(malformed_ones_are_refused_with_words),
        cmocka_unit_test(lanes_that_share_a_chunk_of_a_message_need_an_order),
        cmocka_unit_test(members_of_a_par_must_not_share_a_chunk_of_a_message),
        cmocka_unit_test(a_message_costs_one_overhead_and_the_bytes_of_all_chunks),
        cmocka_unit_test(text_is_read_back),
        cmocka_unit_test(a_graph_joins_the_ends_of_a_message),
        cmocka_unit_test(packed_moves_are_neither_stable_nor_landings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
