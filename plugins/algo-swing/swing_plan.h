/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plans of this plugin. */
#ifndef SWING_PLAN_H
#define SWING_PLAN_H

#include <stdbool.h>

#include <weft/plugin/algo.h>

#include "swing_steps.h"

/* The plugin's options. */
typedef struct swing_settings {
    int64_t x, y; /* ranks along the first dimensions of the torus; 0: all that are left */
    bool mirror;  /* half of the data goes the other way round */
} swing_settings_t;

/* The torus of n ranks. Returns 1, or 0 if the options do not part n ranks like this. */
int swing_torus(const swing_settings_t *settings, uint32_t n, uint32_t size[SWING_DIMENSIONS]);

/* Writes the plan of call->rank. */
void swing_all_reduce(const swing_settings_t *settings, const weft_algo_call_t *call,
                      const weft_algo_topo_t *topo, weft_plan_builder_t *builder);

#endif
