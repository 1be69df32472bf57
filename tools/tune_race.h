/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the rounds of the candidates at one size tell: who is out, and the times. A machine has fast
 * and slow moments, which last for some rounds and are no merit of whoever runs then. So times are
 * compared within a round only. */
#ifndef WEFT_TOOLS_TUNE_RACE_H
#define WEFT_TOOLS_TUNE_RACE_H

#include "tools/tune_job.h"

#define TUNE_ROUNDS_MAX 64

/* The rounds of one candidate. */
typedef struct tune_rounds {
    uint32_t count;
    bool out;                        /* gets no more rounds */
    double nearest;                  /* to the best of a round so far, as a multiple of it */
    double seconds[TUNE_ROUNDS_MAX]; /* of a call in each */
} tune_rounds_t;

typedef struct tune_race {
    tune_rounds_t runs[TUNE_CANDIDATES_MAX];
    uint32_t count; /* of candidates */
} tune_race_t;

/* The mean of the middle half: of two communicators, one lucky and one not, it takes both. Sorts
 * the values. */
double tune_race_middle_of(double *values, uint32_t count);

/* Takes the time of a candidate that is not out: its next round. */
void tune_race_take(tune_race_t *race, uint32_t candidate, double seconds);

/* Ends a round that all candidates have had who are not out. Who was far behind the best in every
 * round so far is out: no noise makes it win. */
void tune_race_end_round(tune_race_t *race);

/* Writes seconds, low and high of each candidate's result: the middle of its shares of the pace,
 * which is the mean of a round, times the middle pace. At least one round has ended. Puts the times
 * in another order. */
void tune_race_judge(tune_race_t *race, tune_result_t *results);

#endif
