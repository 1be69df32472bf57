/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The order in which a rank meets all the others. Pure arithmetic; no I/O, no state.
 *
 * Ranks are numbered by positions, host by host, and cut in groups of G positions, G the largest
 * number that divides the number of ranks of every host (over several hosts at most 8 ranks to a
 * group). In the round of distance (d, l) the rank at position l' of group g sends to position l' +
 * l of group g + d and receives from position l' − l of group g − d. So every round is a
 * permutation of the job, and in n rounds every rank has met every rank once, itself in round 0.
 * Group distances come in the order of the triangular numbers 0, 1, 3, 6, … modulo a power of two,
 * which visits every residue once and keeps consecutive rounds away from neighbours.
 *
 * Source: the point-to-point schedule of NCCL (src/init.cc), restated from its description; groups
 * that share a host follow the same file. */
#ifndef DIRECT_SCHEDULE_H
#define DIRECT_SCHEDULE_H

#include <weft/plugin/algo.h>

#define DIRECT_GROUP_MAX 8 /* ranks of a group when there are several hosts */

typedef struct direct_schedule {
    uint32_t n;
    uint32_t group;        /* ranks of a group */
    uint32_t groups;       /* of them: group · groups = n */
    uint32_t *rank_at;     /* by position */
    uint32_t *position_of; /* by rank */
} direct_schedule_t;

/* One round; all 0 is the first. */
typedef struct direct_round {
    uint32_t step;      /* which triangular number */
    uint32_t groups;    /* distance in groups */
    uint32_t positions; /* distance inside the group */
} direct_round_t;

/* Words of memory that a schedule of n ranks needs. */
size_t direct_schedule_words(uint32_t n);

/* Fills the schedule; `memory` stays the caller's and must outlive it. */
void direct_schedule_init(direct_schedule_t *schedule, const weft_algo_topo_t *topo, uint32_t n,
                          uint32_t *memory);

/* Goes to the next round; 0 when all n have been. */
int direct_round_next(const direct_schedule_t *schedule, direct_round_t *round);

/* Return the ranks that `rank` sends to and receives from in this round. */
uint32_t direct_target(const direct_schedule_t *schedule, const direct_round_t *round,
                       uint32_t rank);
uint32_t direct_source(const direct_schedule_t *schedule, const direct_round_t *round,
                       uint32_t rank);

#endif
