/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The cost model gives the textbook formulas and ranks the built-in algorithms as one would. */
#include <math.h>

#include "core/plan/classes.h"
#include "tests/support/plan_fixture.h"
#include "tests/support/unit.h"

static const weft_cost_model_t model = {
    .level = {{.alpha = 1e-6, .beta = 1e-10, .overhead = 2.5e-7},
              {.alpha = 1e-6, .beta = 1e-10, .overhead = 2.5e-7}},
    .busy = {{.turn = 1.5e-6, .slice = 170e-9, .beta = 2e-10},
             {.turn = 1.5e-6, .slice = 170e-9, .beta = 2e-10}},
    .gamma = 5e-11};

typedef struct priced {
    weft_cost_t cost;
    uint32_t k;
} priced_t;

static plan_fixture_t ring, flat, halving, pat, tree;

static int open_all(void **state)
{
    (void)state;
    plan_fixture_open(&ring, WEFT_PLUGIN_DIR, "algo-ring");
    plan_fixture_open(&flat, WEFT_PLUGIN_DIR, "algo-flat");
    plan_fixture_open(&halving, WEFT_PLUGIN_DIR, "algo-halving");
    plan_fixture_open(&pat, WEFT_PLUGIN_DIR, "algo-pat");
    plan_fixture_open(&tree, WEFT_PLUGIN_DIR, "algo-tree");
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    plan_fixture_close(&ring);
    plan_fixture_close(&flat);
    plan_fixture_close(&halving);
    plan_fixture_close(&pat);
    plan_fixture_close(&tree);
    return 0;
}

static priced_t price(const plan_fixture_t *fixture, weft_coll_t coll, uint32_t n)
{
    priced_t priced;
    weft_plan_t **plans = plan_fixture_emit(fixture, coll, n, 0);
    priced.k = plans[0]->k;
    assert_int_equal(weft_plan_cost(plans, n, NULL, 8, &priced.cost), WEFT_OK);
    plan_fixture_free(plans, n);
    return priced;
}

/* Best over the slicings that a tuner would try. */
static double best_time(const priced_t *priced, uint64_t bytes)
{
    double best = INFINITY;
    for (uint32_t slices = 1; slices <= 4; slices++) {
        for (uint64_t slice = 4096; slice <= 262144; slice *= 2) {
            double time = weft_cost_time(&priced->cost, &model, bytes, priced->k, slices, slice);
            best = time < best ? time : best;
        }
    }
    return best;
}

static void ring_all_reduce_costs_what_the_book_says(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 16; n++) {
        priced_t priced = price(&ring, WEFT_ALL_REDUCE, n);
        double edges = 2.0 * (n - 1);
        assert_int_equal(priced.cost.chain, 2 * n - 1);
        assert_int_equal(priced.cost.link_chunks, 2 * (n - 1));
        assert_true(fabs(weft_cost_sum(priced.cost.fill.edges) - edges) < 1e-9);
        assert_true(fabs(weft_cost_sum(priced.cost.fill.hops) - edges) < 1e-9);
        assert_true(fabs(weft_cost_sum(priced.cost.steady.edges) - edges) < 1e-9);
        assert_true(weft_cost_sum(priced.cost.steady.hops) == 0);
        uint64_t bytes = 1u << 20;
        weft_cost_model_t wire = weft_cost_uniform(1e-6, 1e-10, 0, 2e-7);
        double time = weft_cost_time(&priced.cost, &wire, bytes, n, 1, bytes);
        double book = edges * (1e-6 + (double)bytes / n * 1e-10);
        assert_true(fabs(time / book - 1) < 1e-9);
        /* Twice as many slices: the second half follows the first at once. */
        time = weft_cost_time(&priced.cost, &wire, bytes, n, 2, bytes);
        book = edges * (1e-6 + 2e-7 + (double)bytes / n * 1e-10);
        assert_true(fabs(time / book - 1) < 1e-9);
    }
}

/* 2·log2 n rounds of n/2, n/4, …, 1 and back to n/2 chunks: Thakur, Rabenseifner and Gropp,
 * 2005. */
static void halving_waits_once_a_round(void **state)
{
    (void)state;
    for (uint32_t rounds = 1; rounds <= 6; rounds++) {
        uint32_t n = 1u << rounds;
        priced_t priced = price(&halving, WEFT_ALL_REDUCE, n);
        assert_true(fabs(weft_cost_sum(priced.cost.fill.hops) - 2.0 * rounds) < 1e-9);
        assert_true(fabs(weft_cost_sum(priced.cost.fill.edges) - 2.0 * (n - 1)) < 1e-9);
        weft_cost_model_t wire = weft_cost_uniform(1e-6, 1e-10, 0, 2e-7);
        double time = weft_cost_time(&priced.cost, &wire, 8, n, 1, 64);
        double book =
            2.0 * rounds * 1e-6 + 2.0 * (n - 1 - rounds) * 2e-7 + 2.0 * (n - 1) * (8.0 / n) * 1e-10;
        assert_true(fabs(time / book - 1) < 1e-9);
    }
}

/* Two trees to one peer are two messages. A host's thread sends one after the other. */
static void lanes_of_a_host_take_turns(void **state)
{
    (void)state;
    priced_t two = price(&tree, WEFT_BROADCAST, 2), one = price(&flat, WEFT_BROADCAST, 2);
    weft_cost_model_t wire = weft_cost_uniform(1e-6, 1e-10, 0, 2e-7);
    assert_int_equal(two.cost.lanes, 2);
    assert_true(fabs(weft_cost_time(&two.cost, &wire, 8, two.k, 1, 64) -
                     weft_cost_time(&one.cost, &wire, 4, one.k, 1, 64) - 2e-7) < 1e-12);
    assert_true(weft_cost_time(&one.cost, &wire, 8, one.k, 1, 64) <
                weft_cost_time(&two.cost, &wire, 8, two.k, 1, 64));
    wire.at_once = true;
    assert_true(weft_cost_time(&two.cost, &wire, 8, two.k, 1, 64) <
                weft_cost_time(&one.cost, &wire, 8, one.k, 1, 64));
}

static void log_rounds_win_small_on_many_ranks_and_rings_win_large(void **state)
{
    (void)state;
    priced_t r = price(&ring, WEFT_ALL_REDUCE, 64), h = price(&halving, WEFT_ALL_REDUCE, 64);
    assert_true(best_time(&h, 1024) < best_time(&r, 1024) / 2);
    assert_true(best_time(&r, 128u << 20) < best_time(&h, 128u << 20) * 1.01);
    r = price(&ring, WEFT_ALL_GATHER, 64);
    h = price(&pat, WEFT_ALL_GATHER, 64);
    assert_true(best_time(&h, 64) < best_time(&r, 64) / 2);
}

static void what_nobody_waits_for_costs_the_overhead_of_the_transport(void **state)
{
    (void)state;
    assert_true(fabs(weft_cost_overhead(8000, 0) - 2e-6) < 1e-15);
    assert_true(fabs(weft_cost_overhead(8000, 500) - 5e-7) < 1e-15);
    assert_true(fabs(weft_cost_overhead(200, 500) - 2e-7) < 1e-15);
}

static void chains_are_pipelined(void **state)
{
    (void)state;
    priced_t priced = price(&ring, WEFT_BROADCAST, 8);
    assert_true(fabs(weft_cost_sum(priced.cost.fill.edges) - 7) < 1e-9);
    assert_true(fabs(weft_cost_sum(priced.cost.steady.edges) - 1) < 1e-9);
}

static void flat_wins_small_and_ring_wins_large(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 16; n++) {
        priced_t r = price(&ring, WEFT_ALL_REDUCE, n), f = price(&flat, WEFT_ALL_REDUCE, n);
        assert_true(best_time(&f, 8) < best_time(&r, 8));
        assert_true(best_time(&f, 1024) < best_time(&r, 1024));
        assert_true(best_time(&r, 128u << 20) < best_time(&f, 128u << 20));
    }
}

static void time_grows_with_bytes_and_ranks(void **state)
{
    (void)state;
    double before = 0;
    for (uint32_t n = 2; n <= 16; n *= 2) {
        priced_t priced = price(&ring, WEFT_ALL_REDUCE, n);
        double last = 0;
        for (uint64_t bytes = 8; bytes <= 128u << 20; bytes *= 4) {
            double time = weft_cost_time(&priced.cost, &model, bytes, n, 2, 65536);
            assert_true(isfinite(time) && time >= last);
            last = time;
        }
        assert_true(last > before);
        before = last;
    }
    priced_t priced = price(&flat, WEFT_ALL_REDUCE, 2);
    assert_true(weft_cost_time(&priced.cost, &model, 0, 1, 1, 64) > 0);
}

/* 2 cores: what 64 ranks do one after the other counts. 64 cores: the chain does. */
static void crowds_pay_for_the_work_of_all(void **state)
{
    (void)state;
    priced_t few = price(&flat, WEFT_ALL_REDUCE, 4), many = price(&flat, WEFT_ALL_REDUCE, 64);
    weft_cost_crowd_t two_cores = {.ranks = 64, .cores = 2, .part = 1};
    weft_cost_crowd_t enough = {.ranks = 64, .cores = 64, .part = 1};
    double crowded = weft_cost_crowd_time(&many.cost, &model, &two_cores, 8, 1, 1, 64);
    assert_true(crowded > 10 * weft_cost_time(&many.cost, &model, 8, 1, 1, 64));
    assert_true(weft_cost_crowd_time(&many.cost, &model, &enough, 8, 1, 1, 64) <= 0);
    assert_int_equal(few.cost.fan, 3);
    assert_int_equal(many.cost.fan, 63);
    /* 2016 links, and 6. */
    weft_cost_crowd_t small = {.ranks = 4, .cores = 2, .part = 1};
    assert_true(weft_cost_links(&many.cost, &two_cores) > 300 * weft_cost_links(&few.cost, &small));
}

/* What a call touches on a host decides which rate holds. */
static void what_leaves_the_caches_costs_the_rate_of_memory(void **state)
{
    (void)state;
    priced_t priced = price(&ring, WEFT_ALL_REDUCE, 4);
    weft_cost_crowd_t crowd = {.ranks = 4, .cores = 4, .part = 1};
    weft_cost_model_t known = model;
    double touched = priced.cost.total_touched / priced.k; /* times the bytes of a block */
    known.memory = 4 * known.gamma;
    known.cache = 1 << 20;
    uint64_t fits = (uint64_t)(known.cache / touched);
    assert_true(weft_cost_gamma(&priced.cost, &known, &crowd, fits - 64, priced.k) == known.gamma);
    assert_true(weft_cost_gamma(&priced.cost, &known, &crowd, fits + 64, priced.k) == known.memory);
    crowd.part = 0.5; /* two hosts */
    assert_true(weft_cost_gamma(&priced.cost, &known, &crowd, fits + 64, priced.k) == known.gamma);
    known.cache = 0; /* nobody has measured it */
    assert_true(weft_cost_gamma(&priced.cost, &known, &crowd, fits * 9, priced.k) == known.gamma);
}

/* Each level has a price of its own on a busy core, and takes as many cores as there are. */
static void busy_edges_are_priced_by_level(void **state)
{
    (void)state;
    priced_t priced = price(&ring, WEFT_ALL_REDUCE, 4);
    weft_cost_crowd_t crowd = {.ranks = 4, .cores = 2, .part = 1};
    weft_cost_model_t other = model;
    double before = weft_cost_crowd_time(&priced.cost, &model, &crowd, 4096, priced.k, 1, 4096);
    other.busy[WEFT_LEVEL_BETWEEN].turn *= 9;
    assert_true(weft_cost_crowd_time(&priced.cost, &other, &crowd, 4096, priced.k, 1, 4096) ==
                before);
    other.busy[WEFT_LEVEL_INSIDE].turn *= 9;
    assert_true(weft_cost_crowd_time(&priced.cost, &other, &crowd, 4096, priced.k, 1, 4096) >
                before);
    crowd.cores = 0.5;
    double half = weft_cost_crowd_time(&priced.cost, &model, &crowd, 4096, priced.k, 1, 4096);
    assert_true(fabs(half / before - 4) < 1e-9);
}

/* A ring waits 14 times in each pass, a direct exchange twice, and both move the same bytes. */
static void crowds_pay_for_each_wait_of_each_pass(void **state)
{
    (void)state;
    plan_fixture_t direct;
    plan_fixture_open(&direct, WEFT_PLUGIN_DIR, "algo-direct");
    priced_t round = price(&ring, WEFT_ALL_REDUCE, 8), at_once = price(&direct, WEFT_ALL_REDUCE, 8);
    weft_cost_crowd_t crowd = {.ranks = 8, .cores = 2, .part = 1};
    for (uint64_t bytes = 64 << 10; bytes <= 64 << 20; bytes *= 4) {
        double few = weft_cost_crowd_time(&at_once.cost, &model, &crowd, bytes, 8, 2, 65536);
        assert_true(few < weft_cost_crowd_time(&round.cost, &model, &crowd, bytes, 8, 2, 65536));
    }
    double two = weft_cost_crowd_time(&at_once.cost, &model, &crowd, 2 << 20, 8, 2, 65536);
    double four = weft_cost_crowd_time(&at_once.cost, &model, &crowd, 2 << 20, 8, 2, 32768);
    assert_true(four > two);
    plan_fixture_close(&direct);
}

/* Four ranks on two hosts: a ring crosses twice, and edges inside are free here. */
static void edges_between_hosts_are_priced_apart(void **state)
{
    (void)state;
    static const uint32_t pairs[] = {0, 0, 1, 1}, turns[] = {0, 1, 0, 1};
    weft_cost_t by_pairs, by_turns;
    weft_cost_model_t wire = {.level = {[WEFT_LEVEL_BETWEEN] = {.alpha = 1e-5, .overhead = 1e-6}}};
    weft_plan_t **plans = plan_fixture_emit(&ring, WEFT_ALL_REDUCE, 4, 0);
    assert_int_equal(weft_plan_cost(plans, 4, pairs, 8, &by_pairs), WEFT_OK);
    assert_int_equal(weft_plan_cost(plans, 4, turns, 8, &by_turns), WEFT_OK);
    assert_true(by_pairs.fill.hops[WEFT_LEVEL_INSIDE] > 0);
    assert_true(by_pairs.fill.hops[WEFT_LEVEL_BETWEEN] > 0);
    assert_true(by_turns.fill.hops[WEFT_LEVEL_INSIDE] == 0);
    assert_true(weft_cost_time(&by_pairs, &wire, 64, 4, 1, 64) <
                weft_cost_time(&by_turns, &wire, 64, 4, 1, 64));
    assert_true(by_pairs.total_chunks[WEFT_LEVEL_BETWEEN] ==
                by_pairs.total_chunks[WEFT_LEVEL_INSIDE]);
    assert_true(by_turns.total_chunks[WEFT_LEVEL_INSIDE] == 0);
    plan_fixture_free(plans, 4);
}

/* One rank of each host has the wire to itself, or both share it. */
static void ranks_of_a_host_share_its_wire(void **state)
{
    (void)state;
    static const uint32_t pairs[] = {0, 0, 1, 1}, turns[] = {0, 1, 0, 1};
    weft_cost_t by_pairs, by_turns;
    weft_cost_model_t wire = {.wire = 1e-9};
    weft_plan_t **plans = plan_fixture_emit(&ring, WEFT_ALL_REDUCE, 4, 0);
    assert_int_equal(weft_plan_cost(plans, 4, pairs, 8, &by_pairs), WEFT_OK);
    assert_int_equal(weft_plan_cost(plans, 4, turns, 8, &by_turns), WEFT_OK);
    assert_true(by_turns.wire_chunks == 2 * by_pairs.wire_chunks);
    assert_true(fabs(weft_cost_wire_time(&by_pairs, &wire, 4000, 4) - 6e-6) < 1e-9);
    plan_fixture_free(plans, 4);
}

static void channels_share_what_an_edge_has_together(void **state)
{
    weft_cost_model_t shared = weft_cost_uniform(1e-6, 1e-10, 0, 2e-7);
    (void)state;
    weft_cost_share(&shared, 64);
    assert_true(shared.level[WEFT_LEVEL_INSIDE].beta == 1e-10); /* no limit */
    shared.level[WEFT_LEVEL_INSIDE].together = 2.5e-11;
    weft_cost_share(&shared, 4);
    assert_true(shared.level[WEFT_LEVEL_INSIDE].beta == 1e-10);
    weft_cost_share(&shared, 16);
    assert_true(shared.level[WEFT_LEVEL_INSIDE].beta == 16 * 2.5e-11);
    assert_true(shared.level[WEFT_LEVEL_BETWEEN].beta == 1e-10);
}

/* By a protocol a device goes through one pass of one slice with all threads; else a leader takes
 * nearly as long for each message as through slots. */
static void several_passes_are_led(void **state)
{
    (void)state;
    priced_t priced = price(&ring, WEFT_ALL_REDUCE, 2);
    weft_cost_model_t slots = weft_cost_uniform(24e-6, 1e-10, 0, 13e-6), travels = slots;
    travels.protocol[WEFT_KERNEL_PROTOCOL_LL128] = (weft_cost_protocol_t){
        .edge = {.alpha = 4e-6, .beta = 1e-10, .overhead = 2e-6}, .most = 65536};
    weft_cost_travel(&travels, WEFT_KERNEL_PROTOCOL_LL128);
    weft_cost_model_t unled = travels;
    unled.led.alpha = 0;
    const double one = weft_cost_time(&priced.cost, &travels, 8192, priced.k, 1, 4096);
    assert_true(one == weft_cost_time(&priced.cost, &unled, 8192, priced.k, 1, 4096));
    assert_true(one < weft_cost_time(&priced.cost, &slots, 8192, priced.k, 1, 4096) / 3);
    const double two = weft_cost_time(&priced.cost, &travels, 16384, priced.k, 1, 4096);
    const double by_slots = weft_cost_time(&priced.cost, &slots, 16384, priced.k, 1, 4096);
    assert_true(two > 2 * weft_cost_time(&priced.cost, &unled, 16384, priced.k, 1, 4096));
    assert_true(two < by_slots && two > 0.9 * by_slots);
    assert_true(two == weft_cost_time(&priced.cost, &travels, 16384, priced.k, 2, 4096));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_passes_are_led),
        cmocka_unit_test(channels_share_what_an_edge_has_together),
        cmocka_unit_test(edges_between_hosts_are_priced_apart),
        cmocka_unit_test(ranks_of_a_host_share_its_wire),
        cmocka_unit_test(ring_all_reduce_costs_what_the_book_says),
        cmocka_unit_test(chains_are_pipelined),
        cmocka_unit_test(halving_waits_once_a_round),
        cmocka_unit_test(lanes_of_a_host_take_turns),
        cmocka_unit_test(log_rounds_win_small_on_many_ranks_and_rings_win_large),
        cmocka_unit_test(what_nobody_waits_for_costs_the_overhead_of_the_transport),
        cmocka_unit_test(flat_wins_small_and_ring_wins_large),
        cmocka_unit_test(time_grows_with_bytes_and_ranks),
        cmocka_unit_test(crowds_pay_for_the_work_of_all),
        cmocka_unit_test(what_leaves_the_caches_costs_the_rate_of_memory),
        cmocka_unit_test(busy_edges_are_priced_by_level),
        cmocka_unit_test(crowds_pay_for_each_wait_of_each_pass),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
