/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which vector collectives the verifier says a plan serves. */
#include "core/base/error.h"
#include "core/plan/verify.h"
#include "tests/support/plan_fixture.h"
#include "tests/support/unit.h"

static weft_vector_t vector_of(weft_plan_t **plans, uint32_t n)
{
    if (plans == NULL) {
        fail_msg("%s", weft_error_record()->text);
    }
    weft_verify_report_t report = plan_fixture_verify(plans, n, 4, 2, 0);
    if (report.verdict != WEFT_VERDICT_OK) {
        fail_msg("%s", report.text);
    }
    plan_fixture_free(plans, n);
    return report.vector;
}

static weft_vector_t vector_of_written(plan_fixture_fn_t write, weft_coll_t coll, uint32_t n)
{
    return vector_of(plan_fixture_write(write, coll, n), n);
}

static void shipped_plans_keep_to_blocks(void **state)
{
    (void)state;
    static const char *const names[] = {"algo-ring", "algo-flat"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        plan_fixture_t fixture;
        plan_fixture_open(&fixture, WEFT_PLUGIN_DIR, names[i]);
        for (uint32_t n = 2; n <= 11; n++) {
            assert_int_equal(vector_of(plan_fixture_emit(&fixture, WEFT_ALL_GATHER, n, 0), n),
                             WEFT_VECTOR_BLOCKS);
            assert_int_equal(vector_of(plan_fixture_emit(&fixture, WEFT_REDUCE_SCATTER, n, 0), n),
                             WEFT_VECTOR_BLOCKS);
            assert_int_equal(vector_of(plan_fixture_emit(&fixture, WEFT_ALL_REDUCE, n, 0), n),
                             WEFT_VECTOR_NONE);
            assert_int_equal(vector_of(plan_fixture_emit(&fixture, WEFT_BROADCAST, n, 0), n),
                             WEFT_VECTOR_NONE);
        }
        plan_fixture_close(&fixture);
    }
}

static void copy(weft_plan_builder_t *b, uint32_t lane, weft_operand_t dst, weft_operand_t src)
{
    weft_move_t move = {.dst = {dst}, .src = {src}, .ndst = 1, .nsrc = 1};
    b->move(b, lane, &move);
}

static void copy_many(weft_plan_builder_t *b, uint32_t lane, weft_operand_t dst, weft_operand_t src,
                      uint32_t cnt)
{
    weft_move_t move = {.dst = {dst}, .src = {src}, .ndst = 1, .nsrc = 1, .cnt = cnt};
    b->move(b, lane, &move);
}

/* Each pair exchanges its two blocks of k chunks. */
static void exchange_all(const weft_algo_call_t *call, weft_plan_builder_t *b, uint32_t k)
{
    uint32_t n = call->nranks, r = call->rank;
    b->grid(b, k, 0);
    uint32_t lane = b->lane(b);
    copy_many(b, lane, weft_out(r * k, 0), weft_in(r * k, 0), k);
    for (uint32_t step = 1; step < n; step++) {
        uint32_t to = (r + step) % n, from = (r + n - step) % n;
        weft_operand_t send = weft_port(b->port(b, lane, to, 0, 1));
        weft_operand_t receive = weft_port(b->port(b, lane, from, 0, 0));
        b->par(b, lane, 2);
        copy_many(b, lane, send, weft_in(to * k, 0), k);
        copy_many(b, lane, weft_out(from * k, 0), receive, k);
    }
}

static void exchange_one(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    exchange_all(call, b, 1);
}

static void exchange_three(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    exchange_all(call, b, 3);
}

/* As exchange of two ranks, but the arriving block rests in TMP. */
static void exchange_through_scratch(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    uint32_t r = call->rank, peer = 1 - r;
    b->grid(b, 1, 1);
    uint32_t lane = b->lane(b);
    weft_operand_t to = weft_port(b->port(b, lane, peer, 0, 1));
    weft_operand_t from = weft_port(b->port(b, lane, peer, 0, 0));
    copy(b, lane, to, weft_in(peer, 0));
    weft_move_t rest = {
        .dst = {weft_tmp(0, 0)}, .src = {from}, .ndst = 1, .nsrc = 1, .like = weft_out(peer, 0)};
    b->move(b, lane, &rest);
    copy(b, lane, weft_out(peer, 0), weft_tmp(0, 0));
    copy(b, lane, weft_out(r, 0), weft_in(r, 0));
}

/* Rank n−1 … 1 hand their blocks to the root, each straight or through the next lower rank. */
static void gather_straight(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    b->grid(b, 1, 0);
    uint32_t lane = b->lane(b);
    if (call->rank != 0) {
        copy(b, lane, weft_port(b->port(b, lane, 0, 0, 1)), weft_in(0, 0));
        return;
    }
    copy(b, lane, weft_out(0, 0), weft_in(0, 0));
    for (uint32_t peer = 1; peer < call->nranks; peer++) {
        copy(b, lane, weft_out(peer, 0), weft_port(b->port(b, lane, peer, 0, 0)));
    }
}

typedef enum link { LINK_PLAIN, LINK_WAITS, LINK_BAR, LINK_CHUNKS } link_t;

/* What a rank passes on may wait for its own block, and blocks may be of two chunks. */
static void gather_in_chain(const weft_algo_call_t *call, weft_plan_builder_t *b, link_t kind)
{
    uint32_t n = call->nranks, r = call->rank, k = kind == LINK_CHUNKS ? 2 : 1;
    b->grid(b, k, 0);
    uint32_t lane = b->lane(b);
    weft_operand_t down = {0}, up = {0};
    if (r != 0) {
        down = weft_port(b->port(b, lane, r - 1, 0, 1));
    }
    if (r + 1 < n) {
        up = weft_port(b->port(b, lane, r + 1, 0, 0));
    }
    copy_many(b, lane, r == 0 ? weft_out(0, 0) : down, weft_in(0, 0), k);
    if (kind == LINK_BAR) {
        b->bar(b, lane, UINT64_C(1) << lane | UINT64_C(1) << b->lane(b));
        b->bar(b, lane + 1, UINT64_C(1) << lane | UINT64_C(1) << (lane + 1));
    }
    for (uint32_t from = r + 1; from < n; from++) {
        weft_move_t move = {.dst = {r == 0 ? weft_out(from * k, 0) : down},
                            .src = {up},
                            .ndst = 1,
                            .nsrc = 1,
                            .cnt = k,
                            .like = r == 0 ? weft_out(from * k, 0) : weft_in(0, 0)};
        if (kind == LINK_WAITS) {
            move.after[move.nafter++] = (weft_after_t){lane, 0};
        }
        b->move(b, lane, &move);
    }
}

static void gather_in_a_chain(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    gather_in_chain(call, b, LINK_PLAIN);
}

static void gather_in_a_chain_that_waits(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    gather_in_chain(call, b, LINK_WAITS);
}

static void gather_in_a_chain_with_a_barrier(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    gather_in_chain(call, b, LINK_BAR);
}

static void gather_chunks_in_a_chain(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    gather_in_chain(call, b, LINK_CHUNKS);
}

/* Rank 1 passes on the block of rank 2. */
static void scatter_in_a_chain(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    uint32_t r = call->rank;
    b->grid(b, 1, 0);
    uint32_t lane = b->lane(b);
    if (r == 0) {
        weft_operand_t up = weft_port(b->port(b, lane, 1, 0, 1));
        copy(b, lane, up, weft_in(2, 0));
        copy(b, lane, up, weft_in(1, 0));
        copy(b, lane, weft_out(0, 0), weft_in(0, 0));
        return;
    }
    weft_operand_t from = weft_port(b->port(b, lane, r - 1, 0, 0));
    if (r == 1) {
        weft_move_t move = {.dst = {weft_port(b->port(b, lane, 2, 0, 1))},
                            .src = {from},
                            .ndst = 1,
                            .nsrc = 1,
                            .like = weft_out(0, 0)};
        b->move(b, lane, &move);
    }
    copy(b, lane, weft_out(0, 0), from);
}

static void scatter_straight(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    b->grid(b, 1, 0);
    uint32_t lane = b->lane(b);
    if (call->rank != 0) {
        copy(b, lane, weft_out(0, 0), weft_port(b->port(b, lane, 0, 0, 0)));
        return;
    }
    copy(b, lane, weft_out(0, 0), weft_in(0, 0));
    for (uint32_t peer = 1; peer < call->nranks; peer++) {
        copy(b, lane, weft_port(b->port(b, lane, peer, 0, 1)), weft_in(peer, 0));
    }
}

static void blocks_may_be_passed_on_where_nothing_waits_for_it(void **state)
{
    (void)state;
    for (uint32_t n = 3; n <= 6; n++) {
        assert_int_equal(vector_of_written(gather_in_a_chain, WEFT_GATHER, n), WEFT_VECTOR_PASSED);
        assert_int_equal(vector_of_written(gather_in_a_chain_that_waits, WEFT_GATHER, n),
                         WEFT_VECTOR_NONE);
        assert_int_equal(vector_of_written(gather_in_a_chain_with_a_barrier, WEFT_GATHER, n),
                         WEFT_VECTOR_NONE);
        assert_int_equal(vector_of_written(gather_chunks_in_a_chain, WEFT_GATHER, n),
                         WEFT_VECTOR_NONE);
    }
    assert_int_equal(vector_of_written(scatter_in_a_chain, WEFT_SCATTER, 3), WEFT_VECTOR_PASSED);
}

static void only_ways_past_scratch_serve_pairs(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 5; n++) {
        assert_int_equal(vector_of_written(exchange_one, WEFT_ALL_TO_ALL, n), WEFT_VECTOR_PAIRS);
        assert_int_equal(vector_of_written(exchange_three, WEFT_ALL_TO_ALL, n), WEFT_VECTOR_PAIRS);
        assert_int_equal(vector_of_written(gather_straight, WEFT_GATHER, n), WEFT_VECTOR_PAIRS);
        assert_int_equal(vector_of_written(scatter_straight, WEFT_SCATTER, n), WEFT_VECTOR_PAIRS);
    }
    assert_int_equal(vector_of_written(exchange_through_scratch, WEFT_ALL_TO_ALL, 2),
                     WEFT_VECTOR_NONE);
    assert_int_equal(vector_of_written(gather_in_a_chain, WEFT_GATHER, 2), WEFT_VECTOR_PAIRS);
}

/* Four ranks in two exchanges; the second moves two blocks in one MOVE. */
static void doubling(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    uint32_t r = call->rank, pair = r & 2;
    b->grid(b, 1, 0);
    uint32_t lane = b->lane(b);
    copy(b, lane, weft_out(r, 0), weft_in(0, 0));
    for (uint32_t step = 0; step < 2; step++) {
        uint32_t peer = r ^ (1u << step), first = step == 0 ? r : pair, cnt = 1 + step;
        weft_operand_t to = weft_port(b->port(b, lane, peer, 0, 1));
        weft_operand_t from = weft_port(b->port(b, lane, peer, 0, 0));
        b->par(b, lane, 2);
        copy_many(b, lane, to, weft_out(first, 0), cnt);
        copy_many(b, lane, weft_out(first ^ (1u << step), 0), from, cnt);
    }
}

/* An all-gather of two ranks that rests the peer's block in TMP; `like` names the right or the
 * wrong block. */
static void gather_through_scratch(const weft_algo_call_t *call, weft_plan_builder_t *b,
                                   uint32_t like)
{
    uint32_t r = call->rank, peer = 1 - r;
    b->grid(b, 1, 1);
    uint32_t lane = b->lane(b);
    weft_operand_t to = weft_port(b->port(b, lane, peer, 0, 1));
    weft_operand_t from = weft_port(b->port(b, lane, peer, 0, 0));
    weft_move_t send = {.dst = {weft_out(r, 0), to}, .src = {weft_in(0, 0)}, .ndst = 2, .nsrc = 1};
    b->move(b, lane, &send);
    weft_move_t rest = {
        .dst = {weft_tmp(0, 0)}, .src = {from}, .ndst = 1, .nsrc = 1, .like = weft_out(like, 0)};
    b->move(b, lane, &rest);
    copy(b, lane, weft_out(peer, 0), weft_tmp(0, 0));
}

static void right_like(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    gather_through_scratch(call, b, 1 - call->rank);
}

static void wrong_like(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    gather_through_scratch(call, b, call->rank);
}

/* Right for equal blocks only: folds what must go to the peer from where it does not lie. */
static void borrowed_room(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    uint32_t r = call->rank, peer = 1 - r;
    b->grid(b, 1, 0);
    uint32_t lane = b->lane(b);
    weft_operand_t to = weft_port(b->port(b, lane, peer, 0, 1));
    weft_operand_t from = weft_port(b->port(b, lane, peer, 0, 0));
    copy(b, lane, to, weft_in(0, 0));
    copy(b, lane, weft_out(r, 0), from);
    copy(b, lane, to, weft_out(r, 0));
    copy(b, lane, weft_out(r, 0), from);
    copy(b, lane, to, weft_in(0, 0));
    copy(b, lane, weft_out(peer, 0), from);
}

static void slices_must_stay_with_their_block(void **state)
{
    (void)state;
    assert_int_equal(vector_of_written(doubling, WEFT_ALL_GATHER, 4), WEFT_VECTOR_BLOCKS);
    assert_int_equal(vector_of_written(right_like, WEFT_ALL_GATHER, 2), WEFT_VECTOR_BLOCKS);
    assert_int_equal(vector_of_written(wrong_like, WEFT_ALL_GATHER, 2), WEFT_VECTOR_NONE);
    assert_int_equal(vector_of_written(borrowed_room, WEFT_ALL_GATHER, 2), WEFT_VECTOR_NONE);
}

/* Three ranks in place. Rank 0 sends to the others in lane 0 and takes what rank 1 has for it in
 * lane 1, which writes over what lane 0 sends to rank 1. Rank 1 sends only what follows a message
 * of rank 2, which has waited for rank 0; or lane 1 waits for lane 0. */
static bool waits_inside;

static void send_block(weft_plan_builder_t *b, uint32_t lane, uint32_t peer)
{
    copy(b, lane, weft_port(b->port(b, lane, peer, 0, 1)), weft_in(peer, 0));
}

static void take_block(weft_plan_builder_t *b, uint32_t lane, uint32_t peer)
{
    copy(b, lane, weft_out(peer, 0), weft_port(b->port(b, lane, peer, 0, 0)));
}

static void exchange_in_circles(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    uint32_t r = call->rank;
    b->grid(b, 1, 0);
    uint32_t lane = b->lane(b);
    if (r == 0) {
        uint32_t other = b->lane(b);
        send_block(b, lane, 1);
        send_block(b, lane, 2);
        take_block(b, lane, 2);
        weft_move_t take = {.dst = {weft_out(1, 0)}, .ndst = 1, .nsrc = 1, .nafter = waits_inside};
        take.src[0] = weft_port(b->port(b, other, 1, 0, 0));
        take.after[0] = (weft_after_t){.lane = lane, .pc = 0};
        b->move(b, other, &take);
    } else {
        send_block(b, lane, r == 1 ? 2 : 0);
        take_block(b, lane, r == 1 ? 2 : 0);
        send_block(b, lane, r == 1 ? 0 : 1);
        take_block(b, lane, r == 1 ? 0 : 1);
    }
    copy(b, lane, weft_out(r, 0), weft_in(r, 0));
}

/* The message of an empty block is left out, and then it orders nothing. */
static void order_that_messages_make_is_none_for_pairs(void **state)
{
    (void)state;
    for (int inside = 0; inside < 2; inside++) {
        waits_inside = inside != 0;
        weft_plan_t **plans = plan_fixture_write(exchange_in_circles, WEFT_ALL_TO_ALL, 3);
        assert_non_null(plans);
        weft_verify_input_t input = {.plans = plans, .nranks = 3, .slots = 4, .slices = 2};
        weft_verify_report_t reports[2];
        assert_int_equal(weft_plan_prove(&input, reports), WEFT_OK);
        weft_verify_report_t alone = plan_fixture_verify(plans, 3, 4, 2, 1);
        plan_fixture_free(plans, 3);
        weft_vector_t in_place = waits_inside ? WEFT_VECTOR_PAIRS : WEFT_VECTOR_NONE;
        assert_int_equal(reports[0].verdict, WEFT_VERDICT_OK);
        assert_int_equal(reports[1].verdict, WEFT_VERDICT_OK);
        assert_int_equal(reports[0].vector, WEFT_VECTOR_PAIRS);
        assert_int_equal(reports[1].vector, in_place);
        assert_int_equal(alone.vector, in_place);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_that_messages_make_is_none_for_pairs),
        cmocka_unit_test(shipped_plans_keep_to_blocks),
        cmocka_unit_test(only_ways_past_scratch_serve_pairs),
        cmocka_unit_test(blocks_may_be_passed_on_where_nothing_waits_for_it),
        cmocka_unit_test(slices_must_stay_with_their_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
