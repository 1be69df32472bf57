/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where ranks stand: size of the plans, load of the ranks, links between hosts. */
#include "tests/unit/plugins/algo-tree/shape.h"

static void plans_do_not_grow_with_the_ranks(void **state)
{
    (void)state;
    static shape_t shape = {.n = RANKS};
    for (uint32_t at = 0; at < LAYOUTS * 3; at++) {
        shape.settings = (tree_settings_t)USUAL;
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

/* The most chunks that any rank sends, or receives, in one pass. */
static uint32_t most_chunks(const shape_t *shape)
{
    uint32_t most = 0;
    for (uint32_t rank = 0; rank < shape->n; rank++) {
        weft_plan_t *plan = emit_one(shape, rank);
        uint32_t count[2] = {0, 0};
        for (uint32_t i = 0; i < plan->nports; i++) {
            count[plan->ports[i].sends]++;
        }
        most = count[0] > most ? count[0] : most;
        most = count[1] > most ? count[1] : most;
        weft_plan_destroy(plan);
    }
    return most;
}

/* With half of the data in each tree two chunks are the whole message. */
static void nobody_sends_a_broadcast_twice_or_an_all_reduce_thrice(void **state)
{
    (void)state;
    static shape_t shape = {.settings = USUAL};
    for (uint32_t n = 2; n <= 600; n += n < 40 ? 1 : 79) {
        shape.n = n;
        one_host(&shape);
        for (uint32_t i = 0; i < 3; i++) {
            shape.coll = colls[i];
            shape.root = i == 0 ? 0 : n / 2;
            assert_true(most_chunks(&shape) <= (i == 0 ? 4 : 2));
        }
    }
}

/* What the README says of chains: in halves of the message. */
static void chains_send_what_is_documented(void **state)
{
    (void)state;
    static const uint32_t expected[3][3] = {
        [TREE_SPLIT] = {6, 4, 4}, [TREE_BALANCED] = {5, 4, 4}, [TREE_PLAIN] = {6, 4, 4}};
    static shape_t shape = {.settings = USUAL, .n = 32};
    equal_hosts(&shape);
    for (uint32_t at = 0; at < 9; at++) {
        shape.settings.pattern = at / 3;
        shape.coll = colls[at % 3];
        assert_int_equal(most_chunks(&shape), expected[at / 3][at % 3]);
    }
}

/* Edges from this rank to other hosts. */
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

static uint32_t hosts_crossed(const shape_t *shape)
{
    uint32_t crossed = 0;
    for (uint32_t rank = 0; rank < shape->n; rank++) {
        crossed += links_of(shape, rank);
    }
    return crossed;
}

/* A tree over h hosts has h − 1 edges; two trees, up and down. */
static void chains_keep_data_inside_hosts(void **state)
{
    (void)state;
    static shape_t shape = {.settings = USUAL, .coll = WEFT_ALL_REDUCE};
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

/* Four hosts of four ranks: in the base tree host 2 has host 0 above it, 1 and 3 below it. Who of
 * its ranks 8 … 11 talks to their first ranks, and to whom of host 0 it talks. */
static void patterns_place_the_links_to_other_hosts(void **state)
{
    (void)state;
    static const uint32_t expected[3][3] = {
        [TREE_SPLIT] = {1, 9, 9}, [TREE_BALANCED] = {1, 8, 9}, [TREE_PLAIN] = {0, 8, 8}};
    static shape_t shape = {.settings = USUAL, .n = 16};
    equal_hosts(&shape);
    weft_algo_topo_t view = {.size = sizeof view, .nhosts = 4, .host = shape.host};
    for (int64_t pattern = TREE_SPLIT; pattern <= TREE_PLAIN; pattern++) {
        shape.settings.pattern = pattern;
        uint32_t found[3] = {TREE_NONE, TREE_NONE, TREE_NONE};
        for (uint32_t rank = 8; rank < 12; rank++) {
            weft_algo_call_t call = {.size = sizeof call, .nranks = 16, .rank = rank};
            tree_position_t position = tree_position(&shape.settings, &call, &view, 0, 0);
            assert_int_equal(position.up, rank == 8 ? expected[pattern][0] : rank - 1);
            for (uint32_t i = 0; i < position.ndown; i++) {
                found[1] = position.down[i] == 4 ? rank : found[1];
                found[2] = position.down[i] == 12 ? rank : found[2];
            }
        }
        assert_int_equal(found[1], expected[pattern][1]);
        assert_int_equal(found[2], expected[pattern][2]);
    }
}

static void a_host_without_ranks_is_an_error(void **state)
{
    (void)state;
    static const uint32_t host[5] = {0, 0, 2, 2, 2};
    static const tree_settings_t settings = USUAL;
    weft_algo_t algo = {.frame = &tree_frame, .config = &settings};
    weft_algo_topo_t view = {.size = sizeof view, .nhosts = 4, .host = host};
    weft_algo_call_t call = {.size = sizeof call, .coll = WEFT_ALL_REDUCE, .nranks = 5};
    weft_plan_t *plan = NULL;
    assert_int_equal(weft_plan_emit(&tree_ops, &algo, &call, &view, NULL, &plan), WEFT_ERR_PLAN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_do_not_grow_with_the_ranks),
        cmocka_unit_test(nobody_sends_a_broadcast_twice_or_an_all_reduce_thrice),
        cmocka_unit_test(chains_send_what_is_documented),
        cmocka_unit_test(chains_keep_data_inside_hosts),
        cmocka_unit_test(patterns_place_the_links_to_other_hosts),
        cmocka_unit_test(a_host_without_ranks_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
