/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verifier over the built-in algorithms, and over plans with one known fault each. */
#include <string.h>

#include "core/base/error.h"
#include "core/plan/verify.h"
#include "tests/support/plan_fixture.h"
#include "tests/support/unit.h"

static plan_fixture_t ring, flat;

static int open_both(void **state)
{
    (void)state;
    plan_fixture_open(&ring, WEFT_PLUGIN_DIR, "algo-ring");
    plan_fixture_open(&flat, WEFT_PLUGIN_DIR, "algo-flat");
    return 0;
}

static int close_both(void **state)
{
    (void)state;
    plan_fixture_close(&ring);
    plan_fixture_close(&flat);
    return 0;
}

static void expect_ok(weft_plan_t **plans, weft_coll_t coll, uint32_t n, uint32_t slots,
                      uint32_t slices)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        weft_verify_report_t report = plan_fixture_verify(plans, n, slots, slices, in_place);
        if (report.verdict != WEFT_VERDICT_OK || !report.same_on_all_ranks) {
            fail_msg("%s of %u ranks, S %u L %u in place %d: %s: %s", weft_coll_name(coll), n,
                     slots, slices, in_place, weft_verdict_name(report.verdict), report.text);
        }
        assert_true(report.peak_slots >= 1 && report.peak_slots <= slots);
    }
}

static void sweep(const plan_fixture_t *fixture, weft_coll_t coll, uint32_t n, uint32_t root)
{
    static const uint32_t depths[] = {2, 4, 8};
    weft_plan_t **plans = plan_fixture_emit(fixture, coll, n, root);
    if (plans == NULL) {
        fail_msg("%s", weft_error_record()->text);
    }
    for (size_t d = 0; d < sizeof depths / sizeof *depths; d++) {
        for (uint32_t slices = 1; slices<depths[d]; slices += n> 17 ? 3 : 1) {
            expect_ok(plans, coll, n, depths[d], slices);
        }
    }
    plan_fixture_free(plans, n);
}

static void sweep_roots(const plan_fixture_t *fixture, uint32_t n)
{
    for (weft_coll_t coll = WEFT_ALL_REDUCE; coll < WEFT_BARRIER; coll++) {
        sweep(fixture, coll, n, 0);
        if (coll == WEFT_BROADCAST || coll == WEFT_REDUCE) {
            sweep(fixture, coll, n, 1);
            sweep(fixture, coll, n, n / 2);
            sweep(fixture, coll, n, n - 1);
        }
    }
}

static void every_shipped_plan_is_proved(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 17; n++) {
        sweep_roots(&ring, n);
        sweep_roots(&flat, n);
    }
    for (uint32_t n = 32; n <= 64; n *= 2) {
        sweep_roots(&ring, n);
        sweep_roots(&flat, n);
    }
}

static weft_verify_report_t verify_one(const plan_fixture_t *fixture, weft_coll_t coll, uint32_t n,
                                       uint32_t slots, uint32_t slices)
{
    weft_plan_t **plans = plan_fixture_emit(fixture, coll, n, 0);
    assert_non_null(plans);
    weft_verify_report_t report = plan_fixture_verify(plans, n, slots, slices, 0);
    plan_fixture_free(plans, n);
    return report;
}

static void ring_with_as_many_slices_as_slots_deadlocks(void **state)
{
    (void)state;
    for (uint32_t slots = 1; slots <= 8; slots++) {
        weft_verify_report_t report = verify_one(&ring, WEFT_ALL_REDUCE, 4, slots, slots);
        assert_int_equal(report.pc, 2);
        assert_int_equal(report.verdict, WEFT_VERDICT_DEADLOCK);
        assert_non_null(strstr(report.text, "waits for a free slot to rank 1 channel 0"));
        assert_non_null(strstr(report.text, "4 lanes wait for each other in a ring"));
    }
}

static void more_slices_than_slots_deadlock_in_the_first_move(void **state)
{
    (void)state;
    weft_verify_report_t report = verify_one(&ring, WEFT_ALL_REDUCE, 4, 4, 5);
    assert_int_equal(report.verdict, WEFT_VERDICT_DEADLOCK);
    assert_int_equal(report.pc, 0);
    assert_non_null(strstr(report.text, "(4 of 4 in use)"));
}

static void fingerprint_tells_folding_orders_apart(void **state)
{
    (void)state;
    weft_verify_report_t a = verify_one(&ring, WEFT_ALL_REDUCE, 4, 8, 2);
    weft_verify_report_t b = verify_one(&flat, WEFT_ALL_REDUCE, 4, 8, 2);
    weft_verify_report_t c = verify_one(&ring, WEFT_ALL_REDUCE, 4, 4, 3);
    assert_true(a.fingerprint != b.fingerprint);
    assert_true(a.fingerprint == c.fingerprint);
    assert_false(a.same_for_all_chunks);
    assert_true(b.same_for_all_chunks);
}

static void figures_of_the_ring_are_those_of_the_book(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 16; n++) {
        weft_verify_report_t report = verify_one(&ring, WEFT_ALL_REDUCE, n, 8, 2);
        assert_int_equal(report.critical_moves, 2 * n - 1);
        assert_true(report.critical_chunks == 2.0 * (n - 1));
        assert_int_equal(report.steps, 2ull * 2 * n * (2 * n - 1));
    }
}

static void limit_is_respected(void **state)
{
    (void)state;
    weft_plan_t **plans = plan_fixture_emit(&ring, WEFT_ALL_REDUCE, 8, 0);
    weft_verify_input_t input = {
        .plans = plans, .nranks = 8, .slots = 8, .slices = 1, .limit = 8 * 15 * 2 - 1};
    weft_verify_report_t report;
    assert_int_equal(weft_plan_verify(&input, &report), WEFT_OK);
    assert_int_equal(report.verdict, WEFT_VERDICT_TOO_BIG);
    input.limit++;
    assert_int_equal(weft_plan_verify(&input, &report), WEFT_OK);
    assert_int_equal(report.verdict, WEFT_VERDICT_OK);
    plan_fixture_free(plans, 8);
}

/* Hand-written plans for two ranks. */
typedef struct pair {
    weft_plan_builder_t *b;
    uint32_t lane;
    weft_operand_t to, from;
} pair_t;

static pair_t pair_init(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    pair_t pair = {.b = b};
    b->grid(b, 1, 1);
    pair.lane = b->lane(b);
    pair.to = weft_port(b->port(b, pair.lane, 1 - call->rank, 0, 1));
    pair.from = weft_port(b->port(b, pair.lane, 1 - call->rank, 0, 0));
    return pair;
}

static uint32_t put(const pair_t *pair, uint32_t lane, weft_operand_t dst, weft_operand_t a,
                    weft_operand_t b, uint32_t flags)
{
    return plan_fixture_put(pair->b, lane, dst, a, b, flags);
}

static const weft_operand_t none = {WEFT_OPERAND_NONE, 0, 0};

static void unpaired_exchange(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    pair_t p = pair_init(call, b);
    put(&p, p.lane, p.to, weft_in(0, 0), none, 0);
    put(&p, p.lane, weft_out(0, 0), p.from, weft_in(0, 0), WEFT_MOVE_FINAL);
}

static void paired_exchange(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    pair_t p = pair_init(call, b);
    b->par(b, p.lane, 2);
    put(&p, p.lane, p.to, weft_in(0, 0), none, 0);
    put(&p, p.lane, weft_out(0, 0), p.from, weft_in(0, 0), WEFT_MOVE_FINAL);
}

static void exchange_needs_par_when_slices_exceed_slots(void **state)
{
    (void)state;
    for (uint32_t slots = 1; slots <= 8; slots *= 2) {
        for (uint32_t slices = 1; slices <= 16; slices++) {
            weft_verdict_t apart =
                plan_fixture_verify_written(unpaired_exchange, slots, slices, 0).verdict;
            assert_int_equal(apart, slices > slots ? WEFT_VERDICT_DEADLOCK : WEFT_VERDICT_OK);
            assert_int_equal(plan_fixture_verify_written(paired_exchange, slots, slices, 0).verdict,
                             WEFT_VERDICT_OK);
        }
    }
}

static void members_of_a_par_are_not_ordered(void **state)
{
    (void)state;
    weft_verify_report_t report = plan_fixture_verify_written(paired_exchange, 4, 2, 1);
    assert_int_equal(report.verdict, WEFT_VERDICT_RACE);
    assert_non_null(strstr(report.text, "out[0]"));
}

static void no_final(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    pair_t p = pair_init(call, b);
    put(&p, p.lane, p.to, weft_in(0, 0), none, 0);
    put(&p, p.lane, weft_out(0, 0), p.from, weft_in(0, 0), 0);
}

static void own_twice(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    pair_t p = pair_init(call, b);
    put(&p, p.lane, p.to, weft_in(0, 0), none, 0);
    weft_move_t move = {.dst = {weft_out(0, 0)},
                        .src = {weft_in(0, 0), p.from, weft_in(0, 0)},
                        .ndst = 1,
                        .nsrc = 3,
                        .flags = WEFT_MOVE_FINAL};
    b->move(b, p.lane, &move);
}

static void peer_missing(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    pair_t p = pair_init(call, b);
    put(&p, p.lane, p.to, weft_in(0, 0), none, 0);
    put(&p, p.lane, weft_tmp(0, 0), p.from, none, 0);
    put(&p, p.lane, weft_out(0, 0), weft_in(0, 0), none, WEFT_MOVE_FINAL);
}

/* Receives the peer's data and adds its own in their place. */
static void own_for_peer(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    pair_t p = pair_init(call, b);
    put(&p, p.lane, p.to, weft_in(0, 0), none, 0);
    put(&p, p.lane, weft_tmp(0, 0), p.from, none, 0);
    put(&p, p.lane, weft_out(0, 0), weft_in(0, 0), weft_in(0, 0), WEFT_MOVE_FINAL);
}

static void never_written(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    pair_t p = pair_init(call, b);
    put(&p, p.lane, p.to, weft_in(0, 0), none, 0);
    put(&p, p.lane, weft_tmp(0, 0), p.from, weft_in(0, 0), WEFT_MOVE_FINAL);
}

static void garbage_read(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    pair_t p = pair_init(call, b);
    put(&p, p.lane, p.to, weft_tmp(0, 0), none, 0);
    put(&p, p.lane, weft_out(0, 0), p.from, weft_in(0, 0), WEFT_MOVE_FINAL);
}

static void left_over(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    pair_t p = pair_init(call, b);
    put(&p, p.lane, p.to, weft_in(0, 0), none, 0);
    put(&p, p.lane, p.to, weft_in(0, 0), none, 0);
    put(&p, p.lane, weft_out(0, 0), p.from, weft_in(0, 0), WEFT_MOVE_FINAL);
}

static void one_end(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    pair_t p = pair_init(call, b);
    put(&p, p.lane, p.to, weft_in(0, 0), none, 0);
    put(&p, p.lane, weft_out(0, 0), p.from, weft_in(0, 0), WEFT_MOVE_FINAL);
    if (call->rank == 1) {
        b->port(b, p.lane, 0, 7, 1);
    }
}

/* Both ends of a port say of which way it is a hop, or neither. */
static void two_ways(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    pair_t p = pair_init(call, b);
    weft_plan_port_along(b, p.to.index, 0, 0);
    weft_plan_port_along(b, p.from.index, call->rank, call->rank == 1 ? WEFT_PLAN_WAY_BACK : 0);
    put(&p, p.lane, p.to, weft_in(0, 0), none, 0);
    put(&p, p.lane, weft_out(0, 0), p.from, weft_in(0, 0), WEFT_MOVE_FINAL);
}

static void one_way(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    pair_t p = pair_init(call, b);
    weft_plan_port_along(b, call->rank == 0 ? p.to.index : p.from.index, 2, WEFT_PLAN_WAY_CHAIN);
    if (call->rank == 1) {
        weft_plan_port_along(b, p.to.index, 2, WEFT_PLAN_WAY_CHAIN);
    }
    put(&p, p.lane, p.to, weft_in(0, 0), none, 0);
    put(&p, p.lane, weft_out(0, 0), p.from, weft_in(0, 0), WEFT_MOVE_FINAL);
}

static void clobbered_input(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    pair_t p = pair_init(call, b);
    put(&p, p.lane, p.to, weft_in(0, 0), none, 0);
    put(&p, p.lane, weft_out(0, 0), p.from, none, 0);
    put(&p, p.lane, weft_out(0, 0), weft_out(0, 0), weft_in(0, 0), WEFT_MOVE_FINAL);
}

static void different_piece(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    b->grid(b, 2, 0);
    uint32_t lane = b->lane(b);
    pair_t p = {.b = b, .lane = lane};
    p.to = weft_port(b->port(b, lane, 1 - call->rank, 0, 1));
    p.from = weft_port(b->port(b, lane, 1 - call->rank, 0, 0));
    weft_move_t send = {.dst = {p.to}, .src = {weft_in(call->rank, 0)}, .ndst = 1, .nsrc = 1};
    b->move(b, lane, &send);
    weft_move_t move = {.dst = {weft_out(call->rank, 0)},
                        .src = {p.from, weft_in(call->rank, 0)},
                        .ndst = 1,
                        .nsrc = 2,
                        .flags = WEFT_MOVE_FINAL};
    b->move(b, lane, &move);
}

static void each_fault_gets_its_verdict_and_words(void **state)
{
    (void)state;
    static const struct {
        plan_fixture_fn_t write;
        weft_verdict_t verdict;
        int in_place;
        const char *words;
    } cases[] = {
        {no_final, WEFT_VERDICT_WRONG, 0, "no MOVE is FINAL"},
        {own_twice, WEFT_VERDICT_WRONG, 0, "contains rank"},
        {peer_missing, WEFT_VERDICT_WRONG, 0, "is missing in it"},
        {own_for_peer, WEFT_VERDICT_WRONG, 0, "missing in it: ranks 0; twice: ranks 1"},
        {never_written, WEFT_VERDICT_WRONG, 0, "pc 2: out[0] slice 0 is never written"},
        {garbage_read, WEFT_VERDICT_UNWRITTEN, 0, "reads tmp[0]"},
        {left_over, WEFT_VERDICT_UNMATCHED, 0, "takes a slice of pass 0 in pass 1"},
        {one_end, WEFT_VERDICT_UNMATCHED, 0, "sends to rank 0 channel 7"},
        {two_ways, WEFT_VERDICT_MALFORMED, 0,
         "port 0 to rank 1 channel 0 goes along ring 0, and at its other end along back ring 1"},
        {one_way, WEFT_VERDICT_MALFORMED, 0,
         "port 0 to rank 0 channel 0 goes along chain 2, and at its other end along no way"},
        {clobbered_input, WEFT_VERDICT_OK, 0, ""},
        {clobbered_input, WEFT_VERDICT_WRONG, 1, "out[0]"},
        {different_piece, WEFT_VERDICT_MALFORMED, 0, "expects piece"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_verify_report_t report =
            plan_fixture_verify_written(cases[i].write, 4, 1, cases[i].in_place);
        if (report.verdict != cases[i].verdict || strstr(report.text, cases[i].words) == NULL) {
            fail_msg("case %zu: %s: %s", i, weft_verdict_name(report.verdict), report.text);
        }
    }
}

/* 2 to the power of 61 is 1 modulo 2^61−1: so many copies of a value are the value to a field of
 * that size. */
static void double_61_times(const pair_t *p)
{
    p->b->loop(p->b, p->lane, 61);
    weft_move_t move = {.dst = {weft_tmp(0, 0)},
                        .src = {weft_tmp(0, 0), weft_tmp(0, 0)},
                        .like = weft_in(0, 0),
                        .ndst = 1,
                        .nsrc = 2};
    p->b->move(p->b, p->lane, &move);
    p->b->end(p->b, p->lane);
}

static void sum_doubled_61_times(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    pair_t p = pair_init(call, b);
    put(&p, p.lane, p.to, weft_in(0, 0), none, 0);
    put(&p, p.lane, weft_tmp(0, 0), p.from, weft_in(0, 0), 0);
    double_61_times(&p);
    put(&p, p.lane, weft_out(0, 0), weft_tmp(0, 0), none, WEFT_MOVE_FINAL);
}

static void copy_doubled_61_times(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    pair_t p = pair_init(call, b);
    put(&p, p.lane, p.to, weft_in(0, 0), none, 0);
    put(&p, p.lane, weft_tmp(0, 0), p.from, none, 0);
    double_61_times(&p);
    put(&p, p.lane, weft_out(1 - call->rank, 0), weft_tmp(0, 0), none, 0);
    put(&p, p.lane, weft_out(call->rank, 0), weft_in(0, 0), none, 0);
}

static void contributions_are_counted_whatever_their_sum(void **state)
{
    static const struct {
        plan_fixture_fn_t write;
        weft_coll_t coll;
        const char *words;
    } cases[] = {
        {sum_doubled_61_times, WEFT_ALL_REDUCE, "more than twice in it: ranks 0, 1"},
        {copy_doubled_61_times, WEFT_ALL_GATHER, "is a fold"},
    };
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        weft_plan_t **plans = plan_fixture_write(cases[i].write, cases[i].coll, 2);
        assert_non_null(plans);
        weft_verify_report_t report = plan_fixture_verify(plans, 2, 4, 2, 0);
        if (report.verdict != WEFT_VERDICT_WRONG || strstr(report.text, cases[i].words) == NULL) {
            fail_msg("case %zu: %s: %s", i, weft_verdict_name(report.verdict), report.text);
        }
        plan_fixture_free(plans, 2);
    }
}

/* Rank 0 divides what it has folded; rank 1 stores the fold, which rounds it, and divides that. */
static void divided_apart(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    pair_t p = pair_init(call, b);
    put(&p, p.lane, p.to, weft_in(0, 0), none, 0);
    if (call->rank == 0) {
        put(&p, p.lane, weft_out(0, 0), weft_in(0, 0), p.from, WEFT_MOVE_FINAL);
    } else {
        put(&p, p.lane, weft_tmp(0, 0), p.from, weft_in(0, 0), 0);
        put(&p, p.lane, weft_out(0, 0), weft_tmp(0, 0), none, WEFT_MOVE_FINAL);
    }
}

static void a_quotient_of_a_rounded_sum_has_other_bits(void **state)
{
    (void)state;
    weft_verify_report_t report = plan_fixture_verify_written(divided_apart, 4, 1, 0);
    assert_int_equal(report.verdict, WEFT_VERDICT_OK);
    assert_false(report.same_on_all_ranks);
}

/* An all-gather that puts the blocks of the two ranks in each other's place. */
static void swapped_blocks(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    pair_t p = pair_init(call, b);
    put(&p, p.lane, p.to, weft_in(0, 0), none, 0);
    put(&p, p.lane, weft_out(call->rank, 0), p.from, none, 0);
    put(&p, p.lane, weft_out(1 - call->rank, 0), weft_in(0, 0), none, 0);
}

/* More scratch than all steps of the proof, of which the MOVEs use the last chunk. */
#define MUCH_SCRATCH 100000u

static pair_t begin_with_much_scratch(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    b->grid(b, 1, MUCH_SCRATCH);
    pair_t pair = {.b = b, .lane = b->lane(b)};
    pair.to = weft_port(b->port(b, pair.lane, 1 - call->rank, 0, 1));
    pair.from = weft_port(b->port(b, pair.lane, 1 - call->rank, 0, 0));
    put(&pair, pair.lane, pair.to, weft_in(0, 0), none, 0);
    put(&pair, pair.lane, weft_tmp(MUCH_SCRATCH - 1, 0), pair.from, none, 0);
    return pair;
}

static void peer_missing_beside_much_scratch(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    pair_t p = begin_with_much_scratch(call, b);
    put(&p, p.lane, weft_out(0, 0), weft_in(0, 0), none, WEFT_MOVE_FINAL);
}

static void right_beside_much_scratch(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    pair_t p = begin_with_much_scratch(call, b);
    put(&p, p.lane, weft_out(0, 0), weft_tmp(MUCH_SCRATCH - 1, 0), weft_in(0, 0), WEFT_MOVE_FINAL);
}

static void many_barriers(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    pair_t p = pair_init(call, b);
    b->loop(b, p.lane, UINT32_MAX);
    b->bar(b, p.lane, 1);
    b->end(b, p.lane);
    put(&p, p.lane, p.to, weft_in(0, 0), none, 0);
    put(&p, p.lane, weft_out(0, 0), p.from, weft_in(0, 0), WEFT_MOVE_FINAL);
}

static void barriers_count_as_steps(void **state)
{
    (void)state;
    weft_plan_t **plans = plan_fixture_write(many_barriers, WEFT_ALL_REDUCE, 2);
    weft_verify_input_t input = {
        .plans = plans, .nranks = 2, .slots = 4, .slices = 2, .limit = UINT64_C(4) * UINT32_MAX};
    weft_verify_report_t reports[2];
    assert_non_null(plans);
    assert_int_equal(weft_plan_prove(&input, reports), WEFT_OK);
    assert_int_equal(reports[0].verdict, WEFT_VERDICT_TOO_BIG);
    assert_true(reports[0].steps > input.limit);
    plan_fixture_free(plans, 2);
}

static void a_plan_of_few_steps_is_proved_whatever_scratch_it_asks_for(void **state)
{
    (void)state;
    plan_fixture_fn_t writes[] = {peer_missing_beside_much_scratch, right_beside_much_scratch};
    weft_verdict_t verdicts[] = {WEFT_VERDICT_WRONG, WEFT_VERDICT_OK};
    for (size_t i = 0; i < 2; i++) {
        weft_plan_t **plans = plan_fixture_write(writes[i], WEFT_ALL_REDUCE, 2);
        weft_verify_input_t input = {
            .plans = plans, .nranks = 2, .slots = 4, .slices = 2, .limit = 2 * 3 * 2 * 2};
        weft_verify_report_t reports[2];
        assert_non_null(plans);
        assert_int_equal(weft_plan_prove(&input, reports), WEFT_OK);
        assert_int_equal(reports[0].verdict, verdicts[i]);
        assert_int_equal(reports[1].verdict, verdicts[i]);
        plan_fixture_free(plans, 2);
    }
}

static void a_wrong_copy_says_what_is_there(void **state)
{
    (void)state;
    weft_plan_t **plans = plan_fixture_write(swapped_blocks, WEFT_ALL_GATHER, 2);
    assert_non_null(plans);
    weft_verify_report_t report = plan_fixture_verify(plans, 2, 4, 1, 0);
    plan_fixture_free(plans, 2);
    assert_int_equal(report.verdict, WEFT_VERDICT_WRONG);
    assert_non_null(strstr(report.text, "it is in[0] of rank 1, not in[0] of rank 0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shipped_plan_is_proved),
        cmocka_unit_test(ring_with_as_many_slices_as_slots_deadlocks),
        cmocka_unit_test(more_slices_than_slots_deadlock_in_the_first_move),
        cmocka_unit_test(fingerprint_tells_folding_orders_apart),
        cmocka_unit_test(figures_of_the_ring_are_those_of_the_book),
        cmocka_unit_test(limit_is_respected),
        cmocka_unit_test(exchange_needs_par_when_slices_exceed_slots),
        cmocka_unit_test(members_of_a_par_are_not_ordered),
        cmocka_unit_test(contributions_are_counted_whatever_their_sum),
        cmocka_unit_test(a_quotient_of_a_rounded_sum_has_other_bits),
        cmocka_unit_test(each_fault_gets_its_verdict_and_words),
        cmocka_unit_test(barriers_count_as_steps),
        cmocka_unit_test(a_plan_of_few_steps_is_proved_whatever_scratch_it_asks_for),
        cmocka_unit_test(a_wrong_copy_says_what_is_there),
    };
    return cmocka_run_group_tests(tests, open_both, close_both);
}
