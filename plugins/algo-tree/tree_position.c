/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See tree_position.h. Nodes are numbered so that the root's is 0: nodes that are ranks by distance from
 * the root, nodes that are hosts by distance of their numbers. */
#include "tree_position.h"

typedef struct nodes {
    const uint32_t *host; /* NULL: a node is a rank */
    uint32_t nranks, root;
    uint32_t n; /* nodes */
} nodes_t;

/* With one rank on each host a node is a rank, and nothing need be searched. */
static nodes_t tree_position_nodes_init(const tree_settings_t *settings,
                                        const weft_algo_call_t *call, const weft_algo_topo_t *topo)
{
    int by_host = settings->chain == TREE_CHAIN_YES ||
                  (settings->chain == TREE_CHAIN_AUTO && topo->nhosts > 1);
    nodes_t nodes = {.nranks = call->nranks, .root = call->root, .n = call->nranks};
    if (by_host && topo->nhosts < call->nranks) {
        nodes.host = topo->host;
        nodes.n = topo->nhosts;
    }
    return nodes;
}

static uint32_t tree_position_nodes_node(const nodes_t *nodes, uint32_t rank)
{
    if (nodes->host == NULL) {
        return (rank + (nodes->nranks - nodes->root)) % nodes->nranks;
    }
    return (nodes->host[rank] + (nodes->n - nodes->host[nodes->root])) % nodes->n;
}

/* The next rank on the same node in cyclic order, upwards or downwards; the rank itself if alone. */
static uint32_t tree_position_nodes_mate(const nodes_t *nodes, uint32_t rank, int upwards)
{
    uint32_t mate = rank, last = nodes->nranks - 1;
    if (nodes->host == NULL) {
        return rank;
    }
    do {
        if (upwards) {
            mate = mate == last ? 0 : mate + 1;
        } else {
            mate = mate == 0 ? last : mate - 1;
        }
    } while (nodes->host[mate] != nodes->host[rank]);
    return mate;
}

/* g0 of a node. */
static uint32_t tree_position_nodes_head(const nodes_t *nodes, uint32_t node)
{
    if (nodes->host == NULL) {
        return (uint32_t)(((uint64_t)node + nodes->root) % nodes->nranks);
    }
    if (node == 0) {
        return nodes->root;
    }
    uint32_t host = (node + nodes->host[nodes->root]) % nodes->n, rank = 0;
    while (rank < nodes->nranks && nodes->host[rank] != host) {
        rank++;
    }
    return rank;
}

/* The rank of a node that has the link to its child `which`. */
static uint32_t tree_position_nodes_link(const nodes_t *nodes, uint32_t node, uint32_t which,
                                         int64_t pattern)
{
    uint32_t head = tree_position_nodes_head(nodes, node);
    int second = pattern == TREE_SPLIT || (pattern == TREE_BALANCED && which == 1);
    return second && head < nodes->nranks ? tree_position_nodes_mate(nodes, head, 1) : head;
}

static void tree_position_place_chain(tree_position_t *position, const nodes_t *nodes,
                                      uint32_t rank, uint32_t head)
{
    uint32_t next = tree_position_nodes_mate(nodes, rank, 1);
    if (next != head) {
        position->down[position->ndown++] = next;
    }
    if (rank != head) {
        position->up = tree_position_nodes_mate(nodes, rank, 0);
    }
}

tree_position_t tree_position(const tree_settings_t *settings, const weft_algo_call_t *call,
                              const weft_algo_topo_t *topo, uint32_t tree, int rooted)
{
    nodes_t nodes = tree_position_nodes_init(settings, call, topo);
    uint32_t node = tree_position_nodes_node(&nodes, call->rank),
             head = tree_position_nodes_head(&nodes, node);
    tree_position_t position = {.up = TREE_NONE};
    tree_position_place_chain(&position, &nodes, call->rank, head);
    tree_vertex_t vertex =
        tree == 0 ? tree_base(nodes.n, node)
                  : tree_second(nodes.n, node, rooted ? 1 : 0, (tree_second_t)settings->second);
    if (call->rank == head && vertex.parent != TREE_NONE) {
        position.up =
            tree_position_nodes_link(&nodes, vertex.parent, vertex.which, settings->pattern);
    }
    for (uint32_t which = 0; which < 2; which++) {
        if (vertex.child[which] != TREE_NONE &&
            tree_position_nodes_link(&nodes, node, which, settings->pattern) == call->rank) {
            position.down[position.ndown++] = tree_position_nodes_head(&nodes, vertex.child[which]);
        }
    }
    return position;
}
