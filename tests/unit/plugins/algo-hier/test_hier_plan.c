/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plans of algo-hier: proved in place and out of place for equal, unequal and interleaved
 * hosts, up to three levels, several depths, and several algorithms between hosts; refused with a
 * reason where there are not two levels. */
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/plan/network_walk.h"
#include "core/plan/topo_view.h"
#include "core/plan/verify.h"
#include "tests/support/plan_fixture.h"
#include "tests/support/plan_reference.h"
#include "tests/support/unit.h"

#define RANKS_MAX 64

/* Whether all plans since it was set serve blocks of different lengths: those that all ranks know,
 * and those that two ranks know. */
static bool expected_vector, expected_pairs;

/* As the option table of the plugin says. */
typedef struct hier_config {
    const char *between;
    int64_t group;
} hier_config_t;

static plan_fixture_t ring, flat, tree, halving, hier_ring, hier_flat;
static plan_fixture_t *others[] = {&ring, &flat, &tree, &halving, &hier_ring, NULL};
static const weft_plan_finder_t finder = {.find = plan_fixture_find, .arg = others};

static int open_all(void **state)
{
    (void)state;
    static const hier_config_t by_flat = {"algo-flat", 0};
    plan_fixture_open(&ring, WEFT_PLUGIN_DIR, "algo-ring");
    plan_fixture_open(&flat, WEFT_PLUGIN_DIR, "algo-flat");
    plan_fixture_open(&tree, WEFT_PLUGIN_DIR, "algo-tree");
    plan_fixture_open(&halving, WEFT_PLUGIN_DIR, "algo-halving");
    plan_fixture_open(&hier_ring, WEFT_PLUGIN_DIR, "algo-hier");
    plan_fixture_open_with(&hier_flat, WEFT_PLUGIN_DIR, "algo-hier", &by_flat);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    plan_fixture_close(&hier_flat);
    plan_fixture_close(&hier_ring);
    plan_fixture_close(&halving);
    plan_fixture_close(&tree);
    plan_fixture_close(&flat);
    plan_fixture_close(&ring);
    return 0;
}

/* A level is a text: one letter per rank, its group. */
static uint32_t read_level(const char *level, uint32_t group[RANKS_MAX], uint32_t *ngroups_p)
{
    uint32_t n = 0;
    *ngroups_p = 0;
    for (; level[n] != '\0' && level[n] != '/'; n++) {
        group[n] = (uint32_t)(level[n] - 'a');
        *ngroups_p = group[n] + 1 > *ngroups_p ? group[n] + 1 : *ngroups_p;
    }
    return n;
}

/* A layout is its levels from outside in, "aaaabbbb/aabbccdd"; the last one but as many as it has
 * '!' in front is the hosts, so that "!aabb/abcd" has hosts of two islands. */
static weft_plan_t **emit(const plan_fixture_t *hier, const char *layout, weft_coll_t coll,
                          uint32_t root)
{
    uint32_t group[4][RANKS_MAX], ngroups[4], nlevels = 0, n = 0, inside = 0;
    const uint32_t *groups[4] = {group[0], group[1], group[2], group[3]};
    for (; *layout == '!'; layout++) {
        inside++;
    }
    for (const char *at = layout; at != NULL; at = strchr(at, '/')) {
        at += *at == '/' ? 1 : 0;
        n = read_level(at, group[nlevels], &ngroups[nlevels]);
        nlevels++;
    }
    uint32_t hosts = nlevels - 1 - inside;
    weft_algo_topo_t from = {.size = sizeof from,
                             .nhosts = ngroups[hosts],
                             .host = group[hosts],
                             .nlevels = nlevels,
                             .host_level = hosts,
                             .ngroups = ngroups,
                             .group = groups};
    weft_algo_call_t call = {.coll = coll, .nranks = n, .root = root};
    weft_topo_view_t view;
    assert_int_equal(weft_topo_view_init(&view, &from, NULL, n), WEFT_OK);
    weft_plan_t **plans = plan_fixture_emit_view(hier, &call, &view.topo, &finder);
    weft_topo_view_fini(&view);
    return plans;
}

static uint32_t ranks_of(const char *layout)
{
    return (uint32_t)strcspn(layout + strspn(layout, "!"), "/");
}

/* Of an all-to-all the core makes a copy where it works in place. */
static void prove_at(weft_plan_t *const *plans, const char *layout, uint32_t slots, uint32_t slices)
{
    uint32_t n = ranks_of(layout);
    weft_coll_t coll = plans[0]->coll;
    for (int in_place = 0; in_place <= (coll == WEFT_ALL_TO_ALL ? 0 : 1); in_place++) {
        weft_verify_report_t report = plan_fixture_verify(plans, n, slots, slices, in_place);
        if (report.verdict != WEFT_VERDICT_OK) {
            fail_msg("%s on %s, root %u, %u slots, %u slices, in place %d: %s: %s",
                     weft_coll_name(coll), layout, plans[0]->root, slots, slices, in_place,
                     weft_verdict_name(report.verdict), report.text);
        }
        assert_true(coll != WEFT_ALL_REDUCE || report.same_on_all_ranks);
        expected_vector = expected_vector && report.vector == WEFT_VECTOR_BLOCKS;
        expected_pairs = expected_pairs && (report.vector == WEFT_VECTOR_PAIRS ||
                                            report.vector == WEFT_VECTOR_PASSED);
    }
}

static void prove(const plan_fixture_t *hier, const char *layout, weft_coll_t coll, uint32_t root)
{
    static const uint32_t depths[][2] = {{2, 1}, {4, 1}, {4, 3}, {8, 4}, {8, 7}};
    weft_plan_t **plans = emit(hier, layout, coll, root);
    if (plans == NULL) {
        fail_msg("%s on %s: %s", weft_coll_name(coll), layout, weft_error_record()->text);
    }
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        prove_at(plans, layout, depths[i][0], depths[i][1]);
    }
    for (uint64_t seed = 1; seed <= 2; seed++) {
        assert_int_equal(plan_reference_run(plans, ranks_of(layout), 4, 2, seed), PLAN_RIGHT);
    }
    plan_fixture_free(plans, ranks_of(layout));
}

static const char *const layouts[] = {
    "aab",
    "abb",
    "aabb",
    "abab",
    "aabbcc",
    "abcabc",
    "aaabbb",
    "aaaabbbb",
    "aaaaabbbbb",
    "aabbb",
    "abbbbbbb",
    "aaaaaaab",
    "abbccc",
    "aabbbbccc",
    "abcbcacbc",
    "aabbccddee",
    "abcdeabcde",
    "abcdefga",
    "aaaaaaaabbbbbbbb",
    "cbacbacba",
    "aaaabbbbbbbbccccc",
};
#define NLAYOUTS (sizeof layouts / sizeof *layouts)

static void all_reduce_is_right_on_all_layouts(void **state)
{
    (void)state;
    for (size_t i = 0; i < NLAYOUTS; i++) {
        prove(&hier_ring, layouts[i], WEFT_ALL_REDUCE, 0);
        prove(&hier_flat, layouts[i], WEFT_ALL_REDUCE, 0);
    }
}

static void algorithms_of_several_lanes_work_between_hosts(void **state)
{
    (void)state;
    static const char *const between[] = {"algo-tree", "algo-halving"};
    for (size_t b = 0; b < 2; b++) {
        hier_config_t config = {between[b], 0};
        plan_fixture_t hier;
        plan_fixture_open_with(&hier, WEFT_PLUGIN_DIR, "algo-hier", &config);
        for (size_t i = 0; i < NLAYOUTS; i++) {
            prove(&hier, layouts[i], WEFT_ALL_REDUCE, 0);
        }
        plan_fixture_close(&hier);
    }
}

static void rooted_forms_are_right_for_every_root(void **state)
{
    (void)state;
    for (size_t i = 0; i < NLAYOUTS; i++) {
        uint32_t n = (uint32_t)strlen(layouts[i]);
        for (uint32_t root = 0; root<n; root += n> 9 ? 3 : 1) {
            prove(&hier_ring, layouts[i], WEFT_BROADCAST, root);
            prove(&hier_flat, layouts[i], WEFT_BROADCAST, root);
            prove(&hier_ring, layouts[i], WEFT_REDUCE, root);
            prove(&hier_flat, layouts[i], WEFT_REDUCE, root);
        }
    }
}

static void block_forms_over_any_algorithm_are_right_on_equal_hosts(void **state)
{
    (void)state;
    static const char *const equal[] = {
        "aabb",
        "abab",
        "abba",
        "aabbcc",
        "abcabc",
        "cabbca",
        "aaaaaaabbbbbbb",
        "aaaaabbbbbccccc",
        "abcdeabcde",
        "aaaabbbbccccdddd",
        "aaaaaaaabbbbbbbb",
    };
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++) {
        prove(&hier_flat, equal[i], WEFT_REDUCE_SCATTER, 0);
        prove(&hier_flat, equal[i], WEFT_ALL_GATHER, 0);
    }
}

/* There the blocks go round rings whatever works between hosts. */
static void block_forms_are_right_on_unequal_hosts_over_any_algorithm(void **state)
{
    (void)state;
    for (size_t i = 0; i < NLAYOUTS; i++) {
        if (ranks_of(layouts[i]) % 2 != 0 || strspn(layouts[i], "a") == 1) {
            prove(&hier_flat, layouts[i], WEFT_REDUCE_SCATTER, 0);
            prove(&hier_flat, layouts[i], WEFT_ALL_GATHER, 0);
        }
    }
    prove(&hier_flat, "aaabbbbb/aabccddd", WEFT_REDUCE_SCATTER, 0);
    prove(&hier_flat, "aaaaaabbbb/aabbcdeeff", WEFT_ALL_GATHER, 0);
}

static void block_forms_over_rings_are_right_on_all_layouts_and_serve_vectors(void **state)
{
    (void)state;
    expected_vector = true;
    for (size_t i = 0; i < NLAYOUTS; i++) {
        prove(&hier_ring, layouts[i], WEFT_REDUCE_SCATTER, 0);
        prove(&hier_ring, layouts[i], WEFT_ALL_GATHER, 0);
    }
    assert_true(expected_vector);
}

static void blocks_pass_through_one_rank_of_each_host_and_serve_vectors(void **state)
{
    (void)state;
    expected_pairs = true;
    for (size_t i = 0; i < NLAYOUTS; i++) {
        uint32_t n = (uint32_t)strlen(layouts[i]);
        for (uint32_t root = 0; root<n; root += n> 9 ? 3 : 1) {
            prove(&hier_ring, layouts[i], WEFT_GATHER, root);
            prove(&hier_ring, layouts[i], WEFT_SCATTER, root);
        }
        prove(&hier_ring, layouts[i], WEFT_ALL_TO_ALL, 0);
    }
    prove(&hier_ring, "aaabbbbb/aabccddd", WEFT_ALL_TO_ALL, 0);
    assert_true(expected_pairs);
}

static uint32_t most_peers(weft_plan_t *const *plans, uint32_t n)
{
    uint32_t most = 0;
    for (uint32_t rank = 0; rank < n; rank++) {
        uint64_t peers = 0;
        uint32_t count = 0;
        for (uint32_t i = 0; i < plans[rank]->nports; i++) {
            peers |= UINT64_C(1) << plans[rank]->ports[i].peer;
        }
        for (; peers != 0; peers &= peers - 1) {
            count++;
        }
        most = count > most ? count : most;
    }
    return most;
}

static void a_rank_has_links_to_hosts_and_not_to_all_ranks(void **state)
{
    (void)state;
    static const weft_coll_t colls[] = {WEFT_GATHER, WEFT_SCATTER, WEFT_ALL_TO_ALL};
    for (size_t i = 0; i < 3; i++) {
        weft_plan_t **plans = emit(&hier_ring, "aaaabbbbccccdddd", colls[i], 5);
        assert_non_null(plans);
        assert_int_equal(most_peers(plans, 16), 3 + 3);
        plan_fixture_free(plans, 16);
    }
}

static const weft_coll_t colls[] = {WEFT_ALL_REDUCE, WEFT_BROADCAST,      WEFT_REDUCE,
                                    WEFT_ALL_GATHER, WEFT_REDUCE_SCATTER, WEFT_GATHER,
                                    WEFT_SCATTER,    WEFT_ALL_TO_ALL};
#define NCOLLS (sizeof colls / sizeof *colls)

static void levels_inside_and_above_hosts_are_used(void **state)
{
    (void)state;
    static const char *const deep[] = {
        "!aaaa/aabb",            /* islands of one host */
        "!aaaabbbb/aabbccdd",    /* islands of two */
        "aaaabbbb/aabbccdd",     /* racks */
        "aaaabbbb/abcdefgh",     /* racks of hosts with one rank each */
        "abababab/acbdacbd",     /* dealt in turn */
        "aaabbbbb/aabccddd",     /* unequal */
        "aaaaaabbbb/aabbcdeeff", /* three racks' worth in two */
        "!aaaaaaaabbbbbbbb/aaaabbbbccccdddd/aabbccddeeffgghh", /* three levels */
        "aaaaaaaaabbb/aaaabbbbbccc",
    };
    for (size_t i = 0; i < sizeof deep / sizeof *deep; i++) {
        for (size_t k = 0; k < NCOLLS; k++) {
            uint32_t last = weft_coll_is_rooted(colls[k]) ? ranks_of(deep[i]) - 1 : 0;
            prove(&hier_ring, deep[i], colls[k], 0);
            prove(&hier_ring, deep[i], colls[k], last);
        }
        prove(&hier_flat, deep[i], WEFT_ALL_REDUCE, 0);
        prove(&hier_flat, deep[i], WEFT_BROADCAST, 1);
    }
}

/* Messages of one pass between the halves of 16 ranks. */
static uint64_t crossings(const char *layout, weft_coll_t coll)
{
    uint64_t count = 0;
    weft_plan_t **plans = emit(&hier_ring, layout, coll, 0);
    assert_non_null(plans);
    for (uint32_t rank = 0; rank < 16; rank++) {
        for (uint32_t i = 0; i < plans[rank]->nports; i++) {
            count += plans[rank]->ports[i].sends && plans[rank]->ports[i].peer / 8 != rank / 8;
        }
    }
    plan_fixture_free(plans, 16);
    return count;
}

/* Two racks of two hosts of four ranks. Every pair of heads of a rack has one link to the other
 * rack and one back; a broadcast crosses once. */
static void no_more_crosses_an_outer_level_than_must(void **state)
{
    (void)state;
    static const char *const racks = "aaaaaaaabbbbbbbb/aaaabbbbccccdddd";
    assert_int_equal(crossings(racks, WEFT_BROADCAST), 1);
    assert_int_equal(crossings(racks, WEFT_REDUCE), 1);
    assert_int_equal(crossings(racks, WEFT_ALL_REDUCE), 4 * 2 * 2);
    assert_int_equal(crossings(racks, WEFT_ALL_GATHER), 4 * 2);
    /* Hosts of the racks in turn: the ring of hosts enters each rack once nevertheless. */
    assert_int_equal(crossings("aaaaaaaabbbbbbbb/aaaaccccbbbbdddd", WEFT_ALL_GATHER), 4 * 2);
}

/* Groups of two or three on one host, and on hosts where they leave a rest. */
static void a_part_of_a_host_can_count_as_a_host(void **state)
{
    (void)state;
    for (int64_t size = 2; size <= 3; size++) {
        hier_config_t config = {"algo-ring", size};
        plan_fixture_t parts;
        plan_fixture_open_with(&parts, WEFT_PLUGIN_DIR, "algo-hier", &config);
        prove(&parts, "aaaaaa", WEFT_ALL_REDUCE, 0);
        prove(&parts, "aaaaaa", WEFT_REDUCE_SCATTER, 0);
        prove(&parts, "aaaaaaa", WEFT_ALL_REDUCE, 0);
        prove(&parts, "aababbbbbab", WEFT_ALL_REDUCE, 0);
        prove(&parts, "aababbbbbab", WEFT_REDUCE, 9);
        plan_fixture_close(&parts);
    }
}

static void many_hosts_make_no_long_plans(void **state)
{
    (void)state;
    enum { HOSTS = 128, LOCAL = 8, N = HOSTS * LOCAL };
    static uint32_t host[N];
    for (uint32_t rank = 0; rank < N; rank++) {
        host[rank] = rank / LOCAL;
    }
    weft_algo_topo_t view = {.size = sizeof view, .nhosts = HOSTS, .host = host};
    weft_algo_call_t call = {
        .size = sizeof call, .coll = WEFT_ALL_REDUCE, .nranks = N, .rank = 519};
    weft_plan_t *plan = NULL;
    assert_int_equal(weft_plan_emit(hier_ring.ops, hier_ring.algo, &call, &view, &finder, &plan),
                     WEFT_OK);
    assert_int_equal(plan->k, HOSTS * LOCAL);
    assert_int_equal(plan->nlanes, 5);
    assert_int_equal(plan->nports, 2 * 2 * (LOCAL - 1) + 2);
    assert_in_range(plan->nmoves, 1, 60);
    weft_plan_destroy(plan);
}

/* Four chunks of a piece leave one behind the other, whatever arrives meanwhile. */
static void one_chunk_is_waited_for_each_way_inside_a_host(void **state)
{
    (void)state;
    static const uint32_t host[] = {0, 0, 1, 1, 2, 2, 3, 3};
    weft_plan_t **plans = emit(&hier_ring, "aabbccdd", WEFT_ALL_REDUCE, 0);
    weft_network_t net;
    weft_network_result_t result;
    assert_non_null(plans);
    assert_int_equal(weft_network_init(&net, 8, host), WEFT_OK);
    for (uint32_t rank = 0; rank < 8; rank++) {
        assert_int_equal(weft_network_add(&net, plans[rank], false), WEFT_OK);
    }
    assert_int_equal(weft_network_price(&net, 4, 8, &result), WEFT_OK);
    assert_int_equal(result.verdict, WEFT_VERDICT_OK);
    assert_int_equal(result.cost.fill.hops[WEFT_LEVEL_INSIDE], 2);
    assert_int_equal(result.cost.fill.hops[WEFT_LEVEL_BETWEEN], 6);
    weft_network_fini(&net);
    plan_fixture_free(plans, 8);
}

static void ranks_that_are_no_heads_have_no_port_to_other_hosts(void **state)
{
    (void)state;
    weft_plan_t **plans = emit(&hier_ring, "aabbbb", WEFT_ALL_REDUCE, 0);
    assert_non_null(plans);
    for (uint32_t rank = 0; rank < 6; rank++) {
        uint32_t outside = 0;
        for (uint32_t i = 0; i < plans[rank]->nports; i++) {
            outside += (plans[rank]->ports[i].peer < 2) != (rank < 2);
        }
        assert_int_equal(outside, rank < 4 ? 2 : 0);
    }
    plan_fixture_free(plans, 6);
}

static void expect_refusal(const char *layout, const char *words)
{
    weft_error_clear(weft_error_record());
    assert_null(emit(&hier_ring, layout, WEFT_ALL_REDUCE, 0));
    assert_int_equal(weft_error_record()->status, WEFT_ERR_UNSUPPORTED);
    assert_says(weft_error_record()->text, words);
}

static void one_level_is_refused_with_the_reason(void **state)
{
    (void)state;
    expect_refusal("aaaa", "needs several hosts; all 4 ranks are on one");
    expect_refusal("abcd", "each of the 4 ranks is alone on its host");
}

static void an_algorithm_that_cannot_work_between_hosts_says_why(void **state)
{
    (void)state;
    static const hier_config_t by_itself = {"algo-hier", 0}, by_nobody = {"algo-rimg", 0};
    plan_fixture_t odd;
    plan_fixture_open_with(&odd, WEFT_PLUGIN_DIR, "algo-hier", &by_itself);
    assert_null(emit(&odd, "aabb", WEFT_ALL_REDUCE, 0));
    assert_non_null(strstr(weft_error_record()->text, "sub-plan by algo-hier"));
    assert_non_null(strstr(weft_error_record()->text, "alone on its host"));
    plan_fixture_close(&odd);
    plan_fixture_open_with(&odd, WEFT_PLUGIN_DIR, "algo-hier", &by_nobody);
    assert_null(emit(&odd, "aabb", WEFT_ALL_REDUCE, 0));
    assert_non_null(strstr(weft_error_record()->text, "no algorithm algo-rimg"));
    plan_fixture_close(&odd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_reduce_is_right_on_all_layouts),
        cmocka_unit_test(algorithms_of_several_lanes_work_between_hosts),
        cmocka_unit_test(rooted_forms_are_right_for_every_root),
        cmocka_unit_test(block_forms_over_any_algorithm_are_right_on_equal_hosts),
        cmocka_unit_test(block_forms_are_right_on_unequal_hosts_over_any_algorithm),
        cmocka_unit_test(block_forms_over_rings_are_right_on_all_layouts_and_serve_vectors),
        cmocka_unit_test(blocks_pass_through_one_rank_of_each_host_and_serve_vectors),
        cmocka_unit_test(a_rank_has_links_to_hosts_and_not_to_all_ranks),
        cmocka_unit_test(levels_inside_and_above_hosts_are_used),
        cmocka_unit_test(no_more_crosses_an_outer_level_than_must),
        cmocka_unit_test(a_part_of_a_host_can_count_as_a_host),
        cmocka_unit_test(many_hosts_make_no_long_plans),
        cmocka_unit_test(one_chunk_is_waited_for_each_way_inside_a_host),
        cmocka_unit_test(ranks_that_are_no_heads_have_no_port_to_other_hosts),
        cmocka_unit_test(one_level_is_refused_with_the_reason),
        cmocka_unit_test(an_algorithm_that_cannot_work_between_hosts_says_why),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
