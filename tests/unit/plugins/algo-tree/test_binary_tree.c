/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Arithmetic of the two trees, exhaustively for 1 to 600 nodes: each construction is a tree, is as
 * deep as it should be, and has as inner nodes those the header promises. */
#include <string.h>

#include "plugins/algo-tree/binary_tree.c"
#include "tests/support/unit.h"

#define NODES 600u

/* A tree written out. */
typedef struct forest {
    uint32_t n;
    tree_vertex_t at[NODES];
} forest_t;

static uint32_t log2_up(uint32_t n)
{
    uint32_t log = 0;
    while ((1u << log) < n) {
        log++;
    }
    return log;
}

static void write_base(forest_t *tree, uint32_t n)
{
    tree->n = n;
    for (uint32_t r = 0; r < n; r++) {
        tree->at[r] = tree_base(n, r);
    }
}

static void write_second(forest_t *tree, uint32_t n, uint32_t pinned, tree_second_t how)
{
    tree->n = n;
    for (uint32_t r = 0; r < n; r++) {
        tree->at[r] = tree_second(n, r, pinned, how);
    }
}

static int is_inner(const forest_t *tree, uint32_t r)
{
    return tree->at[r].child[0] != TREE_NONE || tree->at[r].child[1] != TREE_NONE;
}

static uint32_t root_of(const forest_t *tree)
{
    uint32_t root = TREE_NONE;
    for (uint32_t r = 0; r < tree->n; r++) {
        if (tree->at[r].parent == TREE_NONE) {
            assert_int_equal(root, TREE_NONE);
            root = r;
        }
    }
    assert_int_not_equal(root, TREE_NONE);
    return root;
}

static void check_parents_and_children(const forest_t *tree)
{
    uint32_t edges = 0;
    for (uint32_t r = 0; r < tree->n; r++) {
        const tree_vertex_t *vertex = &tree->at[r];
        for (uint32_t i = 0; i < 2; i++) {
            if (vertex->child[i] != TREE_NONE) {
                assert_true(vertex->child[i] < tree->n);
                assert_int_equal(tree->at[vertex->child[i]].parent, r);
                assert_int_equal(tree->at[vertex->child[i]].which, i);
                edges++;
            }
        }
        if (vertex->parent != TREE_NONE) {
            assert_true(vertex->parent < tree->n);
            assert_int_equal(tree->at[vertex->parent].child[vertex->which], r);
        }
    }
    assert_int_equal(edges, tree->n - 1);
}

/* Every node is reached from the root, and the farthest in ⌈log2 n⌉ steps. */
static void check_depth(const forest_t *tree)
{
    uint32_t root = root_of(tree), deepest = 0;
    for (uint32_t r = 0; r < tree->n; r++) {
        uint32_t depth = 0;
        for (uint32_t at = r; at != root; at = tree->at[at].parent) {
            assert_true(++depth <= tree->n);
        }
        deepest = depth > deepest ? depth : deepest;
    }
    assert_int_equal(deepest, log2_up(tree->n));
}

static void check_tree(const forest_t *tree)
{
    check_parents_and_children(tree);
    check_depth(tree);
}

/* In how many of the trees the header says that node r is inner. */
static uint32_t promised(uint32_t n, uint32_t pinned, uint32_t r, int mirror)
{
    uint32_t m = n - pinned;
    if (m == 1) {
        return 0;
    }
    if (m % 2 == 0) {
        return 1;
    }
    if (mirror) {
        return r % 2 == 0 ? 2 : 0;
    }
    if (r == pinned) {
        return pinned == 0 ? 2 : 0;
    }
    return 1;
}

static void check_inner(const forest_t *base, const forest_t *second, uint32_t pinned, int mirror)
{
    for (uint32_t r = pinned; r < base->n; r++) {
        uint32_t inner = (uint32_t)(is_inner(base, r) + is_inner(second, r));
        assert_int_equal(inner, promised(base->n, pinned, r, mirror));
    }
}

static void the_base_tree_is_a_tree_of_logarithmic_depth(void **state)
{
    (void)state;
    static forest_t tree;
    for (uint32_t n = 1; n <= NODES; n++) {
        write_base(&tree, n);
        check_tree(&tree);
        assert_int_equal(root_of(&tree), 0);
        for (uint32_t r = 0; n > 1 && r < n; r++) {
            assert_int_equal(is_inner(&tree, r), r % 2 == 0);
        }
    }
}

static void the_base_tree_of_14_nodes_is_the_known_one(void **state)
{
    (void)state;
    static const tree_vertex_t expected[14] = {
        {TREE_NONE, {TREE_NONE, 8}, 0},
        {2, {TREE_NONE, TREE_NONE}, 0},
        {4, {1, 3}, 0},
        {2, {TREE_NONE, TREE_NONE}, 1},
        {8, {2, 6}, 0},
        {6, {TREE_NONE, TREE_NONE}, 0},
        {4, {5, 7}, 1},
        {6, {TREE_NONE, TREE_NONE}, 1},
        {0, {4, 12}, 1},
        {10, {TREE_NONE, TREE_NONE}, 0},
        {12, {9, 11}, 0},
        {10, {TREE_NONE, TREE_NONE}, 1},
        {8, {10, 13}, 1},
        {12, {TREE_NONE, TREE_NONE}, 1},
    };
    for (uint32_t r = 0; r < 14; r++) {
        tree_vertex_t vertex = tree_base(14, r);
        assert_memory_equal(&vertex, &expected[r], sizeof vertex);
    }
}

static void each_second_tree_is_one_and_has_the_inner_nodes_promised(void **state)
{
    (void)state;
    static forest_t base, second;
    for (uint32_t n = 1; n <= NODES; n++) {
        write_base(&base, n);
        for (uint32_t pinned = 0; pinned < 2 && pinned < n; pinned++) {
            write_second(&second, n, pinned, TREE_MIRROR);
            check_tree(&second);
            check_inner(&base, &second, pinned, 1);
            write_second(&second, n, pinned, TREE_SHIFT);
            check_tree(&second);
            check_inner(&base, &second, pinned, 0);
        }
    }
}

static void auto_is_the_construction_that_keeps_inner_nodes_apart(void **state)
{
    (void)state;
    static forest_t chosen, named;
    for (uint32_t n = 1; n <= NODES; n++) {
        for (uint32_t pinned = 0; pinned < 2 && pinned < n; pinned++) {
            write_second(&chosen, n, pinned, TREE_AUTO);
            write_second(&named, n, pinned, (n - pinned) % 2 == 0 ? TREE_MIRROR : TREE_SHIFT);
            assert_memory_equal(chosen.at, named.at, n * sizeof *chosen.at);
        }
    }
}

static void a_pinned_node_is_the_root_of_both_with_one_child_in_each(void **state)
{
    (void)state;
    static forest_t second;
    for (uint32_t n = 2; n <= NODES; n++) {
        assert_int_equal(tree_base(n, 0).child[0], TREE_NONE);
        for (int how = TREE_AUTO; how <= TREE_SHIFT; how++) {
            write_second(&second, n, 1, (tree_second_t)how);
            assert_int_equal(root_of(&second), 0);
            assert_int_equal(second.at[0].child[0], TREE_NONE);
            assert_int_not_equal(second.at[0].child[1], TREE_NONE);
        }
    }
}

static void the_trees_of_an_all_reduce_have_different_roots(void **state)
{
    (void)state;
    static forest_t second;
    for (uint32_t n = 2; n <= NODES; n++) {
        for (int how = TREE_AUTO; how <= TREE_SHIFT; how++) {
            write_second(&second, n, 0, (tree_second_t)how);
            assert_int_not_equal(root_of(&second), 0);
        }
    }
}

static void the_largest_trees_do_not_overflow(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {0x80000000u, 0x80000001u, 0xfffffffeu, 0xffffffffu};
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint32_t n = sizes[i], depth = 0;
        for (uint32_t at = n - 1; at != 0; at = tree_base(n, at).parent) {
            assert_true(++depth <= 32);
        }
        tree_vertex_t top = tree_base(n, 0);
        assert_int_equal(top.child[1], n == 0x80000000u ? 0x40000000u : 0x80000000u);
        assert_int_equal(tree_base(n, top.child[1]).parent, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_base_tree_is_a_tree_of_logarithmic_depth),
        cmocka_unit_test(the_base_tree_of_14_nodes_is_the_known_one),
        cmocka_unit_test(each_second_tree_is_one_and_has_the_inner_nodes_promised),
        cmocka_unit_test(auto_is_the_construction_that_keeps_inner_nodes_apart),
        cmocka_unit_test(a_pinned_node_is_the_root_of_both_with_one_child_in_each),
        cmocka_unit_test(the_trees_of_an_all_reduce_have_different_roots),
        cmocka_unit_test(the_largest_trees_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
