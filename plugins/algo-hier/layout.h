/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranks of each host. Pure arithmetic; no I/O, no state.
 *
 * Ranks of a host are in rank order. With L the smallest number of ranks on any host, the first L
 * ranks of every host are its heads; head j of all hosts form ring, tree or whatever number j. */
#ifndef HIER_LAYOUT_H
#define HIER_LAYOUT_H

#include <stdbool.h>

#include <weft/plugin/algo.h>

typedef struct hier_layout {
    uint32_t n, nhosts;
    uint32_t heads;       /* L */
    uint32_t widest;      /* largest number of ranks on any host */
    uint32_t host, index; /* of this rank: its host, its position there */
    uint32_t locals;      /* ranks of this host */
    uint32_t *first;      /* by host, and one more: where it begins in `ranks` */
    uint32_t *ranks;      /* host by host */
    uint32_t *group;      /* one rank of each host; room for the callers of hier_group() */
    uint32_t *ring;       /* the hosts in an order in which neighbours are near */
    uint32_t place;       /* of this rank's host in it */
} hier_layout_t;

/* Sets the hosts of `split`, a copy of `topo`, to the groups of the innermost level that has groups
 * of several ranks, and several groups. Returns whether a level further out parts these groups. */
bool hier_view_choose(const weft_algo_topo_t *topo, uint32_t n, weft_algo_topo_t *split);

/* Takes the ranks of each host in groups of `size`, the last one smaller, and counts every group as
 * a host: sets the hosts of `split`, a copy of `topo`; they are in host[0 … n−1]; `count` has n
 * zeroed words. */
void hier_view_split(const weft_algo_topo_t *topo, uint32_t n, uint32_t size,
                     weft_algo_topo_t *split, uint32_t *host, uint32_t *count);

/* Words of memory for a layout. */
size_t hier_layout_words(uint32_t n, uint32_t nhosts);

/* Fills the layout for `rank`; `memory` is zeroed, stays the caller's and must outlive it. */
void hier_layout_init(hier_layout_t *layout, const weft_algo_topo_t *topo, uint32_t n,
                      uint32_t rank, uint32_t *memory);

/* Rank at position `index` of this rank's host. */
uint32_t hier_local(const hier_layout_t *layout, uint32_t index);

/* Place of `rank`, which is on this rank's host. */
uint32_t hier_position(const hier_layout_t *layout, uint32_t rank);

/* Head `index` of each host, by host, in layout->group. */
const uint32_t *hier_group(const hier_layout_t *layout, uint32_t index);

/* The first rank of each host, but `root` on its host; *position_p is the host of the root. */
const uint32_t *hier_leaders(const hier_layout_t *layout, uint32_t root, uint32_t *position_p);

#endif
