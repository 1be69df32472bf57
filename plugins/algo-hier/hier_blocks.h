/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce-scatter and all-gather in two levels, for hosts with equal numbers of ranks: the ranks at
 * one position on all hosts form a group, and a rank stands for the blocks of its group. They are
 * one lane, for what passes between the levels is scratch. */
#ifndef WEFT_ALGO_HIER_HIER_BLOCKS_H
#define WEFT_ALGO_HIER_HIER_BLOCKS_H

#include "level.h"

/* All hosts have the same number of ranks. */
void hier_reduce_scatter(const hier_job_t *job);
void hier_all_gather(const hier_job_t *job);

#endif
