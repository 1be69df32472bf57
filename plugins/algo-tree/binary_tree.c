/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See binary_tree.h for the invariants and the source. */
#include "binary_tree.h"

static uint32_t tree_power_below(uint32_t n)
{
    uint32_t power = 1;
    while (power < n - power) {
        power *= 2;
    }
    return power;
}

tree_vertex_t tree_base(uint32_t n, uint32_t r)
{
    tree_vertex_t vertex = {.parent = TREE_NONE, .child = {TREE_NONE, TREE_NONE}};
    if (r == 0) {
        vertex.child[1] = n > 1 ? tree_power_below(n) : TREE_NONE;
        return vertex;
    }
    uint32_t low = r & (~r + 1), above = (r - low) | (low << 1);
    /* At the right edge the parent would be past the end; its nearest ancestor that exists takes
     * its position. */
    vertex.parent = above < n ? above : r - low;
    vertex.which = r < vertex.parent ? 0 : 1;
    if (low == 1) {
        return vertex;
    }
    uint32_t step = low / 2;
    vertex.child[0] = r - step;
    while (step > 0 && step >= n - r) {
        step /= 2;
    }
    vertex.child[1] = step > 0 ? r + step : TREE_NONE;
    return vertex;
}

/* A change of names of the nodes from `pinned` on. */
typedef struct renaming {
    uint32_t n, pinned;
    int mirror;
} renaming_t;

static uint32_t binary_tree_renaming_name(const renaming_t *renaming, uint32_t node)
{
    uint32_t pinned = renaming->pinned, last = renaming->n - 1;
    if (node < pinned) {
        return node;
    }
    if (renaming->mirror) {
        return last - (node - pinned);
    }
    return node == pinned ? last : node - 1;
}

static uint32_t binary_tree_renaming_node(const renaming_t *renaming, uint32_t name)
{
    if (name == TREE_NONE || name < renaming->pinned || renaming->mirror) {
        return name == TREE_NONE ? TREE_NONE : binary_tree_renaming_name(renaming, name);
    }
    return name == renaming->n - 1 ? renaming->pinned : name + 1;
}

tree_vertex_t tree_second(uint32_t n, uint32_t r, uint32_t pinned, tree_second_t how)
{
    int even = (n - pinned) % 2 == 0;
    renaming_t renaming = {n, pinned, how == TREE_MIRROR || (how == TREE_AUTO && even)};
    tree_vertex_t vertex = tree_base(n, binary_tree_renaming_name(&renaming, r));
    vertex.parent = binary_tree_renaming_node(&renaming, vertex.parent);
    vertex.child[0] = binary_tree_renaming_node(&renaming, vertex.child[0]);
    vertex.child[1] = binary_tree_renaming_node(&renaming, vertex.child[1]);
    return vertex;
}
