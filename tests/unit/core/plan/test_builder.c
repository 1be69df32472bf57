/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Mistakes made with the builder come back as words, whatever the emitter does after them. */
#include <string.h>

#include "core/base/error.h"
#include "tests/support/plan_fixture.h"
#include "tests/support/unit.h"

/* A plan of one lane with a port each way, k = 2 and 3 chunks of scratch, and one mistake. */
static weft_plan_builder_t *b;
static weft_operand_t to, from;
static uint32_t rank;

static uint32_t add(weft_move_t move)
{
    move.ndst = move.ndst == 0 ? 1 : move.ndst;
    move.nsrc = move.nsrc == 0 ? 1 : move.nsrc;
    return b->move(b, 0, &move);
}

static void begin(const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    b = builder;
    rank = call->rank;
    b->grid(b, 2, 3);
    b->lane(b);
    uint32_t peer = (call->rank + 1) % call->nranks;
    to = weft_port(b->port(b, 0, peer, 0, 1));
    from = weft_port(b->port(b, 0, peer, 0, 0));
}

#define MISTAKE(name)                                                                              \
    static void name##_body(void);                                                                 \
    static void name(const weft_algo_call_t *call, weft_plan_builder_t *builder)                   \
    {                                                                                              \
        begin(call, builder);                                                                      \
        name##_body();                                                                             \
    }                                                                                              \
    static void name##_body(void)

MISTAKE(grid_twice)
{
    b->grid(b, 1, 0);
}
MISTAKE(lane_missing)
{
    b->loop(b, 3, 2);
}
MISTAKE(port_of_no_lane)
{
    b->port(b, 5, 1, 0, 1);
}
MISTAKE(end_alone)
{
    b->end(b, 0);
}
MISTAKE(loop_open)
{
    b->loop(b, 0, 2);
    add((weft_move_t){.dst = {weft_out(0, 0)}, .src = {weft_in(0, 0)}});
}
MISTAKE(loop_nested)
{
    b->loop(b, 0, 2);
    b->loop(b, 0, 2);
    b->end(b, 0);
    b->end(b, 0);
}
MISTAKE(loop_of_zero)
{
    b->loop(b, 0, 0);
    b->end(b, 0);
}
MISTAKE(loop_of_nothing)
{
    add((weft_move_t){.dst = {weft_out(0, 0)}, .src = {weft_in(0, 0)}});
    b->loop(b, 0, UINT32_MAX);
    b->end(b, 0);
    add((weft_move_t){.dst = {weft_out(1, 0)}, .src = {weft_in(1, 0)}});
}
MISTAKE(in_written)
{
    add((weft_move_t){.dst = {weft_in(0, 0)}, .src = {from}});
}
MISTAKE(out_of_range)
{
    add((weft_move_t){.dst = {weft_out(2, 0)}, .src = {weft_in(0, 0)}});
}
MISTAKE(tmp_out_of_range)
{
    add((weft_move_t){.dst = {weft_tmp(3, 0)}, .src = {weft_in(0, 0)}});
}
MISTAKE(too_many_sources)
{
    add((weft_move_t){.dst = {weft_out(0, 0)}, .src = {weft_in(0, 0)}, .nsrc = 5});
}
MISTAKE(wrong_direction)
{
    add((weft_move_t){.dst = {from}, .src = {weft_in(0, 0)}});
}
MISTAKE(wrong_direction_of_source)
{
    add((weft_move_t){.dst = {weft_out(0, 0)}, .src = {to}});
}
MISTAKE(foreign_port)
{
    uint32_t lane = b->lane(b);
    weft_move_t move = {.dst = {to}, .src = {weft_in(0, 0)}, .ndst = 1, .nsrc = 1};
    b->move(b, lane, &move);
}
MISTAKE(no_such_port)
{
    add((weft_move_t){.dst = {weft_port(9)}, .src = {weft_in(0, 0)}});
}
MISTAKE(port_stride)
{
    to.stride = 1;
    add((weft_move_t){.dst = {to}, .src = {weft_in(0, 0)}});
}
MISTAKE(pieces_differ)
{
    add((weft_move_t){.dst = {weft_out(1, 0)}, .src = {weft_in(0, 0)}});
}
MISTAKE(strides_differ)
{
    b->loop(b, 0, 2);
    add((weft_move_t){.dst = {weft_out(0, 1)}, .src = {weft_in(0, 0)}});
    b->end(b, 0);
}
MISTAKE(no_like)
{
    add((weft_move_t){.dst = {to}, .src = {weft_tmp(0, 0)}});
}
MISTAKE(like_tmp)
{
    add((weft_move_t){.dst = {to}, .src = {weft_tmp(0, 0)}, .like = weft_tmp(0, 0)});
}
MISTAKE(count_too_large)
{
    add((weft_move_t){.dst = {weft_out(0, 0)}, .src = {weft_in(0, 0)}, .cnt = 3});
}
MISTAKE(unknown_flag)
{
    add((weft_move_t){.dst = {weft_out(0, 0)}, .src = {weft_in(0, 0)}, .flags = 8});
}
MISTAKE(destination_twice)
{
    add((weft_move_t){.dst = {to, to}, .src = {weft_in(0, 0)}, .ndst = 2});
}
MISTAKE(port_read_twice)
{
    add((weft_move_t){.dst = {weft_out(0, 0)}, .src = {from, from}, .nsrc = 2});
}
MISTAKE(after_nothing)
{
    add((weft_move_t){
        .dst = {weft_out(0, 0)}, .src = {weft_in(0, 0)}, .nafter = 1, .after = {{0, 7}}});
}
MISTAKE(after_itself)
{
    add((weft_move_t){
        .dst = {weft_out(0, 0)}, .src = {weft_in(0, 0)}, .nafter = 1, .after = {{0, 0}}});
}
MISTAKE(after_stop)
{
    add((weft_move_t){
        .dst = {weft_out(0, 0)}, .src = {weft_in(0, 0)}, .nafter = 1, .after = {{0, 1}}});
}
MISTAKE(par_too_short)
{
    b->par(b, 0, 2);
    add((weft_move_t){.dst = {weft_out(0, 0)}, .src = {weft_in(0, 0)}});
}
MISTAKE(par_too_wide)
{
    b->par(b, 0, 65);
}
MISTAKE(par_shares_port)
{
    b->par(b, 0, 2);
    add((weft_move_t){.dst = {to}, .src = {weft_in(0, 0)}});
    add((weft_move_t){.dst = {to}, .src = {weft_in(1, 0)}});
}
MISTAKE(bar_of_others)
{
    b->lane(b);
    b->bar(b, 0, 2);
}
MISTAKE(bar_of_nobody)
{
    b->bar(b, 0, 9);
}
MISTAKE(peer_self)
{
    b->port(b, 0, rank, 1, 1);
}
MISTAKE(peer_far)
{
    b->port(b, 0, 77, 1, 1);
}
MISTAKE(port_twice)
{
    b->port(b, 0, (rank + 1) % 2, 0, 1);
}
MISTAKE(lanes_exhausted)
{
    for (int i = 0; i < WEFT_LANE_MAX; i++) {
        b->lane(b);
    }
}
static void no_grid(const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    (void)call;
    builder->lane(builder);
}

static void expect_mistake(plan_fixture_fn_t write, weft_coll_t coll, const char *words)
{
    weft_error_clear(weft_error_record());
    weft_plan_t **plans = plan_fixture_write(write, coll, 2);
    if (plans != NULL || weft_error_record()->status != WEFT_ERR_PLAN ||
        strstr(weft_error_record()->text, words) == NULL) {
        fail_msg("expected \"%s\", got \"%s\"", words, weft_error_record()->text);
    }
}

static void each_mistake_is_named(void **state)
{
    (void)state;
    static const struct {
        plan_fixture_fn_t write;
        const char *words;
    } cases[] = {
        {no_grid, "grid() was never called"},
        {grid_twice, "grid() called twice"},
        {lane_missing, "lane 3, which does not exist"},
        {port_of_no_lane, "lane 5, which does not exist"},
        {end_alone, "lane 0: END without LOOP"},
        {loop_open, "lane 0 pc 0: LOOP without END"},
        {loop_nested, "lane 0: LOOP inside a LOOP"},
        {loop_of_zero, "LOOP of 0 iterations"},
        {loop_of_nothing, "lane 0 pc 1: LOOP of no instruction"},
        {in_written, "writes in[0], which is read only"},
        {out_of_range, "out[2], but out has 2 chunks"},
        {tmp_out_of_range, "tmp[3], but tmp has 3 chunks"},
        {too_many_sources, "5 sources and 1 destinations"},
        {wrong_direction, "port 1 receives and cannot be a destination"},
        {wrong_direction_of_source, "port 0 sends and cannot be a source"},
        {foreign_port, "lane 1 pc 0: port 0 belongs to lane 0"},
        {no_such_port, "port 9, but the plan has 2 ports"},
        {port_stride, "ports have none"},
        {pieces_differ, "are different pieces of 2"},
        {strides_differ, "are different pieces of 2"},
        {no_like, "`like` does not say the length"},
        {like_tmp, "it must be in or out"},
        {count_too_large, "count 3, but out has 2 chunks"},
        {unknown_flag, "unknown flags 0x8"},
        {destination_twice, "named twice as a destination"},
        {port_read_twice, "named twice as a source"},
        {after_nothing, "lane 0 pc 7, which does not exist"},
        {after_itself, "waits for itself"},
        {after_stop, "neither MOVE nor BAR"},
        {par_too_short, "PAR of 2, but only 1 MOVEs follow"},
        {par_too_wide, "PAR of 65"},
        {par_shares_port, "two members use port 0"},
        {bar_of_others, "BAR without lane 0, in which it is"},
        {bar_of_nobody, "BAR of lane 3, but the plan has 1 lane"},
        {peer_self, "leads to that rank itself"},
        {peer_far, "leads to rank 77, there are 0 to 1"},
        {port_twice, "two ports send to rank 1 on channel 0"},
        {lanes_exhausted, "more than 64 lanes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_mistake(cases[i].write, WEFT_ALL_REDUCE, cases[i].words);
    }
}

MISTAKE(reads_input)
{
    add((weft_move_t){.dst = {to}, .src = {weft_in(0, 0)}});
}
MISTAKE(writes_output)
{
    add((weft_move_t){.dst = {weft_out(0, 0)}, .src = {from}});
}
MISTAKE(says_final)
{
    add((weft_move_t){.dst = {weft_out(0, 0)}, .src = {from}, .flags = WEFT_MOVE_FINAL});
}

static void buffers_of_the_root_are_the_roots(void **state)
{
    (void)state;
    expect_mistake(reads_input, WEFT_BROADCAST,
                   "rank 1: lane 0 pc 0: reads in[0], but only root 0");
    expect_mistake(writes_output, WEFT_REDUCE, "rank 1: lane 0 pc 0: uses out[0], but only root 0");
    expect_mistake(says_final, WEFT_ALL_GATHER, "FINAL in a collective that does not reduce");
}

static void growth_keeps_the_instructions(const weft_algo_call_t *call,
                                          weft_plan_builder_t *builder)
{
    begin(call, builder);
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(
            add((weft_move_t){.dst = {weft_out(i % 2, 0)}, .src = {weft_in(i % 2, 0)}}), i);
    }
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(b->port(b, 0, 1 - rank, 1 + i, 1), 2 + i);
    }
}

static void plans_of_any_length_are_kept(void **state)
{
    (void)state;
    weft_plan_t **plans = plan_fixture_write(growth_keeps_the_instructions, WEFT_ALL_REDUCE, 2);
    assert_non_null(plans);
    assert_int_equal(plans[0]->lanes[0].ncode, 101);
    assert_int_equal(plans[0]->lanes[0].code[100].opcode, WEFT_CODE_STOP);
    assert_int_equal(plan_fixture_move(plans[0], 99).dst[0].index, 1);
    assert_int_equal(plan_fixture_move(plans[0], 99).cnt, 1);
    assert_int_equal(plans[0]->ports[101].channel, 100);
    plan_fixture_free(plans, 2);
}

/* It looks at nothing that the builder answers. */
static void goes_on(const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    begin(call, builder);
    for (;;) {
        b->bar(b, 0, 1);
    }
}

static void an_emitter_without_end_is_left(void **state)
{
    (void)state;
    assert_null(plan_fixture_write(goes_on, WEFT_ALL_REDUCE, 2));
    assert_non_null(strstr(weft_error_record()->text, "no end in sight"));
}

static void hash_sees_every_change(void **state)
{
    (void)state;
    weft_plan_t **plans = plan_fixture_write(growth_keeps_the_instructions, WEFT_ALL_REDUCE, 2);
    weft_plan_t *copy = plan_fixture_copy(plans[0]);
    uint64_t hash = weft_plan_hash(plans[0]);
    assert_true(weft_plan_hash(copy) == hash);
    assert_true(weft_plan_hash(plans[1]) != hash);
    weft_move_t move = plan_fixture_move(copy, 50);
    move.src[0].stride = 1;
    plan_fixture_set_move(copy, 50, &move);
    assert_true(weft_plan_hash(copy) != hash);
    move.src[0].stride = 0;
    plan_fixture_set_move(copy, 50, &move);
    copy->ports[7].channel++;
    assert_true(weft_plan_hash(copy) != hash);
    weft_plan_destroy(copy);
    plan_fixture_free(plans, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mistake_is_named),
        cmocka_unit_test(buffers_of_the_root_are_the_roots),
        cmocka_unit_test(plans_of_any_length_are_kept),
        cmocka_unit_test(an_emitter_without_end_is_left),
        cmocka_unit_test(hash_sees_every_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
