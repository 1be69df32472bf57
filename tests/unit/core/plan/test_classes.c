/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One rank per class costs what all ranks cost, and the survey of many ranks tells the same. */
#define SURVEY_PORTS_MAX 4000

#include <string.h>

#include "core/plan/classes.c"
#include "tests/support/plan_fixture.h"
#include "tests/support/unit.h"

#define SLOTS 4

static weft_network_result_t price_in(weft_plan_t *const *plans, uint32_t n, uint32_t rounds,
                                      uint32_t *classes_p)
{
    weft_network_t net;
    weft_network_result_t result;
    assert_int_equal(weft_network_init(&net, n, NULL), WEFT_OK);
    for (uint32_t rank = 0; rank < n; rank++) {
        assert_int_equal(weft_network_add(&net, plans[rank], 0), WEFT_OK);
    }
    assert_int_equal(weft_network_price(&net, SLOTS, rounds, &result), WEFT_OK);
    *classes_p = net.nclasses;
    weft_network_fini(&net);
    return result;
}

typedef struct shelf {
    weft_plan_t *const *plans;
    uint32_t given;
} shelf_t;

static weft_status_t give_copy(void *arg, uint32_t rank, weft_plan_t **plan_p)
{
    shelf_t *shelf = arg;
    *plan_p = plan_fixture_copy(shelf->plans[rank]);
    shelf->given++;
    return WEFT_OK;
}

static int same_cost(const weft_cost_t *a, const weft_cost_t *b)
{
    return memcmp(&a->fill, &b->fill, sizeof a->fill) == 0 &&
           memcmp(&a->steady, &b->steady, sizeof a->steady) == 0 && a->chain == b->chain &&
           a->lanes == b->lanes && a->link_chunks == b->link_chunks &&
           a->link_chunks_min == b->link_chunks_min && a->wire_chunks == b->wire_chunks &&
           memcmp(a->total_chunks, b->total_chunks, sizeof a->total_chunks) == 0 &&
           a->links == b->links;
}

/* Returns the number of classes. */
static uint32_t expect_same(weft_plan_t **plans, uint32_t n)
{
    assert_non_null(plans);
    uint32_t classes, all;
    weft_network_result_t lumped = price_in(plans, n, WEFT_NETWORK_ROUNDS, &classes);
    weft_network_result_t apart = price_in(plans, n, 0, &all);
    assert_int_equal(all, n);
    assert_int_equal(lumped.verdict, apart.verdict);
    assert_string_equal(lumped.text, apart.text);
    assert_true(same_cost(&lumped.cost, &apart.cost));
    shelf_t shelf = {.plans = plans};
    weft_plan_survey_t survey;
    assert_int_equal(weft_plan_survey(n, NULL, give_copy, &shelf, SLOTS, &survey), WEFT_OK);
    assert_int_equal(survey.verdict, lumped.verdict);
    assert_int_equal(survey.classes, classes);
    assert_int_equal(survey.emitted, n);
    assert_int_equal(shelf.given, n);
    assert_true(same_cost(&survey.cost, &lumped.cost));
    if (apart.verdict == WEFT_VERDICT_OK) {
        weft_verify_report_t report = plan_fixture_verify(plans, n, SLOTS, 1, 0);
        assert_int_equal(report.critical_moves, lumped.cost.chain);
    }
    plan_fixture_free(plans, n);
    return classes;
}

static void shipped_plans_cost_the_same_in_classes(void **state)
{
    (void)state;
    static const char *const names[] = {"algo-ring",    "algo-flat", "algo-tree",
                                        "algo-halving", "algo-pat",  "algo-direct"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        plan_fixture_t fixture;
        plan_fixture_open(&fixture, WEFT_PLUGIN_DIR, names[i]);
        for (uint32_t n = 2; n <= 40; n += n < 12 ? 1 : 7) {
            for (weft_coll_t coll = WEFT_ALL_REDUCE; coll <= WEFT_SCATTER; coll++) {
                weft_algo_call_t call = {.size = sizeof call, .coll = coll, .nranks = n};
                if (coll != WEFT_BARRIER && fixture.ops->supports(fixture.algo, &call) == WEFT_OK) {
                    expect_same(plan_fixture_emit(&fixture, coll, n, 0), n);
                }
            }
        }
        plan_fixture_close(&fixture);
    }
}

/* Its rings between hosts are cut in loops at another chunk on every host. */
static void hosts_are_alike_however_their_loops_are_cut(void **state)
{
    (void)state;
    plan_fixture_t ring, hier, *both[] = {&ring, &hier, NULL};
    plan_fixture_open(&ring, WEFT_PLUGIN_DIR, "algo-ring");
    plan_fixture_open(&hier, WEFT_PLUGIN_DIR, "algo-hier");
    const weft_plan_finder_t finder = {.find = plan_fixture_find, .arg = both};
    for (uint32_t hosts = 3; hosts <= 8; hosts++) {
        uint32_t host[32];
        for (uint32_t rank = 0; rank < 32; rank++) {
            host[rank] = rank / 4;
        }
        weft_algo_call_t call = {.coll = WEFT_ALL_REDUCE, .nranks = 4 * hosts};
        weft_algo_topo_t view = {.size = sizeof view, .nhosts = hosts, .host = host};
        weft_plan_t **plans = plan_fixture_emit_view(&hier, &call, &view, &finder);
        assert_int_equal(expect_same(plans, 4 * hosts), 4);
    }
    plan_fixture_close(&hier);
    plan_fixture_close(&ring);
}

static void a_ring_is_one_rank(void **state)
{
    (void)state;
    plan_fixture_t fixture;
    plan_fixture_open(&fixture, WEFT_PLUGIN_DIR, "algo-ring");
    for (uint32_t n = 3; n <= 40; n++) {
        uint32_t classes = expect_same(plan_fixture_emit(&fixture, WEFT_ALL_REDUCE, n, 0), n);
        assert_int_equal(classes, 1);
    }
    plan_fixture_close(&fixture);
}

static void copy(weft_plan_builder_t *b, uint32_t lane, weft_operand_t dst, weft_operand_t src)
{
    weft_move_t move = {.dst = {dst}, .src = {src}, .ndst = 1, .nsrc = 1, .like = weft_out(0, 0)};
    b->move(b, lane, &move);
}

/* A broadcast over a random tree with a chain of copies of random length on the way, two lanes and
 * waits between them. Unlike anything regular. */
static uint32_t mixed(uint32_t x)
{
    x = (x ^ (x >> 15)) * 0x2c1b3c6du;
    x = (x ^ (x >> 12)) * 0x297a2d39u;
    return x ^ (x >> 15);
}

static uint32_t parent_of(uint32_t rank, uint32_t n)
{
    return mixed(rank * 31 + n) % rank;
}

static void irregular(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    uint32_t n = call->nranks, r = call->rank;
    b->grid(b, 1, 0);
    uint32_t down = b->lane(b), idle = b->lane(b);
    weft_operand_t from = weft_in(0, 0);
    if (r != 0) {
        from = weft_port(b->port(b, down, parent_of(r, n), 0, 0));
    }
    copy(b, down, weft_out(0, 0), from);
    uint32_t last = 0;
    for (uint32_t i = 0; i < mixed(r + n) % 3; i++) {
        weft_move_t again = {.dst = {weft_out(0, 0)},
                             .src = {weft_out(0, 0)},
                             .ndst = 1,
                             .nsrc = 1,
                             .nafter = 1,
                             .after = {{i == 0 ? down : idle, last}}};
        last = b->move(b, idle, &again);
    }
    b->bar(b, down, 3);
    b->bar(b, idle, 3);
    for (uint32_t child = r + 1; child < n; child++) {
        if (parent_of(child, n) == r) {
            copy(b, down, weft_port(b->port(b, down, child, 0, 1)), weft_out(0, 0));
        }
    }
}

static void irregular_plans_cost_the_same_in_classes(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 40; n++) {
        expect_same(plan_fixture_write(irregular, WEFT_BROADCAST, n), n);
    }
}

/* Rings of different widths side by side: ranks of one structure that are not of one class where
 * the way back is longer. The ranks of the last ring send one chunk too many at once. */
static void rings(const weft_algo_call_t *call, weft_plan_builder_t *b, uint32_t burst)
{
    uint32_t n = call->nranks, r = call->rank, first = r < n / 3 ? 0 : n / 3;
    uint32_t width = r < n / 3 ? n / 3 : n - n / 3;
    b->grid(b, 1, 0);
    uint32_t lane = b->lane(b);
    weft_operand_t to = weft_port(b->port(b, lane, first + (r - first + 1) % width, 0, 1));
    weft_operand_t from =
        weft_port(b->port(b, lane, first + (r - first + width - 1) % width, 0, 0));
    uint32_t times = first == 0 ? 1 : burst;
    for (uint32_t i = 0; i < times; i++) {
        copy(b, lane, to, weft_in(0, 0));
    }
    for (uint32_t i = 0; i < times; i++) {
        copy(b, lane, weft_out(0, 0), from);
    }
}

static void short_bursts(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    rings(call, b, SLOTS);
}

static void long_bursts(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    rings(call, b, SLOTS + 1);
}

static void deadlock_of_one_class_is_seen_and_worded_rank_by_rank(void **state)
{
    (void)state;
    uint32_t classes;
    weft_plan_t **plans = plan_fixture_write(short_bursts, WEFT_ALL_REDUCE, 12);
    assert_int_equal(price_in(plans, 12, 64, &classes).verdict, WEFT_VERDICT_OK);
    assert_int_equal(classes, 2);
    plan_fixture_free(plans, 12);
    plans = plan_fixture_write(long_bursts, WEFT_ALL_REDUCE, 12);
    weft_network_result_t result = price_in(plans, 12, 64, &classes);
    assert_int_equal(result.verdict, WEFT_VERDICT_DEADLOCK);
    assert_int_equal(classes, 2);
    assert_non_null(strstr(result.text, "8 lanes wait for each other in a ring, 8 stand still"));
    expect_same(plans, 12);
}

static void lonely(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    rings(call, b, 1);
    if (call->rank == 5) {
        b->port(b, 0, 7, 3, 1);
    }
}

static void port_without_another_end_is_named(void **state)
{
    (void)state;
    uint32_t classes;
    weft_plan_t **plans = plan_fixture_write(lonely, WEFT_ALL_REDUCE, 9);
    weft_network_result_t result = price_in(plans, 9, 64, &classes);
    assert_int_equal(result.verdict, WEFT_VERDICT_UNMATCHED);
    assert_non_null(strstr(result.text, "rank 5 lane 0 pc 0: port 2 sends to rank 7 channel 3"));
    plan_fixture_free(plans, 9);
}

/* Exchanges by difference and by exclusive or. */
static void exchange(const weft_algo_call_t *call, weft_plan_builder_t *b, int by_xor)
{
    uint32_t n = call->nranks, r = call->rank;
    b->grid(b, 1, 0);
    uint32_t lane = b->lane(b);
    copy(b, lane, weft_out(r, 0), weft_in(r, 0));
    for (uint32_t step = 1; step < n; step++) {
        uint32_t to = by_xor ? r ^ step : (r + step) % n;
        uint32_t from = by_xor ? to : (r + n - step) % n;
        weft_operand_t send = weft_port(b->port(b, lane, to, 0, 1));
        weft_operand_t receive = weft_port(b->port(b, lane, from, 0, 0));
        b->par(b, lane, 2);
        copy(b, lane, send, weft_in(to, 0));
        copy(b, lane, weft_out(from, 0), receive);
    }
}

static void exchange_by_difference(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    exchange(call, b, 0);
}

static void exchange_by_xor(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    exchange(call, b, 1);
}

static void exchange_but_for_one(const weft_algo_call_t *call, weft_plan_builder_t *b)
{
    exchange(call, b, 0);
    if (call->rank >= call->nranks - 2) {
        b->port(b, 0, 2 * call->nranks - 3 - call->rank, 1, call->rank & 1);
    }
}

static weft_plan_survey_t survey_of(plan_fixture_fn_t write, uint32_t n, weft_cost_t *cost)
{
    weft_plan_t **plans = plan_fixture_write(write, WEFT_ALL_TO_ALL, n);
    shelf_t shelf = {.plans = plans};
    weft_plan_survey_t survey;
    assert_int_equal(weft_plan_survey(n, NULL, give_copy, &shelf, SLOTS, &survey), WEFT_OK);
    assert_int_equal(weft_plan_cost(plans, n, NULL, SLOTS, cost), WEFT_OK);
    assert_int_equal(survey.emitted, shelf.given);
    plan_fixture_free(plans, n);
    return survey;
}

static void a_sample_stands_for_regular_plans_only(void **state)
{
    (void)state;
    static const plan_fixture_fn_t regular[] = {exchange_by_difference, exchange_by_xor};
    for (size_t i = 0; i < 2; i++) {
        weft_cost_t cost;
        weft_plan_survey_t survey = survey_of(regular[i], 64, &cost);
        assert_int_equal(survey.verdict, WEFT_VERDICT_OK);
        assert_int_equal(survey.classes, 1);
        assert_true(survey.emitted < 64);
        assert_int_equal(survey.moves_max, 127);
        assert_int_equal(survey.ports_max, 126);
        assert_true(same_cost(&survey.cost, &cost));
        assert_int_equal(cost.links, 64 * 63);
        assert_int_equal(cost.total_chunks[WEFT_LEVEL_INSIDE], 64 * 63);
    }
}

static void a_sample_does_not_stand_for_others(void **state)
{
    (void)state;
    uint32_t n = 64;
    weft_plan_t **plans = plan_fixture_write(exchange_but_for_one, WEFT_ALL_TO_ALL, n);
    assert_non_null(plans);
    shelf_t shelf = {.plans = plans};
    weft_plan_survey_t survey;
    assert_int_equal(weft_plan_survey(n, NULL, give_copy, &shelf, SLOTS, &survey), WEFT_OK);
    assert_int_equal(survey.verdict, WEFT_VERDICT_TOO_BIG);
    assert_int_equal(survey.classes, n);
    plan_fixture_free(plans, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_plans_cost_the_same_in_classes),
        cmocka_unit_test(hosts_are_alike_however_their_loops_are_cut),
        cmocka_unit_test(a_ring_is_one_rank),
        cmocka_unit_test(irregular_plans_cost_the_same_in_classes),
        cmocka_unit_test(deadlock_of_one_class_is_seen_and_worded_rank_by_rank),
        cmocka_unit_test(port_without_another_end_is_named),
        cmocka_unit_test(a_sample_stands_for_regular_plans_only),
        cmocka_unit_test(a_sample_does_not_stand_for_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
