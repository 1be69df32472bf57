/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Arithmetic of recursive halving: the partner of each step, and the ranges that the two exchange.
 * Pure functions; no I/O, no state.
 *
 * Any number of ranks n is served by 2^p units, the largest power of two not above n. The first n −
 * 2^p units are pairs of neighbouring ranks, whose first speaks for both; the others are single
 * ranks. So the ranks of consecutive units are consecutive. */
#ifndef HALVING_STEPS_H
#define HALVING_STEPS_H

#include <stdint.h>

/* Places 0 … 2^p−1 of one rank's job. */
typedef struct halving_job {
    uint32_t n;
    uint32_t steps; /* p */
    uint32_t units; /* 2^p */
    uint32_t pairs; /* n − 2^p units are pairs */
} halving_job_t;

/* One exchange, in units: what this position keeps, and what its partner keeps. Both are `cnt`
 * units. */
typedef struct halving_step {
    uint32_t peer; /* place of the partner */
    uint32_t keep, give, cnt;
} halving_step_t;

halving_job_t halving_job(uint32_t n);

/* Unit of a rank, first rank of a unit (of n for unit 2^p), and the second rank of a pair or n. */
uint32_t halving_unit(const halving_job_t *job, uint32_t rank);
uint32_t halving_first(const halving_job_t *job, uint32_t unit);
uint32_t halving_second(const halving_job_t *job, uint32_t unit);

/* Step i (0 … p−1) of halving the range 0 … 2^p−1 at `position`. Near: partners are 1, 2, 4 … away,
 * so the nearest exchanges the most; the last range kept is `position` with its bits reversed. Far:
 * 2^p/2 … 2, 1 away; the last range kept is `position`. */
halving_step_t halving_near(const halving_job_t *job, uint32_t position, uint32_t i);
halving_step_t halving_far(const halving_job_t *job, uint32_t position, uint32_t i);

#endif
