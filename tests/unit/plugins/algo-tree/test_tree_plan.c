/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plans: proved by the verifier, in and out of position, over layouts of hosts, settings,
 * depths and roots; run by the reference executor; their longest chains. */
#include "core/plan/topo_view.h"
#include "core/plan/verify.h"
#include "tests/support/plan_reference.h"
#include "tests/unit/plugins/algo-tree/shape.h"

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

/* Proves the shape in and out of position. */
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
    static shape_t shape = {.settings = USUAL};
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
    static shape_t shape = {.settings = USUAL};
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
                             .chunks = 1 + 2 * (number / 54 % 2),
                             .chains = 1};
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
                shape.settings = (tree_settings_t)USUAL;
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
    static shape_t shape = {.settings = USUAL, .n = 14};
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
    static shape_t shape = {.settings = USUAL};
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
    static shape_t shape = {.settings = USUAL};
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

static void the_longest_chain_is_up_and_down_a_tree(void **state)
{
    (void)state;
    static shape_t shape = {.settings = USUAL, .coll = WEFT_ALL_REDUCE};
    static weft_plan_t *plans[RANKS];
    uint32_t depth = 1;
    for (uint32_t n = 2; n <= 130; n += n < 34 ? 1 : 31) {
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

/* The view of hosts in which each of `chains` chains has the ranks in an order of its own. */
static void see_chains(const shape_t *shape, uint32_t chains, weft_topo_view_t *view)
{
    static uint32_t position[16][RANKS];
    const uint32_t *positions[16];
    uint32_t random = shape->n + chains;
    for (uint32_t c = 0; c < chains; c++) {
        positions[c] = position[c];
        for (uint32_t rank = 0; rank < shape->n; rank++) {
            random = random * 1664525u + 1013904223u;
            position[c][rank] = random >> 16;
        }
    }
    const weft_algo_topo_t from = {.size = sizeof from,
                                   .nhosts = shape->nhosts,
                                   .host = shape->host,
                                   .nchains = chains,
                                   .chain_position = positions};
    assert_int_equal(weft_topo_view_init(view, &from, NULL, shape->n), WEFT_OK);
}

static void chains_of_the_topology_share_the_data_and_are_proved(void **state)
{
    (void)state;
    static shape_t shape = {.settings = USUAL};
    for (uint32_t at = 0; at < 24 * LAYOUTS * 3; at++) {
        weft_topo_view_t view;
        shape.n = 2 + at % 24;
        shape.coll = colls[at / 24 % 3];
        shape.root = shape.coll == WEFT_ALL_REDUCE ? 0 : shape.n / 2;
        shape.settings.trees = 1 + at % 2;
        layouts[at / 72](&shape);
        see_chains(&shape, 2 + at % 4, &view);
        shape.topo = &view.topo;
        uint32_t hosts = shape.nhosts > 1 && shape.nhosts < shape.n;
        weft_plan_t *plan = emit_one(&shape, 0);
        assert_int_equal(plan->k, (hosts ? weft_algo_topo_nchains(&view.topo) : 1) *
                                      (uint32_t)shape.settings.trees);
        weft_plan_destroy(plan);
        if (shape.settings.trees > 1) {
            prove_both(&shape, 4, 3);
            prove_both(&shape, 1, 2);
        } else {
            static weft_plan_t *plans[RANKS];
            emit(&shape, plans);
            assert_int_equal(plan_fixture_verify(plans, shape.n, 2, 1, 0).verdict, WEFT_VERDICT_OK);
            drop(&shape, plans);
        }
        weft_topo_view_fini(&view);
    }
}

static void one_host_is_a_chain_only_if_asked(void **state)
{
    (void)state;
    static shape_t shape = {.settings = USUAL, .coll = WEFT_ALL_REDUCE, .n = 12};
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
        cmocka_unit_test(the_longest_chain_is_up_and_down_a_tree),
        cmocka_unit_test(chains_of_the_topology_share_the_data_and_are_proved),
        cmocka_unit_test(one_host_is_a_chain_only_if_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
