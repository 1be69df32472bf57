/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The position of a rank in each of the two trees. Nodes form binary trees; the ranks of a node
 * form a chain. A node is a host, or a rank if the settings say so. */
#ifndef TREE_POSITION_H
#define TREE_POSITION_H

#include <weft/plugin/algo.h>

#include "binary_tree.h"

#define TREE_DOWN_MAX 3 /* the next of the chain and two nodes */

/* Which rank of a node's chain g0, g1, … has the links to the nodes below; g0 has the link to the
 * node above. A node of one rank has all links there.
 *
 *   pattern    child 0   child 1
 *   split      g1        g1
 *   balanced   g0        g1
 *   plain      g0        g0 */
typedef enum tree_pattern { TREE_SPLIT = 0, TREE_BALANCED = 1, TREE_PLAIN = 2 } tree_pattern_t;

typedef enum tree_chain {
    TREE_CHAIN_AUTO = 0, /* if there are several hosts */
    TREE_CHAIN_YES = 1,  /* a node is a host */
    TREE_CHAIN_NO = 2    /* a node is a rank, wherever it runs */
} tree_chain_t;

/* The options of the plugin. */
typedef struct tree_settings {
    int64_t pattern; /* tree_pattern_t */
    int64_t second;  /* tree_second_t */
    int64_t chain;   /* tree_chain_t */
    int64_t trees;   /* 1 or 2 */
    int64_t chunks;  /* of each tree and pass */
    int64_t chains;  /* most of the topology's */
} tree_settings_t;

/* Neighbours of a rank in one tree. */
typedef struct tree_position {
    uint32_t up; /* TREE_NONE: this rank is on top */
    uint32_t down[TREE_DOWN_MAX];
    uint32_t ndown;
    uint32_t chain; /* of the topology that it follows; TREE_NONE: none */
} tree_position_t;

/* Trees of a plan: for each chain of the topology, where nodes are hosts, one or two. */
uint32_t tree_count(const tree_settings_t *settings, const weft_algo_call_t *call,
                    const weft_algo_topo_t *topo);

/* The place of call->rank in a tree. Trees of one chain stand together, the base tree first. With
 * `rooted` call->root is on top of all; else the two of a chain have different tops. The ranks of a
 * node are in the order of the chain, but the node of the root starts with the root. Cost: O(log
 * n), and O(nranks) to find the ranks of other hosts. */
tree_position_t tree_position(const tree_settings_t *settings, const weft_algo_call_t *call,
                              const weft_algo_topo_t *topo, uint32_t tree, int rooted);

#endif
