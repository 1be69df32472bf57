/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks for benches: processes of this machine, forked by the first. */
#ifndef BENCH_RANKS_H
#define BENCH_RANKS_H

#include <weft/weft.h>

/* Forks n − 1 processes and joins a communicator with the options settings[]: returns it, and this
 * process's number in *rank_p. Ends the process if anything fails. */
weft_comm_t *bench_ranks_start(uint32_t n, char **settings, int nsettings, uint32_t *rank_p);

/* Destroys the communicator. Returns 0, or 1 in the first process if another one failed. */
int bench_ranks_end(weft_comm_t *comm);

/* Ends the process with the error of the last call unless status is OK. */
void bench_require(weft_status_t status);

/* Returns seconds of the monotonic clock. */
double bench_now(void);

/* Sorts v[] and returns the value in the middle. */
double bench_median(double *v, uint32_t n);

#endif
