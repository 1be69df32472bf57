/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Figures of the cost model from the times of calls: what single messages do not tell, such as the
 * price of a turn on a core. */
#ifndef WEFT_TOOLS_TUNE_FIT_H
#define WEFT_TOOLS_TUNE_FIT_H

#include "tools/tune_edges.h"

/* Moves the figures, as measured alone, to where the model is least wrong for the results, and puts
 * its times with them into the results. Sizes without a new figure keep theirs. Rank 0 calls; it
 * takes the plans from the communicators of the candidates. */
weft_status_t tune_fit(tune_rank_t *rank, tune_figures_t *figures, tune_results_t *results);

#endif
