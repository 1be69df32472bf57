/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See layout.h. */
#include "layout.h"

void hier_view_split(const weft_algo_topo_t *topo, uint32_t n, uint32_t size,
                     weft_algo_topo_t *split, uint32_t *host, uint32_t *count)
{
    uint32_t nhosts = 0;
    for (uint32_t rank = 0; rank < n; rank++) {
        host[rank] = count[topo->host[rank]]++;
    }
    for (uint32_t i = 0; i < topo->nhosts; i++) {
        uint32_t groups = (count[i] + size - 1) / size;
        count[i] = nhosts; /* From here on: the first group of this host. */
        nhosts += groups;
    }
    for (uint32_t rank = 0; rank < n; rank++) {
        host[rank] = count[topo->host[rank]] + host[rank] / size;
    }
    split->nhosts = nhosts;
    split->host = host;
}

bool hier_view_choose(const weft_algo_topo_t *topo, uint32_t n, weft_algo_topo_t *split)
{
    bool outer = false, chosen = false;
    for (uint32_t level = weft_algo_topo_has_levels(topo) ? topo->nlevels : 0; level-- > 0;) {
        uint32_t groups = topo->ngroups[level];
        if (groups < 2 || groups == n) {
            continue;
        }
        outer = outer || (chosen && groups < split->nhosts);
        if (!chosen) {
            split->nhosts = groups;
            split->host = topo->group[level];
            chosen = true;
        }
    }
    return outer;
}

size_t hier_layout_words(uint32_t n, uint32_t nhosts)
{
    return (size_t)n + 4 * (size_t)nhosts + 1;
}

static void layout_sort_ranks(hier_layout_t *layout, const weft_algo_topo_t *topo, uint32_t *next)
{
    for (uint32_t rank = 0; rank < layout->n; rank++) {
        layout->first[topo->host[rank] + 1]++;
    }
    for (uint32_t host = 0; host < layout->nhosts; host++) {
        layout->first[host + 1] += layout->first[host];
        next[host] = layout->first[host];
    }
    for (uint32_t rank = 0; rank < layout->n; rank++) {
        layout->ranks[next[topo->host[rank]]++] = rank;
    }
}

/* The order of the hosts is that in which the order of the ranks meets them. */
static void layout_order_hosts(hier_layout_t *layout, const weft_algo_topo_t *topo, uint32_t *met)
{
    uint32_t places = 0;
    for (uint32_t i = 0; places < layout->nhosts; i++) {
        uint32_t host = topo->host[weft_algo_topo_rank(topo, i)];
        if (met[host] != 0) {
            continue;
        }
        met[host] = 1;
        layout->place = host == layout->host ? places : layout->place;
        layout->ring[places++] = host;
    }
}

void hier_layout_init(hier_layout_t *layout, const weft_algo_topo_t *topo, uint32_t n,
                      uint32_t rank, uint32_t *memory)
{
    *layout = (hier_layout_t){.n = n,
                              .nhosts = topo->nhosts,
                              .heads = n,
                              .host = topo->host[rank],
                              .ranks = memory,
                              .first = memory + n,
                              .group = memory + n + topo->nhosts + 1,
                              .ring = memory + n + 2 * topo->nhosts + 1};
    layout_sort_ranks(layout, topo, layout->group);
    layout_order_hosts(layout, topo, layout->ring + topo->nhosts);
    for (uint32_t host = 0; host < topo->nhosts; host++) {
        uint32_t ranks = layout->first[host + 1] - layout->first[host];
        layout->heads = ranks < layout->heads ? ranks : layout->heads;
        layout->widest = ranks > layout->widest ? ranks : layout->widest;
    }
    layout->locals = layout->first[layout->host + 1] - layout->first[layout->host];
    layout->index = hier_position(layout, rank);
}

uint32_t hier_local(const hier_layout_t *layout, uint32_t index)
{
    return layout->ranks[layout->first[layout->host] + index];
}

uint32_t hier_position(const hier_layout_t *layout, uint32_t rank)
{
    uint32_t position = 0;
    while (hier_local(layout, position) != rank) {
        position++;
    }
    return position;
}

const uint32_t *hier_group(const hier_layout_t *layout, uint32_t index)
{
    for (uint32_t host = 0; host < layout->nhosts; host++) {
        layout->group[host] = layout->ranks[layout->first[host] + index];
    }
    return layout->group;
}

const uint32_t *hier_leaders(const hier_layout_t *layout, uint32_t root, uint32_t *position_p)
{
    for (uint32_t host = 0; host < layout->nhosts; host++) {
        layout->group[host] = layout->ranks[layout->first[host]];
        for (uint32_t i = layout->first[host]; i < layout->first[host + 1]; i++) {
            if (layout->ranks[i] == root) {
                layout->group[host] = root;
                *position_p = host;
            }
        }
    }
    return layout->group;
}
