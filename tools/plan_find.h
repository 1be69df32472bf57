/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a plan reaches the other loaded algorithms: by name. An instance of each is made when it is
 * first asked for. */
#ifndef WEFT_TOOLS_PLAN_FIND_H
#define WEFT_TOOLS_PLAN_FIND_H

#include "core/plan/sub.h"
#include "core/plugin/registry.h"

#define PLAN_ALGOS_MAX 64

typedef struct plan_finder {
    weft_plan_finder_t finder;
    const weft_registry_t *registry;
    weft_algo_t *algos[PLAN_ALGOS_MAX]; /* as in the registry; NULL until asked for */
} plan_finder_t;

void plan_finder_open(plan_finder_t *finder, const weft_registry_t *registry);
void plan_finder_close(plan_finder_t *finder);

#endif
