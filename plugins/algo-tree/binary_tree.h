/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two binary trees over the same nodes 0 … n−1, in which the inner nodes of one are leaves of the
 * other. Pure arithmetic in O(log n); no ranks, no hosts, no state.
 *
 * Source: P. Sanders, J. Speck and J. L. Träff, "Two-tree algorithms for full bandwidth broadcast,
 * reduction and scan", Parallel Computing 35 (2009), in the form with lowest set bits that NCCL
 * uses.
 *
 * Base tree. Node 0 is the root and has one child, the largest power of two below n. Below it the
 * tree is in-order: node r with lowest set bit L stands L's level above the odd nodes, and what is
 * under it is in (r−L, r+L). Invariants, for n ≥ 2: the depth is ⌈log2 n⌉; odd nodes are leaves;
 * even nodes are inner.
 *
 * Second tree. The base tree with other names, so that even nodes get odd names and the other way
 * round. `pinned` nodes from 0 on (0 or 1 of them) keep their names; m = n − pinned others change:
 *
 *   mirror   x becomes n − 1 + pinned − x   even and odd change places if m is even
 *   shift    x becomes x − 1, cyclic        even and odd change places for all, but if m is odd the
 *                                           first of them, which becomes the last
 *
 * Nodes that are not pinned have these properties:
 *
 *   pinned   construction   m even                        m odd
 *   0        mirror         inner in exactly one tree     the even nodes are inner in both
 *   0        shift          inner in exactly one tree     the same, but node 0 is inner in both
 *   1        mirror         inner in exactly one tree     the even nodes are inner in both
 *   1        shift          inner in exactly one tree     the same, but node 1 is inner in none
 *
 * (One exception: an only node, m = 1, is inner in none.) TREE_AUTO is mirror for even m and shift
 * for odd m. Mirror with odd m gives right trees that use the network badly; it is there to be
 * measured. A node inner in one tree has there at most two children, so with half of the data down
 * each tree it sends and receives everything once. With 0 pinned the trees have different roots:
 * what an all-reduce needs. With 1 pinned node 0 is on top of both and has one child in each, which
 * gets half of the data: what a broadcast or a reduce needs. */
#ifndef BINARY_TREE_H
#define BINARY_TREE_H

#include <stdint.h>

#define TREE_NONE UINT32_MAX

/* The neighbours of a node. */
typedef struct tree_vertex {
    uint32_t parent;   /* TREE_NONE: the root */
    uint32_t child[2]; /* TREE_NONE: absent */
    uint32_t which;    /* this node is child[which] of its parent; 0 for the root */
} tree_vertex_t;

typedef enum tree_second { TREE_AUTO = 0, TREE_MIRROR = 1, TREE_SHIFT = 2 } tree_second_t;

/* Returns the neighbours of node r < n in the base tree. Cost: O(log n). */
tree_vertex_t tree_base(uint32_t n, uint32_t r);

/* Returns its neighbours in the second tree; pinned is 0 or 1 and below n. */
tree_vertex_t tree_second(uint32_t n, uint32_t r, uint32_t pinned, tree_second_t how);

#endif
