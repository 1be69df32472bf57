/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft plan`: what was asked for, and the plans of all ranks. */
#ifndef WEFT_TOOLS_PLAN_H
#define WEFT_TOOLS_PLAN_H

#include "core/plan/cost.h"
#include "core/plan/verify.h"
#include "tools/json.h"
#include "tools/session.h"

enum { PLAN_ALL, PLAN_TEXT, PLAN_DOT, PLAN_CHECK, PLAN_LIST };

typedef struct plan_request {
    weft_coll_t coll; /* WEFT_COLL_COUNT: not given */
    int64_t nranks, rank, root, hosts, slots, slices;
    const char *algo;
    const char *params[WEFT_ALGO_PARAMS_MAX]; /* "name=value" */
    uint32_t nparams;
    int form;
    bool json;
    tool_settings_t settings;
} plan_request_t;

#define PLAN_ALGOS_MAX 64

/* plan_find.c: how a plan reaches the other loaded algorithms. */
typedef struct plan_finder {
    weft_plan_finder_t finder;
    const weft_registry_t *registry;
    weft_algo_t *algos[PLAN_ALGOS_MAX]; /* as in the registry; NULL until asked for */
} plan_finder_t;

void plan_finder_open(plan_finder_t *finder, const weft_registry_t *registry);
void plan_finder_close(plan_finder_t *finder);

/* Plans of all ranks by one algorithm. */
typedef struct plan_set {
    plan_finder_t others;
    const weft_loaded_t *loaded;
    weft_algo_t *algo;
    weft_algo_call_t call;
    weft_algo_view_t view;
    uint32_t *hosts;
    weft_plan_t **plans;
    uint32_t nranks;
} plan_set_t;

/* TOOL_OK, or the exit code after the cause was printed; *done after --help. */
int plan_request_read(plan_request_t *request, int argc, char **argv, bool *done);

/* Verdicts out of place and in place, and the cost, for people or as JSON. */
int plan_check(const plan_request_t *request, const plan_set_t *set, json_t *json);

#endif
