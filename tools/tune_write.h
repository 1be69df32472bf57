/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `weft tune` leaves: an INI file for people and for weft. */
#ifndef WEFT_TOOLS_TUNE_WRITE_H
#define WEFT_TOOLS_TUNE_WRITE_H

#include "tools/tune_edges.h"

/* Sorts by collective and size. */
void tune_results_sort(tune_results_t *results);

/* How far the model was off, in per cent, and at how many sizes the choice was within 10 % of the
 * best. */
typedef struct tune_errors {
    double low, median, high; /* quartiles */
    size_t good, all;
} tune_errors_t;

/* by_model: the choice is the one with the least `model`, else the one that was chosen. */
void tune_errors_find(const tune_results_t *results, bool by_model, tune_errors_t *errors);

/* Writes both as comments: as configured, and with the figures that were found. */
void tune_errors_print(FILE *out, const tune_errors_t *before, const tune_errors_t *after);

/* What a file of [figures] and [tuner] that was written here begins with. */
#define TUNE_FIRST_WORDS "# Measured by weft "

/* Writes [figures] and [tuner]; `errors` before and after. False and one line on stderr. */
bool tune_write_ini(const tune_rank_t *rank, const tune_figures_t *figures,
                    const tune_results_t *results, const tune_errors_t errors[2]);

#endif
