/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See tree_position.h. Nodes are numbered so that the root's is 0: nodes that are ranks by distance
 * from the root, nodes that are hosts by distance of their numbers. */
#include "tree_position.h"

#include <stdbool.h>

typedef struct nodes {
    const weft_algo_topo_t *topo;
    const uint32_t *host; /* NULL: a node is a rank */
    uint32_t nranks, root;
    uint32_t n;     /* nodes */
    uint32_t chain; /* of the topology */
} nodes_t;

static int tree_position_is_by_host(const tree_settings_t *settings, const weft_algo_call_t *call,
                                    const weft_algo_topo_t *topo)
{
    int by_host = settings->chain == TREE_CHAIN_YES ||
                  (settings->chain == TREE_CHAIN_AUTO && topo->nhosts > 1);
    return by_host && topo->nhosts < call->nranks;
}

uint32_t tree_count(const tree_settings_t *settings, const weft_algo_call_t *call,
                    const weft_algo_topo_t *topo)
{
    uint32_t chains = 1;
    if (tree_position_is_by_host(settings, call, topo)) {
        chains = weft_algo_topo_nchains(topo);
        chains = chains < (uint32_t)settings->chains ? chains : (uint32_t)settings->chains;
    }
    return chains * (uint32_t)settings->trees;
}

/* With one rank on each host a node is a rank, and nothing need be searched. */
static nodes_t tree_position_nodes_init(const tree_settings_t *settings,
                                        const weft_algo_call_t *call, const weft_algo_topo_t *topo,
                                        uint32_t tree)
{
    nodes_t nodes = {.topo = topo,
                     .nranks = call->nranks,
                     .root = call->root,
                     .n = call->nranks,
                     .chain = tree / (uint32_t)settings->trees};
    if (tree_position_is_by_host(settings, call, topo)) {
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

/* The next rank on the same node in the cyclic order of the chain, upwards or downwards; the rank
 * itself if alone. */
static uint32_t tree_position_nodes_mate(const nodes_t *nodes, uint32_t rank, int upwards)
{
    uint32_t mate = rank, last = nodes->nranks - 1;
    if (nodes->host == NULL) {
        return rank;
    }
    uint32_t at = weft_algo_topo_chain_position(nodes->topo, nodes->chain, rank);
    do {
        if (upwards) {
            at = at == last ? 0 : at + 1;
        } else {
            at = at == 0 ? last : at - 1;
        }
        mate = weft_algo_topo_chain_rank(nodes->topo, nodes->chain, at);
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
    uint32_t host = (node + nodes->host[nodes->root]) % nodes->n;
    for (uint32_t at = 0; at < nodes->nranks; at++) {
        uint32_t rank = weft_algo_topo_chain_rank(nodes->topo, nodes->chain, at);
        if (nodes->host[rank] == host) {
            return rank;
        }
    }
    return nodes->nranks;
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
    nodes_t nodes = tree_position_nodes_init(settings, call, topo, tree);
    uint32_t node = tree_position_nodes_node(&nodes, call->rank),
             head = tree_position_nodes_head(&nodes, node);
    bool chained =
        nodes.host != NULL && weft_algo_topo_has_rings(topo) && topo->nchains > nodes.chain;
    tree_position_t position = {.up = TREE_NONE, .chain = chained ? nodes.chain : TREE_NONE};
    tree_position_place_chain(&position, &nodes, call->rank, head);
    tree_vertex_t vertex =
        tree % (uint32_t)settings->trees == 0
            ? tree_base(nodes.n, node)
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
