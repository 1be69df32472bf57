/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A cache of plans that have been emitted, proved and priced. It lives as long as the process, so a
 * plan is verified once, by the first communicator that asks for it; with a board, once on a host.
 * Thread: any. */
#ifndef WEFT_PLAN_PLAN_CACHE_H
#define WEFT_PLAN_PLAN_CACHE_H

#include "core/plan/builder.h"
#include "core/plan/cost.h"
#include "core/plan/proof_board.h"
#include "core/plan/verdict.h"

typedef struct weft_plan_query {
    const char *algo; /* name of the plugin; part of the key with `version` */
    const char *version;
    const weft_algo_ops_t *ops;
    weft_algo_t *instance;
    weft_algo_call_t call; /* of this rank */
    weft_algo_topo_t view;
    const weft_plan_finder_t *finder; /* may be NULL; lives as long as the query */
    weft_proof_board_t *board;        /* of the host; NULL: this process proves for itself */
    /* By rank, for the price alone: a plan may have to be blind to hosts. NULL: all on one. */
    const uint32_t *host;
    uint32_t slots, slices;
    bool verify;     /* false: emit and price only */
    uint64_t limit;  /* for the verifier */
    uint64_t config; /* hash of the options of all loaded algorithms: plans may depend on them */
} weft_plan_query_t;

typedef struct weft_plan_entry {
    const weft_plan_t *plan; /* of query.call.rank */
    weft_cost_t cost;
    uint64_t plans_hash;   /* of all ranks' plans: equal on every rank */
    bool in_place;         /* proved for the in-place form too; else calls in place are staged */
    double verify_seconds; /* duration of the proof; 0 if it came from the cache */
    weft_verify_report_t report;
} weft_plan_entry_t;

/* Finds the entry, or emits and proves it; may take long. The plan stays valid until the process
 * ends. Plans above `limit` are used without a proof and with a warning (report.verdict is
 * TOO_BIG). Fails with ERR_PLAN and the verifier's words, which are kept as a proof is, ERR_PLUGIN
 * (the algorithm emits another plan than before), ERR_UNSUPPORTED, ERR_RESOURCE, or the
 * algorithm's failure. */
weft_status_t weft_plan_lookup(const weft_plan_query_t *query, weft_plan_entry_t *entry_p);

/* Returns the bytes of what the cache of this process keeps. */
uint64_t weft_plan_cache_bytes(void);

#endif
