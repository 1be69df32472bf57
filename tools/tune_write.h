/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `weft tune` leaves: an INI file for people and for weft. */
#ifndef WEFT_TOOLS_TUNE_WRITE_H
#define WEFT_TOOLS_TUNE_WRITE_H

#include "tools/tune_edges.h"

/* Index of the winner at each size of a collective: the best of its size, or the winner of the size
 * before if that is as good within its confidence. Results of one collective stand together, in
 * the order of sizes. */
size_t tune_winner(const tune_results_t *results, size_t first, size_t end, const char *before);

/* The results from `first` on that are of one collective and size; returns the end. */
size_t tune_point_end(const tune_results_t *results, size_t first);

/* Sorts by collective and size. */
void tune_results_sort(tune_results_t *results);

/* Writes how far the model was off, and how often its choice was good, as comments. */
void tune_write_errors(FILE *out, const tune_results_t *results);

/* Writes [figures] and [tuner]. False and one line on stderr. */
bool tune_write_ini(const tune_rank_t *rank, const tune_figures_t *figures,
                    const tune_results_t *results);

#endif
