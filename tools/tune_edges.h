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
    double gamma[WEFT_FIGURES_RATES];
} tune_figures_t;

/* Rank 0 exchanges messages with a rank of its host, and with one of another host. All ranks call;
 * rank 0 gets the figures, kernels as the slowest rank computes. */
weft_status_t tune_edges_measure(tune_rank_t *rank, tune_figures_t *figures);

#endif
