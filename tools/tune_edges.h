/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures the figures of the cost model: an edge inside a host, one between hosts, the kernel. */
#ifndef WEFT_TOOLS_TUNE_EDGES_H
#define WEFT_TOOLS_TUNE_EDGES_H

#include "tools/tune_job.h"

/* What was measured; an alpha of 0: there is no such edge. */
typedef struct tune_figures {
    weft_cost_edge_t level[WEFT_LEVELS];
    char net[WEFT_LEVELS][TUNE_NAME_MAX];
    weft_cost_busy_t busy[WEFT_LEVELS]; /* a turn of 0: ranks do not outnumber cores */
    double gamma[WEFT_FIGURES_RATES];
    double cores; /* that the ranks of a host have together */
    double cache; /* bytes */
    double wire;  /* seconds per byte between hosts, all ranks of one together; 0: there are none */
} tune_figures_t;

/* Rank 0 exchanges messages with a rank of its host, and with one of another host. All ranks call;
 * rank 0 gets the figures, kernels as the slowest rank computes. */
weft_status_t tune_edges_measure(tune_rank_t *rank, tune_figures_t *figures);

#endif
