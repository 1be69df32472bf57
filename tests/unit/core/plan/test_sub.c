/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans in plans: what sub() and call() write is the plan of the other algorithm, in the window, on
 * the channels and between the ranks that were asked for, also where its numbers wrap around; nested
 * plans; mistakes in words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "tests/support/plan_fixture.h"
#include "tests/support/plan_reference.h"

typedef weft_status_t (*emit_t)(weft_algo_t *algo, const weft_algo_call_t *call,
                                const weft_algo_view_t *view, weft_plan_builder_t *builder);

static plan_fixture_t ring, flat;

/* An algorithm written in this file, that the plan under test calls "own". */
static weft_algo_ops_t own;
static const uint32_t one_host[64];

static weft_status_t serves(weft_algo_t *algo, const weft_algo_call_t *call)
{
    (void)algo, (void)call;
    return WEFT_OK;
}

static weft_status_t find(void *arg, const char *name, const weft_algo_ops_t **ops_p,
                          weft_algo_t **algo_p)
{
    static const char *const names[] = {"algo-ring", "algo-flat", "own"};
    static plan_fixture_t *const loaded[] = {&ring, &flat};
    (void)arg;
    for (size_t i = 0; i < 2; i++) {
        if (strcmp(name, names[i]) == 0) {
            *ops_p = loaded[i]->ops;
            *algo_p = loaded[i]->algo;
            return WEFT_OK;
        }
    }
    if (strcmp(name, "own") == 0) {
        *ops_p = &own;
        *algo_p = NULL;
        return WEFT_OK;
    }
    return weft_plan_no_algo(name, names, 3);
}

static const weft_plan_finder_t finder = {.find = find};

static int open_all(void **state)
{
    (void)state;
    plan_fixture_open(&ring, WEFT_PLUGIN_DIR, "algo-ring");
    plan_fixture_open(&flat, WEFT_PLUGIN_DIR, "algo-flat");
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    plan_fixture_close(&flat);
    plan_fixture_close(&ring);
    return 0;
}

static weft_plan_t **emit_with(emit_t emit, weft_coll_t coll, uint32_t n, uint32_t root,
                               const weft_plan_finder_t *others)
{
    weft_algo_ops_t ops = {.size = sizeof ops, .emit = emit};
    plan_fixture_t fixture = {.ops = &ops};
    weft_algo_view_t view = {.size = sizeof view, .nhosts = 1, .host = one_host};
    weft_algo_call_t call = {.coll = coll, .nranks = n, .root = root};
    weft_error_clear(weft_error_record());
    return plan_fixture_emit_view(&fixture, &call, &view, others);
}

static weft_plan_t **emit(emit_t what, weft_coll_t coll, uint32_t n)
{
    return emit_with(what, coll, n, 0, &finder);
}

/* Proved at several depths; all-reduces also by the reference executor in random orders. */
static void expect_right(weft_plan_t **plans, uint32_t n)
{
    static const uint32_t depths[][2] = {{2, 1}, {4, 3}, {8, 4}};
    if (plans == NULL) {
        fail_msg("no plan: %s", weft_error_record()->text);
    }
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        weft_verify_report_t report = plan_fixture_verify(plans, n, depths[i][0], depths[i][1], 0);
        if (report.verdict != WEFT_VERDICT_OK) {
            fail_msg("%u ranks, %u slots, %u slices: %s: %s", n, depths[i][0], depths[i][1],
                     weft_verdict_name(report.verdict), report.text);
        }
    }
    for (uint64_t seed = 1; seed <= 3; seed++) {
        assert_int_equal(plan_reference_run(plans, n, 4, 2, seed), PLAN_RIGHT);
    }
    plan_fixture_free(plans, n);
}

/* The whole job ------------------------------------------------------------------------------------ */

static weft_status_t all_by_ring(weft_algo_t *algo, const weft_algo_call_t *call,
                                 const weft_algo_view_t *view, weft_plan_builder_t *b)
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
            weft_plan_t **plans = emit_with(all_by_ring, coll, n, root, &finder);
            weft_plan_t **direct = plan_fixture_emit(&ring, coll, n, root);
            for (uint32_t rank = 0; rank < n; rank++) {
                assert_true(weft_plan_hash(plans[rank]) == weft_plan_hash(direct[rank]));
            }
            plan_fixture_free(direct, n);
            plan_fixture_free(plans, n);
        }
    }
}

/* Windows ------------------------------------------------------------------------------------------ */

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
                                    const weft_algo_view_t *view, weft_plan_builder_t *b)
{
    (void)algo, (void)view;
    return in_parts(3, call, b);
}

static void windows_keep_rings_apart(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 9; n++) {
        expect_right(emit(in_three_parts, WEFT_ALL_REDUCE, n), n);
    }
}

static void a_loop_that_wraps_in_a_window_stays_short(void **state)
{
    (void)state;
    weft_plan_t **plans = emit(in_three_parts, WEFT_ALL_REDUCE, 40);
    assert_non_null(plans);
    for (uint32_t rank = 0; rank < 40; rank++) {
        for (uint32_t lane = 0; lane < 3; lane++) {
            assert_in_range(plans[rank]->lanes[lane].ncode, 9, 16);
        }
        assert_int_equal(plans[rank]->ports[2].channel, 5);
    }
    plan_fixture_free(plans, 40);
}

/* Groups ------------------------------------------------------------------------------------------- */

/* A square of ranks: rows are summed into scratch, then columns into OUT. */
static weft_status_t square(weft_algo_t *algo, const weft_algo_call_t *call,
                            const weft_algo_view_t *view, weft_plan_builder_t *b)
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
        expect_right(emit(square, WEFT_ALL_REDUCE, side * side), side * side);
    }
}

static weft_algo_view_t seen;
static uint32_t seen_host[64];
static int64_t seen_param;

static weft_status_t look(weft_algo_t *algo, const weft_algo_call_t *call,
                          const weft_algo_view_t *view, weft_plan_builder_t *b)
{
    (void)algo;
    seen = *view;
    memcpy(seen_host, view->host, call->nranks * sizeof *seen_host);
    seen_param = call->params[0];
    assert_int_equal(call->nranks, 4);
    assert_int_equal(call->root, 3);
    b->grid(b, 17, 23);
    return WEFT_OK;
}

static weft_status_t ask_for_four(weft_algo_t *algo, const weft_algo_call_t *call,
                                  const weft_algo_view_t *view, weft_plan_builder_t *b)
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

static void a_group_is_a_job_of_its_own(void **state)
{
    (void)state;
    static const weft_algo_param_t params[] = {{"depth", "", 1, 9, 6}, {.name = NULL}};
    static const uint32_t hosts[8] = {0, 0, 3, 2, 3, 1, 0, 2};
    own = (weft_algo_ops_t){.size = sizeof own, .supports = serves, .emit = look, .params = params};
    weft_algo_ops_t ops = {.size = sizeof ops, .emit = ask_for_four};
    plan_fixture_t fixture = {.ops = &ops};
    weft_algo_view_t view = {.size = sizeof view, .nhosts = 4, .host = hosts};
    weft_algo_call_t call = {.coll = WEFT_BROADCAST, .nranks = 8};
    weft_plan_t **plans = plan_fixture_emit_view(&fixture, &call, &view, &finder);
    assert_non_null(plans);
    assert_int_equal(seen.nhosts, 2);
    assert_int_equal(seen_param, 6);
    assert_memory_equal(seen_host, ((uint32_t[]){0, 1, 1, 0}), sizeof(uint32_t[4]));
    plan_fixture_free(plans, 8);
}

/* Several lanes ------------------------------------------------------------------------------------ */

/* All-reduce of two by three lanes: one sends, one receives into scratch, one combines after it. */
static weft_status_t two_by_lanes(weft_algo_t *algo, const weft_algo_call_t *call,
                                  const weft_algo_view_t *view, weft_plan_builder_t *b)
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
                            const weft_algo_view_t *view, weft_plan_builder_t *b)
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
    own = (weft_algo_ops_t){.size = sizeof own, .supports = serves, .emit = two_by_lanes};
    weft_plan_t **plans = emit(fenced, WEFT_ALL_REDUCE, 2);
    assert_non_null(plans);
    assert_int_equal(plans[0]->nlanes, 2 + 3 * 2);
    expect_right(plans, 2);
}

/* Wrapping counts ---------------------------------------------------------------------------------- */

/* All-gather by doubling over four ranks: blocks r−1, r … wrap around in both MOVEs of the PAR. */
static weft_status_t doubling(weft_algo_t *algo, const weft_algo_call_t *call,
                              const weft_algo_view_t *view, weft_plan_builder_t *b)
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
        b->par(b, lane, 2);
        b->move(b, lane, &send);
        b->move(b, lane, &take);
    }
    return WEFT_OK;
}

/* Eight ranks, two groups of four that gather by doubling into windows; then pairs swap halves. */
static weft_status_t halves(weft_algo_t *algo, const weft_algo_call_t *call,
                            const weft_algo_view_t *view, weft_plan_builder_t *b)
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
    own = (weft_algo_ops_t){.size = sizeof own, .supports = serves, .emit = doubling};
    weft_plan_t **plans = emit(halves, WEFT_ALL_GATHER, 8);
    assert_non_null(plans);
    /* Rank 3 sends blocks 3 and 0 of its group, and takes 1 and 2 in one go. */
    assert_int_equal(plans[3]->nmoves, 1 + 2 + 4 + 2);
    /* Rank 0 sends blocks 0 and 1, takes 2 and 3: nothing wraps. */
    assert_int_equal(plans[0]->nmoves, 1 + 2 + 2 + 2);
    expect_right(plans, 8);
}

/* Nesting ------------------------------------------------------------------------------------------ */

static weft_status_t by_square(weft_algo_t *algo, const weft_algo_call_t *call,
                               const weft_algo_view_t *view, weft_plan_builder_t *b)
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
    own = (weft_algo_ops_t){.size = sizeof own, .supports = serves, .emit = square};
    expect_right(emit(by_square, WEFT_ALL_REDUCE, 8), 8);
    expect_right(emit(by_square, WEFT_ALL_REDUCE, 18), 18);
}

static weft_status_t by_itself(weft_algo_t *algo, const weft_algo_call_t *call,
                               const weft_algo_view_t *view, weft_plan_builder_t *b)
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
    own = (weft_algo_ops_t){.size = sizeof own, .supports = serves, .emit = by_itself};
    assert_null(emit(by_itself, WEFT_ALL_REDUCE, 2));
    assert_int_equal(weft_error_record()->status, WEFT_ERR_PLAN);
    assert_non_null(strstr(weft_error_record()->text, "more than 4 plans in each other"));
}

/* Mistakes ----------------------------------------------------------------------------------------- */

typedef struct mistake {
    const char *words;
    weft_status_t status;
    weft_plan_sub_t sub;
    uint32_t group[3];
    weft_operand_t in, out;
    int before; /* 1: no grid yet; 2: inside a LOOP; 3: inside a PAR; 4: another number */
    uint32_t k; /* of the grid; 0: as the sub-plan says */
} mistake_t;

static const mistake_t *current;

static weft_status_t mistaken(weft_algo_t *algo, const weft_algo_call_t *call,
                              const weft_algo_view_t *view, weft_plan_builder_t *b)
{
    (void)algo, (void)call, (void)view;
    uint32_t k, tmp;
    weft_plan_sub_t sub = current->sub;
    sub.size = sizeof sub;
    sub.group = current->group;
    sub.algo = sub.algo == NULL ? "algo-ring" : sub.algo;
    uint32_t number = b->sub(b, &sub, &k, &tmp), lane = b->lane(b);
    if (current->before != 1) {
        b->grid(b, current->k != 0 ? current->k : k, tmp + 2);
    }
    if (current->before == 2) {
        b->loop(b, lane, 2);
    } else if (current->before == 3) {
        b->par(b, lane, 2);
    }
    b->call(b, lane, number + (current->before == 4), current->in, current->out, 0, 0);
    return WEFT_OK;
}

#define IN0                                                                                        \
    {                                                                                              \
        WEFT_OPERAND_IN, 0, 0                                                                      \
    }
#define OUT0                                                                                       \
    {                                                                                              \
        WEFT_OPERAND_OUT, 0, 0                                                                     \
    }
#define TMP0                                                                                       \
    {                                                                                              \
        WEFT_OPERAND_TMP, 0, 0                                                                     \
    }

static void mistakes_are_named(void **state)
{
    (void)state;
    static const mistake_t cases[] = {
        {"a group of 1 of 3 ranks", WEFT_ERR_PLAN, {.n = 1}, {0}, IN0, OUT0, 0, 0},
        {"a group of 4 of 3 ranks", WEFT_ERR_PLAN, {.n = 4}, {0}, IN0, OUT0, 0, 0},
        {"with root 2", WEFT_ERR_PLAN, {.n = 2, .root = 2}, {0, 1}, IN0, OUT0, 0, 0},
        {"rank 1 of the group is named twice", WEFT_ERR_PLAN, {.n = 3}, {0, 1, 1}, IN0, OUT0, 0, 0},
        {"rank 9 of the group is not in the job", WEFT_ERR_PLAN, {.n = 2}, {0, 9}, IN0, OUT0, 0, 0},
        {"collective 5 has no plans",
         WEFT_ERR_PLAN,
         {.n = 2, .coll = WEFT_BARRIER},
         {0, 1},
         IN0,
         OUT0,
         0,
         0},
        {"no algorithm \"algo-rink\" is loaded, did you mean algo-ring?; loaded: algo-ring, "
         "algo-flat, own",
         WEFT_ERR_UNSUPPORTED,
         {.n = 2, .algo = "algo-rink"},
         {0, 1},
         IN0,
         OUT0,
         0,
         0},
        {"sub-plan by algo-ring: algo-ring has no plan for all_to_all",
         WEFT_ERR_UNSUPPORTED,
         {.n = 2, .coll = WEFT_ALL_TO_ALL},
         {0, 1},
         IN0,
         OUT0,
         0,
         0},
        {"this rank is not in the group", WEFT_ERR_PLAN, {.n = 2}, {1, 2}, IN0, OUT0, 0, 0},
        {"grid() comes first", WEFT_ERR_PLAN, {.n = 2}, {0, 1}, IN0, OUT0, 1, 0},
        {"inside a LOOP or a PAR", WEFT_ERR_PLAN, {.n = 2}, {0, 1}, IN0, OUT0, 2, 0},
        {"inside a LOOP or a PAR", WEFT_ERR_PLAN, {.n = 2}, {0, 1}, IN0, OUT0, 3, 0},
        {"call of sub-plan 1 of 1", WEFT_ERR_PLAN, {.n = 2}, {0, 1}, IN0, OUT0, 4, 0},
        {"both its buffers are scratch", WEFT_ERR_PLAN, {.n = 2}, {0, 1}, TMP0, TMP0, 0, 0},
        {"must be IN, OUT or TMP",
         WEFT_ERR_PLAN,
         {.n = 2},
         {0, 1},
         {WEFT_OPERAND_PORT, 0, 0},
         OUT0,
         0,
         0},
        {"its 2 chunks from 1 on do not fit in 2",
         WEFT_ERR_PLAN,
         {.n = 2},
         {0, 1},
         IN0,
         {WEFT_OPERAND_OUT, 1, 0},
         0,
         0},
        {"its 3 chunks from 0 on do not fit in 2",
         WEFT_ERR_PLAN,
         {.n = 3},
         {0, 1, 2},
         IN0,
         OUT0,
         0,
         2},
        {"writes in[1], which is read only", WEFT_ERR_PLAN, {.n = 2}, {0, 1}, IN0, IN0, 0, 0},
        {"are different pieces of 2",
         WEFT_ERR_PLAN,
         {.n = 2, .coll = WEFT_REDUCE_SCATTER},
         {0, 1},
         IN0,
         OUT0,
         0,
         2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        current = &cases[i];
        weft_plan_t **plans = emit(mistaken, WEFT_ALL_REDUCE, 3);
        if (plans != NULL || weft_error_record()->status != cases[i].status ||
            strstr(weft_error_record()->text, cases[i].words) == NULL) {
            fail_msg("expected \"%s\", got \"%s\"", cases[i].words, weft_error_record()->text);
        }
    }
}

static void without_other_algorithms_the_reason_is_said(void **state)
{
    (void)state;
    assert_null(emit_with(all_by_ring, WEFT_ALL_REDUCE, 2, 0, NULL));
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
        cmocka_unit_test(lanes_of_a_sub_plan_begin_and_end_together),
        cmocka_unit_test(counts_that_wrap_in_a_window_are_cut),
        cmocka_unit_test(a_sub_plan_may_have_sub_plans),
        cmocka_unit_test(plans_in_plans_without_end_are_refused),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(without_other_algorithms_the_reason_is_said),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
