/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One trial of a cell: ranks live, the fault strikes, and what they came to is judged. */
#ifndef TESTS_MATRIX_TRIAL_H
#define TESTS_MATRIX_TRIAL_H

#include <sys/types.h>

#include "life.h"

#define TRIAL_HELPERS 4

typedef struct trial {
    const cell_t *cell;
    uint32_t round; /* decides who is the victim */
    double slack;   /* bars are multiplied by it */
    bool sandboxed;
    board_t *board;
    uint32_t victim, late;
    pid_t pids[MATRIX_RANKS];
    bool reaped[MATRIX_RANKS];
    pid_t helpers[TRIAL_HELPERS]; /* strangers, impostors */
    uint32_t nhelpers;
} trial_t;

typedef struct outcome {
    bool skipped, green;
    char why[MATRIX_WORDS]; /* of what is not green */
    char status[32];        /* the error of the slowest survivor; empty: none */
    double ms;        /* from the fault to its first error, or the longest call after the fault */
    uint32_t went_on; /* ranks that had right results in a communicator made after the fault */
    double again_ms;  /* from the fault to the first right results without the victim; 0: none */
} outcome_t;

/* The fault strikes; what it needs before the ranks begin is in strike_prepare(). */
void strike_prepare(trial_t *trial);
void strike(trial_t *trial);
/* The fault ends, where it is one that ends. */
void strike_heal(trial_t *trial);

/* Runs it in a process of its own. Letters in `how`: p, without a sandbox; v, what ranks say is
 * seen. */
void trial_run(const cell_t *cell, uint32_t round, double slack, const char *how,
               outcome_t *outcome);

/* After all ranks have ended, or were given up: `ended` says which. */
void judge(const trial_t *trial, outcome_t *outcome);

#endif
