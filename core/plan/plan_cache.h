/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans that were emitted, proved and priced, kept for the life of the process: a shape is verified
 * once, whichever communicator asks first. Thread-safe. */
#ifndef WEFT_PLAN_PLAN_CACHE_H
#define WEFT_PLAN_PLAN_CACHE_H

#include "core/plan/builder.h"
#include "core/plan/cost.h"
#include "core/plan/verdict.h"

typedef struct weft_plan_query {
    const char *algo; /* plugin name, with version part of the key */
    const char *version;
    const weft_algo_ops_t *ops;
    weft_algo_t *instance;
    weft_algo_call_t call; /* of this rank */
    weft_algo_topo_t view;
    const weft_plan_finder_t *finder; /* may be NULL; lives as long as the query */
    uint32_t slots, slices;
    bool verify;     /* false: emit and price only */
    uint64_t limit;  /* for the verifier */
    uint64_t config; /* hash of the options of all loaded algorithms, on which plans may depend */
} weft_plan_query_t;

typedef struct weft_plan_entry {
    const weft_plan_t *plan; /* of query.call.rank */
    weft_cost_t cost;
    uint64_t plans_hash;   /* of all ranks' plans: equal on every rank */
    bool in_place;         /* proved for the in-place form; true too where nothing was proved */
    double verify_seconds; /* what proving took; 0 if it was in the cache */
    weft_verify_report_t report;
} weft_plan_entry_t;

/* Finds or makes the entry; it stays valid until the process ends. A shape above `limit` is used
 * without proof, with a warning (report.verdict is TOO_BIG). ERR_PLAN with the verifier's
 * words, ERR_UNSUPPORTED, ERR_RESOURCE, or the algorithm's failure. */
weft_status_t weft_plan_lookup(const weft_plan_query_t *query, weft_plan_entry_t *entry_p);

#endif
