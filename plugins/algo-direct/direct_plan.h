/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans in which every rank talks to every other one, for large messages: each byte crosses one
 * edge per phase, and several peers progress together. Pure functions; no I/O, no state.
 *
 * The reductions are the reduce-scatter and all-gather by direct exchange that R. Thakur,
 * R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH",
 * IJHPCA 19 (2005), describe; contributions are folded in rank order. */
#ifndef DIRECT_PLAN_H
#define DIRECT_PLAN_H

#include "schedule.h"

#define DIRECT_PAIRS_MAX 16

/* The input of a plan. */
typedef struct direct_job {
    const weft_algo_call_t *call;
    const direct_schedule_t *schedule;
    weft_plan_builder_t *builder;
    uint32_t pairs;      /* peers that progress together, each way */
    uint32_t *to, *from; /* memory for the ports by rank */
} direct_job_t;

/* Each writes the plan of call->rank. */
void direct_all_to_all(const direct_job_t *job);
void direct_gather(const direct_job_t *job);
void direct_scatter(const direct_job_t *job);
void direct_all_gather(const direct_job_t *job);
void direct_reduce_scatter(const direct_job_t *job);
void direct_all_reduce(const direct_job_t *job);

#endif
