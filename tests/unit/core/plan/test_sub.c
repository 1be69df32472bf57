/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans in plans: what sub() and call() write is the plan of the other algorithm, in the window, on
 * the channels and between the ranks that were asked for, also where its numbers wrap around;
 * nested plans. */
#include <string.h>

#include "core/base/error.h"
#include "tests/support/plan_subs.h"
#include "tests/support/unit.h"

/* The whole job -------------------------------------------------------------------------------- */

static weft_status_t all_by_ring(weft_algo_t *algo, const weft_algo_call_t *call,
                                 const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    (void)algo, (void)view;
    uint32_t group[64], k, tmp;
    for (uint32_t i = 0; i < call->nranks; i++) {
        group[i] = i;
    }
    weft_plan_sub_t sub = {.size = sizeof sub,
                           .algo = "algo-ring",
                           .coll = call->coll,
                           .group = group,
                           .n = call->nranks,
                           .root = call->root};
    uint32_t number = b->sub(b, &sub, &k, &tmp);
    b->grid(b, k, tmp);
    b->call(b, b->lane(b), number, weft_in(0, 0), weft_out(0, 0), 0, 0);
    return WEFT_OK;
}

static void a_sub_plan_of_the_whole_job_is_the_plan_itself(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 9; n++) {
        for (weft_coll_t coll = WEFT_ALL_REDUCE; coll < WEFT_BARRIER; coll++) {
            uint32_t root = coll == WEFT_BROADCAST || coll == WEFT_REDUCE ? n - 1 : 0;
            weft_plan_t **plans =
                plan_subs_emit_with(all_by_ring, coll, n, root, &plan_subs_finder);
            weft_plan_t **direct = plan_fixture_emit(&plan_subs_ring, coll, n, root);
            for (uint32_t rank = 0; rank < n; rank++) {
                assert_true(weft_plan_hash(plans[rank]) == weft_plan_hash(direct[rank]));
            }
            plan_fixture_free(direct, n);
            plan_fixture_free(plans, n);
        }
    }
}

/* Windows -------------------------------------------------------------------------------------- */

/* `parts` parts of the message, each reduced by a ring with its ranks in another order. */
static weft_status_t in_parts(uint32_t parts, const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    uint32_t n = call->nranks, group[64], k = 0, tmp, number[4];
    for (uint32_t part = 0; part < parts; part++) {
        for (uint32_t i = 0; i < n; i++) {
            group[i] = part % 2 == 0 ? (i + part) % n : n - 1 - i;
        }
        weft_plan_sub_t sub = {
            .size = sizeof sub, .algo = "algo-ring", .group = group, .n = n, .coll = call->coll};
        number[part] = b->sub(b, &sub, &k, &tmp);
    }
    b->grid(b, parts * k, 0);
    for (uint32_t part = 0; part < parts; part++) {
        b->call(b, b->lane(b), number[part], weft_in(part * k, 0), weft_out(part * k, 0), 0,
                5 * part);
    }
    return WEFT_OK;
}

static weft_status_t in_three_parts(weft_algo_t *algo, const weft_algo_call_t *call,
                                    const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    (void)algo, (void)view;
    return in_parts(3, call, b);
}

static void windows_keep_rings_apart(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 9; n++) {
        plan_subs_expect_right(plan_subs_emit(in_three_parts, WEFT_ALL_REDUCE, n), n);
    }
}

static void a_loop_that_wraps_in_a_window_stays_short(void **state)
{
    (void)state;
    weft_plan_t **plans = plan_subs_emit(in_three_parts, WEFT_ALL_REDUCE, 40);
    assert_non_null(plans);
    for (uint32_t rank = 0; rank < 40; rank++) {
        for (uint32_t lane = 0; lane < 3; lane++) {
            assert_in_range(plans[rank]->lanes[lane].ncode, 9, 16);
        }
        assert_int_equal(plans[rank]->ports[2].channel, 5);
    }
    plan_fixture_free(plans, 40);
}

/* Groups --------------------------------------------------------------------------------------- */

/* A square of ranks: rows are summed into scratch, then columns into OUT. */
static weft_status_t square(weft_algo_t *algo, const weft_algo_call_t *call,
                            const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    (void)algo, (void)view;
    uint32_t side = 1, row[8], column[8], k, tmp, inner;
    for (; side * side < call->nranks; side++) {
    }
    for (uint32_t i = 0; i < side; i++) {
        row[i] = call->rank / side * side + i;
        column[i] = call->rank % side + i * side;
    }
    weft_plan_sub_t sub = {.size = sizeof sub,
                           .algo = "algo-flat",
                           .group = row,
                           .n = side,
                           .partial = 1,
                           .coll = WEFT_ALL_REDUCE};
    uint32_t first = b->sub(b, &sub, &k, &inner);
    sub.group = column;
    sub.partial = 0;
    uint32_t second = b->sub(b, &sub, &k, &tmp);
    assert_int_equal(inner, tmp);
    b->grid(b, k, k + tmp);
    uint32_t lane = b->lane(b);
    b->call(b, lane, first, weft_in(0, 0), weft_tmp(0, 0), k, 0);
    b->call(b, lane, second, weft_tmp(0, 0), weft_out(0, 0), k, 7);
    return WEFT_OK;
}

static void a_sub_plan_can_work_on_scratch_and_leave_final_to_the_next(void **state)
{
    (void)state;
    for (uint32_t side = 2; side <= 6; side++) {
        plan_subs_expect_right(plan_subs_emit(square, WEFT_ALL_REDUCE, side * side), side * side);
    }
}

static weft_algo_topo_t seen;
static uint32_t seen_host[64];
static int64_t seen_param;
static uint32_t seen_position, seen_at_1;

static weft_status_t look(weft_algo_t *algo, const weft_algo_call_t *call,
                          const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    (void)algo;
    seen = *view;
    memcpy(seen_host, view->host, call->nranks * sizeof *seen_host);
    seen_param = call->params[0];
    seen_position = weft_algo_topo_position(view, 1);
    seen_at_1 = weft_algo_topo_rank(view, 1);
    assert_int_equal(call->nranks, 4);
    assert_int_equal(call->root, 3);
    b->grid(b, 17, 23);
    return WEFT_OK;
}

static weft_status_t ask_for_four(weft_algo_t *algo, const weft_algo_call_t *call,
                                  const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    (void)algo, (void)call, (void)view;
    static const uint32_t group[] = {7, 2, 4, 3};
    uint32_t k, tmp;
    weft_plan_sub_t sub = {.size = sizeof sub,
                           .algo = "own",
                           .coll = WEFT_BROADCAST,
                           .group = group,
                           .n = 4,
                           .root = 3};
    b->sub(b, &sub, &k, &tmp);
    assert_int_equal(k, 17);
    assert_int_equal(tmp, 23);
    b->grid(b, k, tmp);
    return WEFT_OK;
}

static const int64_t *configured(void *arg, const char *name)
{
    static const int64_t params[WEFT_ALGO_PARAMS_MAX] = {8};
    (void)arg;
    return strcmp(name, "own") == 0 ? params : NULL;
}

static void a_part_has_the_parameters_of_the_configuration(void **state)
{
    (void)state;
    static const weft_algo_param_t params[] = {{"depth", "", 1, 9, 6}, {.name = NULL}};
    static const uint32_t hosts[8] = {0};
    plan_subs_own = (weft_algo_ops_t){
        .size = sizeof plan_subs_own, .supports = plan_subs_serves, .emit = look, .params = params};
    weft_plan_finder_t finder = plan_subs_finder;
    finder.params = configured;
    weft_algo_ops_t ops = {.size = sizeof ops, .emit = ask_for_four};
    plan_fixture_t fixture = {.ops = &ops};
    weft_algo_topo_t view = {.size = sizeof view, .nhosts = 1, .host = hosts};
    weft_algo_call_t call = {.coll = WEFT_BROADCAST, .nranks = 8};
    weft_plan_t **plans = plan_fixture_emit_view(&fixture, &call, &view, &finder);
    assert_non_null(plans);
    assert_int_equal(seen_param, 8);
    plan_fixture_free(plans, 8);
}

static void a_group_is_a_job_of_its_own(void **state)
{
    (void)state;
    static const weft_algo_param_t params[] = {{"depth", "", 1, 9, 6}, {.name = NULL}};
    static const uint32_t hosts[8] = {0, 0, 3, 2, 3, 1, 0, 2};
    plan_subs_own = (weft_algo_ops_t){
        .size = sizeof plan_subs_own, .supports = plan_subs_serves, .emit = look, .params = params};
    weft_algo_ops_t ops = {.size = sizeof ops, .emit = ask_for_four};
    plan_fixture_t fixture = {.ops = &ops};
    weft_algo_topo_t view = {.size = sizeof view, .nhosts = 4, .host = hosts};
    weft_algo_call_t call = {.coll = WEFT_BROADCAST, .nranks = 8};
    weft_plan_t **plans = plan_fixture_emit_view(&fixture, &call, &view, &plan_subs_finder);
    assert_non_null(plans);
    assert_int_equal(seen.nhosts, 2);
    assert_int_equal(seen.nlevels, 1);
    assert_true(seen_position == 2 && seen_at_1 == 3); /* 7 and 3 share a host, 2 and 4 another */
    assert_int_equal(seen_param, 6);
    assert_memory_equal(seen_host, ((uint32_t[]){0, 1, 1, 0}), sizeof(uint32_t[4]));
    plan_fixture_free(plans, 8);
}

/* Several lanes -------------------------------------------------------------------------------- */

/* All-reduce of two by three lanes: one sends, one receives into scratch, one combines after it. */
static weft_status_t two_by_lanes(weft_algo_t *algo, const weft_algo_call_t *call,
                                  const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    (void)algo, (void)view;
    uint32_t peer = 1 - call->rank;
    b->grid(b, 2, 2);
    uint32_t send = b->lane(b), take = b->lane(b), add = b->lane(b);
    weft_operand_t to = weft_port(b->port(b, send, peer, 0, 1));
    weft_operand_t from = weft_port(b->port(b, take, peer, 0, 0));
    weft_move_t move = {.dst = {to}, .src = {weft_in(0, 1)}, .ndst = 1, .nsrc = 1};
    b->loop(b, send, 2);
    b->move(b, send, &move);
    b->end(b, send);
    b->loop(b, take, 2);
    move = (weft_move_t){
        .dst = {weft_tmp(0, 1)}, .src = {from}, .ndst = 1, .nsrc = 1, .like = weft_in(0, 1)};
    uint32_t taken = b->move(b, take, &move);
    b->end(b, take);
    b->bar(b, take, 3);
    b->bar(b, send, 3);
    move = (weft_move_t){.dst = {weft_out(0, 0)},
                         .src = {weft_in(0, 0), weft_tmp(0, 0)},
                         .ndst = 1,
                         .nsrc = 2,
                         .cnt = 2,
                         .flags = WEFT_MOVE_FINAL,
                         .nafter = 1,
                         .after = {{take, taken}}};
    b->move(b, add, &move);
    return WEFT_OK;
}

/* The neighbours in the lane use the chunks of the call: only the fences keep them apart. */
static weft_status_t fenced(weft_algo_t *algo, const weft_algo_call_t *call,
                            const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    (void)algo, (void)view, (void)call;
    static const uint32_t group[] = {1, 0};
    uint32_t k, tmp;
    weft_plan_sub_t sub = {.size = sizeof sub, .algo = "own", .group = group, .n = 2};
    uint32_t number = b->sub(b, &sub, &k, &tmp);
    b->grid(b, 3 * k, 1 + 2 * k + tmp);
    uint32_t other = b->lane(b), lane = b->lane(b);
    weft_move_t move = {.dst = {weft_out(0, 0)}, .src = {weft_in(0, 0)}, .ndst = 1, .nsrc = 1};
    move.cnt = 2;
    move.dst[0] = weft_tmp(1, 0);
    move.src[0] = weft_in(2, 0);
    b->move(b, lane, &move);
    b->call(b, lane, number, weft_tmp(1, 0), weft_out(2, 0), 3, 4);
    b->call(b, lane, number, weft_in(0, 0), weft_out(0, 0), 3, 8);
    b->call(b, lane, number, weft_in(4, 0), weft_out(4, 0), 3, 12);
    b->bar(b, other, 1);
    return WEFT_OK;
}

static void lanes_of_a_sub_plan_begin_and_end_together(void **state)
{
    (void)state;
    plan_subs_own = (weft_algo_ops_t){
        .size = sizeof plan_subs_own, .supports = plan_subs_serves, .emit = two_by_lanes};
    weft_plan_t **plans = plan_subs_emit(fenced, WEFT_ALL_REDUCE, 2);
    assert_non_null(plans);
    assert_int_equal(plans[0]->nlanes, 2 + 3 * 2);
    plan_subs_expect_right(plans, 2);
}

/* Wrapping counts ------------------------------------------------------------------------------ */

/* All-gather by doubling over four ranks: blocks r−1, r … wrap around in both MOVEs of the PAR. */
static bool doubling_waits; /* what a PAR takes waits for what it sends: it never begins */

static weft_status_t doubling(weft_algo_t *algo, const weft_algo_call_t *call,
                              const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    (void)algo, (void)view;
    uint32_t r = call->rank, n = 4;
    b->grid(b, 1, 0);
    uint32_t lane = b->lane(b);
    weft_move_t own_block = {.dst = {weft_out(r, 0)}, .src = {weft_in(0, 0)}, .ndst = 1, .nsrc = 1};
    b->move(b, lane, &own_block);
    for (uint32_t have = 1; have < n; have *= 2) {
        weft_operand_t to = weft_port(b->port(b, lane, (r + n - have) % n, have, 1));
        weft_operand_t from = weft_port(b->port(b, lane, (r + have) % n, have, 0));
        weft_move_t send = {
            .dst = {to}, .src = {weft_out(r, 0)}, .ndst = 1, .nsrc = 1, .cnt = have};
        weft_move_t take = {
            .dst = {weft_out((r + have) % n, 0)}, .src = {from}, .ndst = 1, .nsrc = 1, .cnt = have};
        uint32_t par = b->par(b, lane, 2);
        take.nafter = doubling_waits;
        take.after[0] = (weft_after_t){lane, par + 1};
        b->move(b, lane, &send);
        b->move(b, lane, &take);
    }
    return WEFT_OK;
}

/* Eight ranks, two groups of four that gather by doubling into windows; then pairs swap halves. */
static weft_status_t halves(weft_algo_t *algo, const weft_algo_call_t *call,
                            const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    (void)algo, (void)view;
    uint32_t k, tmp, half = call->rank / 4, group[4];
    for (uint32_t i = 0; i < 4; i++) {
        group[i] = 4 * half + i;
    }
    weft_plan_sub_t sub = {
        .size = sizeof sub, .algo = "own", .coll = WEFT_ALL_GATHER, .group = group, .n = 4};
    uint32_t number = b->sub(b, &sub, &k, &tmp);
    b->grid(b, k, tmp);
    uint32_t lane = b->lane(b), peer = (call->rank + 4) % 8;
    b->call(b, lane, number, weft_in(0, 0), weft_out(4 * half, 0), 0, 1);
    weft_operand_t to = weft_port(b->port(b, lane, peer, 0, 1));
    weft_operand_t from = weft_port(b->port(b, lane, peer, 0, 0));
    weft_move_t send = {
        .dst = {to}, .src = {weft_out(4 * half, 0)}, .ndst = 1, .nsrc = 1, .cnt = 4};
    weft_move_t take = {
        .dst = {weft_out(4 - 4 * half, 0)}, .src = {from}, .ndst = 1, .nsrc = 1, .cnt = 4};
    b->par(b, lane, 2);
    b->move(b, lane, &send);
    b->move(b, lane, &take);
    return WEFT_OK;
}

static void counts_that_wrap_in_a_window_are_cut(void **state)
{
    (void)state;
    plan_subs_own = (weft_algo_ops_t){
        .size = sizeof plan_subs_own, .supports = plan_subs_serves, .emit = doubling};
    weft_plan_t **plans = plan_subs_emit(halves, WEFT_ALL_GATHER, 8);
    assert_non_null(plans);
    /* Rank 3 sends blocks 3 and 0 of its group, and takes 1 and 2 in one go. */
    assert_int_equal(plans[3]->nmoves, 1 + 2 + 4 + 2);
    /* Rank 0 sends blocks 0 and 1, takes 2 and 3: nothing wraps. */
    assert_int_equal(plans[0]->nmoves, 1 + 2 + 2 + 2);
    plan_subs_expect_right(plans, 8);
}

/* Whether the PAR is cut or whole: the members of a PAR begin together. */
static void a_par_that_waits_for_itself_is_refused_in_a_part_too(void **state)
{
    (void)state;
    plan_subs_own = (weft_algo_ops_t){
        .size = sizeof plan_subs_own, .supports = plan_subs_serves, .emit = doubling};
    doubling_waits = true;
    weft_plan_t **plans = plan_subs_emit(halves, WEFT_ALL_GATHER, 8);
    doubling_waits = false;
    assert_non_null(plans);
    weft_verify_report_t report = plan_fixture_verify(plans, 8, 4, 1, 0);
    plan_fixture_free(plans, 8);
    assert_int_equal(report.verdict, WEFT_VERDICT_DEADLOCK);
    assert_says(report.text, "waits for itself");
}

/* Nesting -------------------------------------------------------------------------------------- */

static weft_status_t by_square(weft_algo_t *algo, const weft_algo_call_t *call,
                               const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    (void)algo, (void)view;
    uint32_t n = call->nranks / 2, k, tmp, group[32], pair[2], inner;
    for (uint32_t i = 0; i < n; i++) {
        group[i] = 2 * i + call->rank % 2;
    }
    weft_plan_sub_t sub = {.size = sizeof sub,
                           .algo = "own",
                           .group = group,
                           .n = n,
                           .partial = 1,
                           .coll = WEFT_ALL_REDUCE};
    uint32_t first = b->sub(b, &sub, &k, &tmp);
    pair[0] = call->rank / 2 * 2;
    pair[1] = pair[0] + 1;
    sub = (weft_plan_sub_t){.size = sizeof sub, .algo = "algo-flat", .group = pair, .n = 2};
    uint32_t second = b->sub(b, &sub, &k, &inner);
    b->grid(b, k, k + tmp + inner);
    uint32_t lane = b->lane(b);
    b->call(b, lane, first, weft_in(0, 0), weft_tmp(0, 0), k, 0);
    b->call(b, lane, second, weft_tmp(0, 0), weft_out(0, 0), k + tmp, 20);
    return WEFT_OK;
}

static void a_sub_plan_may_have_sub_plans(void **state)
{
    (void)state;
    plan_subs_own = (weft_algo_ops_t){
        .size = sizeof plan_subs_own, .supports = plan_subs_serves, .emit = square};
    plan_subs_expect_right(plan_subs_emit(by_square, WEFT_ALL_REDUCE, 8), 8);
    plan_subs_expect_right(plan_subs_emit(by_square, WEFT_ALL_REDUCE, 18), 18);
}

static weft_status_t by_itself(weft_algo_t *algo, const weft_algo_call_t *call,
                               const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    (void)algo, (void)view;
    uint32_t group[2] = {0, 1}, k, tmp;
    weft_plan_sub_t sub = {
        .size = sizeof sub, .algo = "own", .group = group, .n = 2, .coll = call->coll};
    b->sub(b, &sub, &k, &tmp);
    b->grid(b, k, tmp);
    return WEFT_OK;
}

static void plans_in_plans_without_end_are_refused(void **state)
{
    (void)state;
    plan_subs_own = (weft_algo_ops_t){
        .size = sizeof plan_subs_own, .supports = plan_subs_serves, .emit = by_itself};
    assert_null(plan_subs_emit(by_itself, WEFT_ALL_REDUCE, 2));
    assert_int_equal(weft_error_record()->status, WEFT_ERR_PLAN);
    assert_non_null(strstr(weft_error_record()->text, "more than 8 plans in each other"));
}

static void without_other_algorithms_the_reason_is_said(void **state)
{
    (void)state;
    assert_null(plan_subs_emit_with(all_by_ring, WEFT_ALL_REDUCE, 2, 0, NULL));
    assert_int_equal(weft_error_record()->status, WEFT_ERR_UNSUPPORTED);
    assert_non_null(strstr(weft_error_record()->text,
                           "sub-plan by algo-ring: whoever asks for this plan offers no other"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sub_plan_of_the_whole_job_is_the_plan_itself),
        cmocka_unit_test(windows_keep_rings_apart),
        cmocka_unit_test(a_loop_that_wraps_in_a_window_stays_short),
        cmocka_unit_test(a_sub_plan_can_work_on_scratch_and_leave_final_to_the_next),
        cmocka_unit_test(a_group_is_a_job_of_its_own),
        cmocka_unit_test(a_part_has_the_parameters_of_the_configuration),
        cmocka_unit_test(lanes_of_a_sub_plan_begin_and_end_together),
        cmocka_unit_test(counts_that_wrap_in_a_window_are_cut),
        cmocka_unit_test(a_par_that_waits_for_itself_is_refused_in_a_part_too),
        cmocka_unit_test(a_sub_plan_may_have_sub_plans),
        cmocka_unit_test(plans_in_plans_without_end_are_refused),
        cmocka_unit_test(without_other_algorithms_the_reason_is_said),
    };
    return cmocka_run_group_tests(tests, plan_subs_open, plan_subs_close);
}
