/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plots of what `weft tune` measured. */
#ifndef WEFT_TOOLS_TUNE_PLOT_H
#define WEFT_TOOLS_TUNE_PLOT_H

#include "tools/tune_job.h"

/* Writes OUT-COLLECTIVE.svg for each collective. False and one line on stderr. */
bool tune_plot_all(const tune_rank_t *rank, const tune_results_t *results);

#endif
