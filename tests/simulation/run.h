/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One run: a job, what goes wrong in it, and whether what its ranks say of it is true. */
#ifndef WEFT_SIMULATION_RUN_H
#define WEFT_SIMULATION_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "faults.h"

typedef struct run_options {
    const char *image, *plugins; /* files of the rank's program and of the plugins */
    const char *net;             /* NULL: the seed chooses */
    int kind;                    /* −1: the seed chooses */
    uint32_t ranks;              /* 0: the seed chooses */
    bool loud;
} run_options_t;

/* What a run came to. */
typedef struct run_result {
    bool good;
    run_kind_t kind;
    uint32_t nranks, nhosts, errors, shrinks, steps;
    uint64_t turns, calls, trace;
    double seconds;  /* of virtual time */
    char what[1024]; /* what is wrong, or "" */
} run_result_t;

void run_seed(const run_options_t *options, uint64_t seed, run_result_t *result);

#endif
