/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All-gather and reduce-scatter by a binomial tree per block, all trees at once. Pure functions; no
 * I/O, no state.
 *
 * Every block has its own tree over distances s = 0 … n−1 from its owner. In the round of hop d (a
 * power of two) the blocks at the distances d, 3d, 5d … move: an all-gather takes them there from
 * distances 0, 2d, 4d …, the farthest hop first; a reduce-scatter takes partial sums from there to
 * 0, 2d, 4d …, the nearest hop first. So a hop of d carries about n/2d blocks: half of all bytes go
 * to the next rank, and one block goes halfway round. Distances of n and more do not exist and are
 * left out, for any n.
 *
 * Blocks that move to one partner in one round share messages as far as they fit into them.
 *
 * Sources: the order is that of NCCL's PAT: S. Jeaugey, "PAT: a new algorithm for all-gather and
 * reduce-scatter operations at scale", arXiv 2506.20252 (2025); rounds and peers are those of J.
 * Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, "Efficient algorithms for all-to-all
 * communications in multiport message-passing systems", IEEE TPDS 8 (1997). */
#ifndef PAT_PLAN_H
#define PAT_PLAN_H

#include <weft/plugin/algo.h>

/* Number of the parameter that limits the blocks of a message. */
#define PAT_AGGREGATE 0

/* Rounds: ⌈log2 n⌉. The hop of round i is 2^i. */
uint32_t pat_rounds(uint32_t n);

/* Blocks that move in the round of hop d: how many of d, 3d, 5d … are below n. */
uint32_t pat_blocks(uint32_t n, uint32_t d);

/* The rank `distance` positions before or after `rank`. */
uint32_t pat_before(uint32_t rank, uint32_t distance, uint32_t n);
uint32_t pat_after(uint32_t rank, uint32_t distance, uint32_t n);

/* Blocks that a MOVE of the call's plan packs if they fit into a message. */
uint32_t pat_wanted(const weft_algo_call_t *call);

/* Each writes the plan of call->rank. */
void pat_all_gather(const weft_algo_call_t *call, weft_plan_builder_t *builder);
void pat_reduce_scatter(const weft_algo_call_t *call, weft_plan_builder_t *builder);

#endif
