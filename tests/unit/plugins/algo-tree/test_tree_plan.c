/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plans: proved by the verifier, in and out of place, over layouts of hosts, settings, depths and
 * roots; run by the reference executor; their size, chains and load. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/error.h"
#include "plugins/algo-tree/algo_tree.c"
#include "plugins/algo-tree/binary_tree.c"
#include "plugins/algo-tree/tree_place.c"
#include "plugins/algo-tree/tree_plan.c"
#include "tests/support/plan_fixture.h"
#include "tests/support/plan_reference.h"

#define RANKS 1024u

static const tree_settings_t usual = {
    .pattern = TREE_BALANCED, .second = TREE_AUTO, .trees = 2, .chunks = 1};
static const weft_coll_t colls[] = {WEFT_ALL_REDUCE, WEFT_BROADCAST, WEFT_REDUCE};

/* One case: what to emit and where the ranks run. */
typedef struct shape {
    tree_settings_t settings;
    weft_coll_t coll;
    uint32_t n, root, nhosts;
    uint32_t host[RANKS];
} shape_t;

typedef void (*layout_fn_t)(shape_t *shape);

static void one_host(shape_t *shape)
{
    shape->nhosts = 1;
    memset(shape->host, 0, sizeof shape->host);
}

static void host_per_rank(shape_t *shape)
{
    shape->nhosts = shape->n;
    for (uint32_t rank = 0; rank < shape->n; rank++) {
        shape->host[rank] = rank;
    }
}

static void equal_hosts(shape_t *shape)
{
    for (uint32_t rank = 0; rank < shape->n; rank++) {
        shape->host[rank] = rank / 4;
    }
    shape->nhosts = (shape->n - 1) / 4 + 1;
}

/* 1, 2, 3, … ranks, in this order. */
static void unequal_hosts(shape_t *shape)
{
    uint32_t host = 0, used = 0;
    for (uint32_t rank = 0; rank < shape->n; rank++) {
        if (used > host) {
            host++;
            used = 0;
        }
        shape->host[rank] = host;
        used++;
    }
    shape->nhosts = host + 1;
}

static void dealt_hosts(shape_t *shape)
{
    shape->nhosts = shape->n < 3 ? shape->n : 3;
    for (uint32_t rank = 0; rank < shape->n; rank++) {
        shape->host[rank] = rank % shape->nhosts;
    }
}

/* Host 0 has every other rank, the others one each. */
static void crowded_host(shape_t *shape)
{
    shape->nhosts = 1;
    for (uint32_t rank = 0; rank < shape->n; rank++) {
        shape->host[rank] = rank % 2 == 0 ? 0 : shape->nhosts++;
    }
}

static const layout_fn_t layouts[] = {one_host,      host_per_rank, equal_hosts,
                                      unequal_hosts, dealt_hosts,   crowded_host};
#define LAYOUTS (sizeof layouts / sizeof *layouts)

static weft_plan_t *emit_one(const shape_t *shape, uint32_t rank)
{
    weft_algo_t algo = {.settings = shape->settings};
    weft_algo_view_t view = {.size = sizeof view, .nhosts = shape->nhosts, .host = shape->host};
    weft_algo_call_t call = {.size = sizeof call,
                             .coll = shape->coll,
                             .nranks = shape->n,
                             .rank = rank,
                             .root = shape->root};
    weft_plan_t *plan = NULL;
    if (weft_plan_emit(&tree_ops, &algo, &call, &view, NULL, &plan) != WEFT_OK) {
        fail_msg("rank %u of %u: %s", rank, shape->n, weft_error_record()->text);
    }
    return plan;
}

static void emit(const shape_t *shape, weft_plan_t **plans)
{
    for (uint32_t rank = 0; rank < shape->n; rank++) {
        plans[rank] = emit_one(shape, rank);
    }
}

static void drop(const shape_t *shape, weft_plan_t **plans)
{
    for (uint32_t rank = 0; rank < shape->n; rank++) {
        weft_plan_destroy(plans[rank]);
    }
}

static weft_verify_report_t prove(const shape_t *shape, weft_plan_t **plans, uint32_t slots,
                                  uint32_t slices, int in_place)
{
    weft_verify_report_t report = plan_fixture_verify(plans, shape->n, slots, slices, in_place);
    if (report.verdict != WEFT_VERDICT_OK) {
        fail_msg("collective %d, %u ranks, %u hosts, root %u, pattern %d, second %d, chain %d, "
                 "%d trees, %d chunks, %u slots, %u slices: %s: %s",
                 (int)shape->coll, shape->n, shape->nhosts, shape->root,
                 (int)shape->settings.pattern, (int)shape->settings.second,
                 (int)shape->settings.chain, (int)shape->settings.trees,
                 (int)shape->settings.chunks, slots, slices, weft_verdict_name(report.verdict),
                 report.text);
    }
    assert_true(shape->coll != WEFT_ALL_REDUCE || report.same_on_all_ranks);
    assert_true(shape->settings.trees > 1 || report.same_for_all_chunks);
    return report;
}

/* Proves the shape in and out of place. */
static void prove_both(const shape_t *shape, uint32_t slots, uint32_t slices)
{
    static weft_plan_t *plans[RANKS];
    emit(shape, plans);
    prove(shape, plans, slots, slices, 0);
    prove(shape, plans, slots, slices, 1);
    drop(shape, plans);
}

static void two_to_forty_ranks_on_one_host(void **state)
{
    (void)state;
    static shape_t shape = {.settings = usual};
    for (uint32_t n = 2; n <= 40; n++) {
        shape.n = n;
        one_host(&shape);
        for (uint32_t i = 0; i < 3; i++) {
            shape.coll = colls[i];
            shape.root = i == 0 ? 0 : n / 2;
            prove_both(&shape, 4, 3);
        }
    }
}

static void every_root_of_few_ranks(void **state)
{
    (void)state;
    static shape_t shape = {.settings = usual};
    for (uint32_t n = 2; n <= 13; n++) {
        for (uint32_t at = 0; at < LAYOUTS * n; at++) {
            shape.n = n;
            shape.root = at % n;
            layouts[at / n](&shape);
            for (uint32_t i = 1; i < 3; i++) {
                shape.coll = colls[i];
                prove_both(&shape, 2, 1);
            }
        }
    }
}

/* All settings, as a number from 0 to 107. */
static tree_settings_t settings_number(uint32_t number)
{
    return (tree_settings_t){.pattern = number % 3,
                             .second = number / 3 % 3,
                             .chain = number / 9 % 3,
                             .trees = 1 + number / 27 % 2,
                             .chunks = 1 + 2 * (number / 54 % 2)};
}

static void all_settings_over_all_layouts(void **state)
{
    (void)state;
    static shape_t shape;
    static const uint32_t sizes[] = {2, 3, 6, 7, 12, 17};
    for (uint32_t number = 0; number < 108; number++) {
        shape.settings = settings_number(number);
        for (uint32_t at = 0; at < LAYOUTS * 6; at++) {
            shape.n = sizes[at % 6];
            layouts[at / 6](&shape);
            shape.coll = colls[(number + at) % 3];
            shape.root = shape.coll == WEFT_ALL_REDUCE ? 0 : shape.n / 2;
            prove_both(&shape, 2, 1);
        }
    }
}

static void every_depth_with_every_number_of_slices_below_it(void **state)
{
    (void)state;
    static shape_t shape;
    for (uint32_t slots = 2; slots <= 8; slots *= 2) {
        for (uint32_t slices = 1; slices < slots; slices++) {
            for (uint32_t at = 0; at < LAYOUTS * 3; at++) {
                shape.settings = usual;
                shape.settings.chunks = 1 + at % 2;
                shape.coll = colls[at % 3];
                shape.n = 11;
                shape.root = at % 3 == 0 ? 0 : 7;
                layouts[at / 3](&shape);
                prove_both(&shape, slots, slices);
            }
        }
    }
}

static void one_slot_is_enough_for_any_number_of_slices(void **state)
{
    (void)state;
    static shape_t shape = {.settings = usual, .n = 14};
    for (uint32_t at = 0; at < LAYOUTS * 3; at++) {
        shape.coll = colls[at % 3];
        layouts[at / 3](&shape);
        prove_both(&shape, 1, 5);
    }
}

static void many_ranks(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {64, 97, 255, 256, 600};
    static shape_t shape = {.settings = usual};
    for (uint32_t at = 0; at < 5 * LAYOUTS; at++) {
        shape.n = sizes[at % 5];
        layouts[at / 5](&shape);
        shape.coll = colls[at % 3];
        shape.root = shape.coll == WEFT_ALL_REDUCE ? 0 : shape.n / 3;
        prove_both(&shape, 8, 4);
    }
}

static void real_sums_come_out_in_any_interleaving(void **state)
{
    (void)state;
    static shape_t shape = {.settings = usual};
    static weft_plan_t *plans[RANKS];
    for (uint32_t at = 0; at < LAYOUTS * 3; at++) {
        shape.n = 5 + at % 4;
        layouts[at / 3](&shape);
        shape.coll = colls[at % 3];
        shape.root = shape.coll == WEFT_ALL_REDUCE ? 0 : 3;
        emit(&shape, plans);
        for (uint64_t seed = 1; seed <= 5; seed++) {
            assert_int_equal(plan_reference_run(plans, shape.n, 2, 3, seed), PLAN_RIGHT);
        }
        drop(&shape, plans);
    }
}

static void plans_do_not_grow_with_the_ranks(void **state)
{
    (void)state;
    static shape_t shape = {.n = RANKS};
    for (uint32_t at = 0; at < LAYOUTS * 3; at++) {
        shape.settings = usual;
        shape.settings.chunks = 64;
        shape.coll = colls[at % 3];
        layouts[at / 3](&shape);
        for (uint32_t rank = 0; rank < shape.n; rank += 31) {
            weft_plan_t *plan = emit_one(&shape, rank);
            assert_int_equal(plan->k, 128);
            assert_int_equal(plan->tmp_chunks, 0);
            assert_true(plan->nmoves <= 4 && plan->nlanes == plan->nmoves);
            assert_true(plan->nports <= 16);
            weft_plan_destroy(plan);
        }
    }
}

/* Slices a rank sends to other ranks in one pass, in chunks. */
static uint32_t chunks_sent(const weft_plan_t *plan)
{
    uint32_t sent = 0;
    for (uint32_t i = 0; i < plan->nports; i++) {
        sent += plan->ports[i].sends;
    }
    return sent;
}

/* A tree with half of the data on each edge: two chunks are the whole message. */
static void nobody_sends_a_broadcast_more_than_once(void **state)
{
    (void)state;
    static shape_t shape = {.settings = usual, .coll = WEFT_BROADCAST};
    for (uint32_t n = 2; n <= 600; n += n < 40 ? 1 : 79) {
        shape.n = n;
        shape.root = n / 2;
        one_host(&shape);
        for (uint32_t rank = 0; rank < n; rank++) {
            weft_plan_t *plan = emit_one(&shape, rank);
            assert_true(chunks_sent(plan) <= 2);
            weft_plan_destroy(plan);
        }
    }
}

/* On the way up every rank but a root sends its half in each tree, on the way down at most two more,
 * but for rank 0 of an odd number, which is inner in both trees. */
static void nobody_sends_an_all_reduce_more_than_twice(void **state)
{
    (void)state;
    static shape_t shape = {.settings = usual, .coll = WEFT_ALL_REDUCE};
    for (uint32_t n = 2; n <= 600; n += n < 40 ? 1 : 79) {
        shape.n = n;
        one_host(&shape);
        for (uint32_t rank = 0; rank < n; rank++) {
            weft_plan_t *plan = emit_one(&shape, rank);
            assert_true(chunks_sent(plan) <= 4);
            weft_plan_destroy(plan);
        }
    }
}

static void the_longest_chain_is_up_and_down_a_tree(void **state)
{
    (void)state;
    static shape_t shape = {.settings = usual, .coll = WEFT_ALL_REDUCE};
    static weft_plan_t *plans[RANKS];
    uint32_t depth = 1;
    for (uint32_t n = 2; n <= 130; n += n < 34 ? 1 : 31) {
        depth += n > (1u << depth);
        while ((1u << depth) < n) {
            depth++;
        }
        shape.n = n;
        one_host(&shape);
        emit(&shape, plans);
        weft_verify_report_t report = prove(&shape, plans, 8, 1, 0);
        assert_int_equal(report.critical_moves, 2 * depth + 1);
        drop(&shape, plans);
    }
}

static uint32_t hosts_crossed(const shape_t *shape)
{
    uint32_t crossed = 0;
    for (uint32_t rank = 0; rank < shape->n; rank++) {
        weft_plan_t *plan = emit_one(shape, rank);
        for (uint32_t i = 0; i < plan->nports; i++) {
            const weft_plan_port_t *port = &plan->ports[i];
            crossed += port->sends && shape->host[port->peer] != shape->host[rank];
        }
        weft_plan_destroy(plan);
    }
    return crossed;
}

/* A tree over h hosts has h − 1 edges; two trees, up and down. */
static void chains_keep_data_inside_hosts(void **state)
{
    (void)state;
    static shape_t shape = {.settings = usual, .coll = WEFT_ALL_REDUCE};
    for (uint32_t n = 2; n <= 33; n++) {
        for (uint32_t at = 0; at < LAYOUTS; at++) {
            shape.n = n;
            layouts[at](&shape);
            shape.settings.chain = TREE_CHAIN_AUTO;
            assert_int_equal(hosts_crossed(&shape), 4 * (shape.nhosts - 1));
        }
        dealt_hosts(&shape);
        shape.settings.chain = TREE_CHAIN_NO;
        assert_true(n < 6 || hosts_crossed(&shape) > 4 * (shape.nhosts - 1));
    }
}

static uint32_t links_of(const shape_t *shape, uint32_t rank)
{
    uint32_t links = 0;
    weft_plan_t *plan = emit_one(shape, rank);
    for (uint32_t i = 0; i < plan->nports; i++) {
        const weft_plan_port_t *port = &plan->ports[i];
        links += port->sends && shape->host[port->peer] != shape->host[rank];
    }
    weft_plan_destroy(plan);
    return links;
}

/* Four hosts of four ranks, one tree: host 2 has host 0 above it, 1 and 3 below it. */
static void patterns_place_the_links_to_other_hosts(void **state)
{
    (void)state;
    static const uint32_t expected[3][4] = {
        [TREE_SPLIT] = {1, 2, 0, 0}, [TREE_BALANCED] = {2, 1, 0, 0}, [TREE_PLAIN] = {3, 0, 0, 0}};
    static shape_t shape = {.settings = usual, .coll = WEFT_ALL_REDUCE, .n = 16};
    equal_hosts(&shape);
    shape.settings.trees = 1;
    for (int64_t pattern = TREE_SPLIT; pattern <= TREE_PLAIN; pattern++) {
        shape.settings.pattern = pattern;
        for (uint32_t i = 0; i < 4; i++) {
            assert_int_equal(links_of(&shape, 8 + i), expected[pattern][i]);
        }
    }
}

static void one_host_is_a_chain_only_if_asked(void **state)
{
    (void)state;
    static shape_t shape = {.settings = usual, .coll = WEFT_ALL_REDUCE, .n = 12};
    static weft_plan_t *plans[RANKS];
    static const uint32_t moves[] = {9, 23, 9};
    one_host(&shape);
    for (int64_t chain = TREE_CHAIN_AUTO; chain <= TREE_CHAIN_NO; chain++) {
        shape.settings.chain = chain;
        emit(&shape, plans);
        assert_int_equal(prove(&shape, plans, 4, 1, 0).critical_moves, moves[chain]);
        drop(&shape, plans);
    }
}

static void a_host_without_ranks_is_an_error(void **state)
{
    (void)state;
    uint32_t host[3] = {0, 0, 2};
    weft_algo_t algo = {.settings = usual};
    weft_algo_view_t view = {.size = sizeof view, .nhosts = 4, .host = host};
    weft_algo_call_t call = {.size = sizeof call, .coll = WEFT_ALL_REDUCE, .nranks = 5};
    uint32_t five[5] = {0, 0, 2, 2, 2};
    view.host = five;
    weft_plan_t *plan = NULL;
    assert_int_equal(weft_plan_emit(&tree_ops, &algo, &call, &view, NULL, &plan), WEFT_ERR_PLAN);
}

static void the_loaded_plugin_has_the_usual_settings_by_default(void **state)
{
    (void)state;
    plan_fixture_t fixture;
    plan_fixture_open(&fixture, WEFT_PLUGIN_DIR, "algo-tree");
    static shape_t shape = {.settings = usual, .coll = WEFT_REDUCE, .n = 9, .root = 4};
    weft_plan_t **plans = plan_fixture_emit(&fixture, WEFT_REDUCE, 9, 4);
    assert_non_null(plans);
    for (uint32_t rank = 0; rank < 9; rank++) {
        weft_plan_t *plan = emit_one(&shape, rank);
        shape.nhosts = 1;
        assert_true(weft_plan_hash(plan) == weft_plan_hash(plans[rank]));
        weft_plan_destroy(plan);
    }
    plan_fixture_free(plans, 9);
    plan_fixture_close(&fixture);
}

static void other_collectives_are_refused_in_words(void **state)
{
    (void)state;
    plan_fixture_t fixture;
    plan_fixture_open(&fixture, WEFT_PLUGIN_DIR, "algo-tree");
    weft_algo_call_t call = {.size = sizeof call, .coll = WEFT_ALL_GATHER, .nranks = 4};
    assert_int_equal(fixture.ops->supports(fixture.algo, &call), WEFT_ERR_UNSUPPORTED);
    assert_non_null(strstr(weft_error_record()->text, "no plan for all_gather"));
    assert_non_null(strstr(weft_error_record()->text, "all_reduce, broadcast and reduce"));
    assert_null(plan_fixture_emit(&fixture, WEFT_ALL_TO_ALL, 4, 0));
    call.coll = WEFT_COLL_COUNT;
    assert_int_equal(fixture.ops->supports(fixture.algo, &call), WEFT_ERR_UNSUPPORTED);
    for (uint32_t i = 0; i < 3; i++) {
        call.coll = colls[i];
        assert_int_equal(fixture.ops->supports(fixture.algo, &call), WEFT_OK);
    }
    plan_fixture_close(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_to_forty_ranks_on_one_host),
        cmocka_unit_test(every_root_of_few_ranks),
        cmocka_unit_test(all_settings_over_all_layouts),
        cmocka_unit_test(every_depth_with_every_number_of_slices_below_it),
        cmocka_unit_test(one_slot_is_enough_for_any_number_of_slices),
        cmocka_unit_test(many_ranks),
        cmocka_unit_test(real_sums_come_out_in_any_interleaving),
        cmocka_unit_test(plans_do_not_grow_with_the_ranks),
        cmocka_unit_test(nobody_sends_a_broadcast_more_than_once),
        cmocka_unit_test(nobody_sends_an_all_reduce_more_than_twice),
        cmocka_unit_test(the_longest_chain_is_up_and_down_a_tree),
        cmocka_unit_test(chains_keep_data_inside_hosts),
        cmocka_unit_test(patterns_place_the_links_to_other_hosts),
        cmocka_unit_test(one_host_is_a_chain_only_if_asked),
        cmocka_unit_test(a_host_without_ranks_is_an_error),
        cmocka_unit_test(the_loaded_plugin_has_the_usual_settings_by_default),
        cmocka_unit_test(other_collectives_are_refused_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
