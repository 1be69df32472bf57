/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plan cache of the process: one proof for each key, one plan for each key and rank. Ranks that
 * are threads of one process share the proof, and processes of one host by their board: whoever did
 * not prove emits its own plan only, and compares its hash with that of the plan that was proved.
 * One lock serves all: a thread that asks for a key whose proof is under way has to wait for it
 * anyway. */
#include "core/plan/plan_cache.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/os/call_note.h"
#include "core/os/os_fork.h"
#include "core/plan/classes.h"
#include "core/plan/hash.h"
#include "core/plan/verify.h"
#include "core/plan/topo_view.h"

/* Everything that emit() and the verifier depend on, except for the rank. */
typedef struct plan_key {
    char algo[64], version[64];
    weft_coll_t coll;
    uint32_t nranks, root, slots;
    int64_t params[WEFT_ALGO_PARAMS_MAX];
    uint32_t slices, verify, pack, zero;
    uint64_t view, hosts, config, stamp, limit;
} plan_key_t;

/* Keys are compared as bytes. */
_Static_assert(sizeof(plan_key_t) == 128 + 16 + 8 * WEFT_ALGO_PARAMS_MAX + 16 + 40, "no padding");

/* A proof that another process makes is waited for so long; then this process proves, too. */
#define CACHE_WAIT_SECONDS 60.0

/* Plans of all ranks from this size on are worth the time to give their memory back. */
#define TRIM_BYTES (UINT64_C(64) << 10)

typedef struct cached_plan {
    struct cached_plan *next;
    weft_plan_t *plan;
} cached_plan_t;

typedef struct cache_proof {
    struct cache_proof *next;
    plan_key_t key;
    weft_plan_entry_t entry; /* without a plan */
    uint64_t *hashes;        /* of each rank's plan */
    cached_plan_t *plans;
} cache_proof_t;

/* Writable file scope on purpose: this cache belongs to the process (see plan_cache.h). */
static void plan_cache_forked(bool held);
static weft_os_process_mutex_t cache_lock = {.forked = plan_cache_forked};
static cache_proof_t *cache_proofs;
static _Atomic uint64_t cache_bytes;

/* What a thread of the parent was changing is left alone, and all plans are proved again. */
static void plan_cache_forked(bool held)
{
    if (held) {
        cache_proofs = NULL;
        atomic_store_explicit(&cache_bytes, 0, memory_order_relaxed);
    }
}

static uint64_t plan_cache_hash_hosts(const uint32_t *host, uint32_t nranks)
{
    uint64_t hash = WEFT_HASH_START;
    for (uint32_t rank = 0; host != NULL && rank < nranks; rank++) {
        hash = weft_hash_add(hash, host[rank]);
    }
    return hash;
}

/* Zeroes what the names leave, so that keys can be compared as bytes. */
static void plan_key_init(plan_key_t *key, const weft_plan_query_t *query)
{
    memset(key, 0, sizeof *key);
    snprintf(key->algo, sizeof key->algo, "%s", query->algo);
    snprintf(key->version, sizeof key->version, "%s", query->version);
    key->coll = query->call.coll;
    key->nranks = query->call.nranks;
    key->root = query->call.root;
    memcpy(key->params, query->call.params, sizeof key->params);
    key->slots = query->slots;
    key->slices = query->slices;
    key->pack = weft_algo_call_pack(&query->call);
    key->view = weft_topo_view_hash(&query->view, query->call.nranks);
    key->hosts = plan_cache_hash_hosts(query->host, query->call.nranks);
    key->config = query->config;
    key->stamp = WEFT_HAS(query->ops, weft_algo_ops_t, stamp) && query->ops->stamp != NULL
                     ? query->ops->stamp(query->instance)
                     : 0;
    key->verify = query->verify != 0;
    key->limit = query->limit;
}

static cache_proof_t *plan_cache_find_proof(const plan_key_t *key)
{
    for (cache_proof_t *proof = cache_proofs; proof != NULL; proof = proof->next) {
        if (memcmp(&proof->key, key, sizeof *key) == 0) {
            return proof;
        }
    }
    return NULL;
}

static weft_plan_t *find_plan(const cache_proof_t *proof, uint32_t rank)
{
    for (cached_plan_t *cached = proof->plans; cached != NULL; cached = cached->next) {
        if (cached->plan->rank == rank) {
            return cached->plan;
        }
    }
    return NULL;
}

/* The plans of hundreds of ranks and the proof took megabytes that this process will hardly need
 * again: they would stay its own for good. */
static void plan_cache_destroy_plans(weft_plan_t **plans, uint32_t nranks)
{
    uint64_t bytes = 0;
    for (uint32_t rank = 0; plans != NULL && rank < nranks; rank++) {
        bytes += plans[rank] != NULL ? weft_plan_bytes(plans[rank]) : 0;
        weft_plan_destroy(plans[rank]);
    }
    weft_os_free(plans);
    if (bytes >= TRIM_BYTES) {
        weft_os_trim();
    }
}

static weft_status_t plan_cache_emit_rank(const weft_plan_query_t *query, uint32_t rank,
                                          weft_plan_t **plan_p)
{
    weft_algo_call_t call = query->call;
    call.size = sizeof call;
    call.rank = rank;
    weft_call_note_t before = weft_call_enter(query->algo, "emit");
    weft_status_t status =
        weft_plan_emit(query->ops, query->instance, &call, &query->view, query->finder, plan_p);
    weft_call_leave(before);
    return status == WEFT_ERR_PLAN ? weft_plan_name_mistake(query->algo) : status;
}

static weft_status_t plan_cache_emit_all(const weft_plan_query_t *query, cache_proof_t *proof,
                                         weft_plan_t **plans)
{
    proof->entry.plans_hash = WEFT_HASH_START;
    for (uint32_t rank = 0; rank < query->call.nranks; rank++) {
        weft_status_t status = plan_cache_emit_rank(query, rank, &plans[rank]);
        if (status != WEFT_OK) {
            return status;
        }
        proof->hashes[rank] = weft_plan_hash(plans[rank]);
        proof->entry.plans_hash = weft_hash_add(proof->entry.plans_hash, proof->hashes[rank]);
    }
    return WEFT_OK;
}

static weft_status_t plan_cache_refuse(const weft_plan_query_t *query,
                                       const weft_verify_report_t *report)
{
    return weft_fail(WEFT_ERR_PLAN, 0, "%s: plan of %s for %u ranks refused, %s: %.255s",
                     query->algo, weft_coll_name(query->call.coll), query->call.nranks,
                     weft_verdict_name(report->verdict), report->text);
}

/* The proof says that the plan is wrong, whenever it is made. */
static bool plan_cache_is_refused(const weft_plan_entry_t *entry)
{
    return entry->report.verdict != WEFT_VERDICT_OK &&
           entry->report.verdict != WEFT_VERDICT_TOO_BIG;
}

static void plan_cache_warn_unproved(const weft_plan_query_t *query,
                                     const weft_verify_report_t *report)
{
    weft_log(WEFT_LOG_WARN, "plan",
             "%s: plan of %s for %u ranks is used without proof (%s); raise plan.verify_limit",
             query->algo, weft_coll_name(query->call.coll), query->call.nranks, report->text);
}

/* The result is right but for its rounding. Not a warning: the plan may not be used, and sums of
 * two in another order have the same bits. */
static void plan_cache_tell_bits(const weft_plan_query_t *query, const weft_verify_report_t *report)
{
    if (query->call.coll == WEFT_ALL_REDUCE && !report->same_on_all_ranks) {
        weft_log(WEFT_LOG_INFO, "plan",
                 "%s: plan of %s for %u ranks folds in another order on some ranks, which may get "
                 "other bits of sums of floats",
                 query->algo, weft_coll_name(query->call.coll), query->call.nranks);
    }
}

/* Out of place must hold; in place is remembered, if it serves the same vector collectives. Plans
 * above the limit are trusted out of place only. */
static weft_status_t plan_cache_prove(const weft_plan_query_t *query, weft_plan_entry_t *entry,
                                      weft_plan_t *const *plans)
{
    weft_verify_input_t input = {.plans = plans,
                                 .nranks = query->call.nranks,
                                 .slots = query->slots,
                                 .slices = query->slices,
                                 .limit = query->limit};
    uint64_t begin = weft_os_clock_ns();
    weft_verify_report_t reports[2];
    weft_status_t status = weft_plan_prove(&input, reports);
    entry->report = reports[0];
    if (status == WEFT_OK && entry->report.verdict == WEFT_VERDICT_TOO_BIG) {
        plan_cache_warn_unproved(query, &entry->report);
        return WEFT_OK;
    }
    if (status == WEFT_OK && entry->report.verdict != WEFT_VERDICT_OK) {
        return plan_cache_refuse(query, &entry->report);
    }
    if (status == WEFT_OK) {
        plan_cache_tell_bits(query, &entry->report);
    }
    entry->in_place = status == WEFT_OK && reports[1].verdict == WEFT_VERDICT_OK &&
                      reports[1].vector == reports[0].vector;
    entry->verify_seconds = (double)(weft_os_clock_ns() - begin) / (double)WEFT_NS_PER_S;
    return status;
}

static void plan_cache_count(uint64_t bytes)
{
    (void)atomic_fetch_add_explicit(&cache_bytes, bytes, memory_order_relaxed);
}

/* Lets lookups find a proof, which stays as long as the process. */
static void plan_cache_keep_proof(cache_proof_t *proof, uint32_t nranks)
{
    proof->next = cache_proofs;
    cache_proofs = proof;
    plan_cache_count(sizeof *proof + nranks * sizeof *proof->hashes);
}

static weft_status_t keep_plan(cache_proof_t *proof, weft_plan_t **plan_p)
{
    cached_plan_t *cached = weft_os_alloc(sizeof *cached, 0);
    if (cached == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to keep a plan");
    }
    cached->plan = *plan_p;
    cached->next = proof->plans;
    proof->plans = cached;
    *plan_p = NULL;
    plan_cache_count(sizeof *cached + weft_plan_bytes(cached->plan));
    return WEFT_OK;
}

static void plan_cache_proof_destroy(cache_proof_t *proof)
{
    if (proof != NULL) {
        weft_os_free(proof->hashes);
        weft_os_free(proof);
    }
}

static weft_status_t plan_cache_proof_fill(const weft_plan_query_t *query, cache_proof_t *proof,
                                           weft_plan_t **plans)
{
    weft_status_t emitted = plan_cache_emit_all(query, proof, plans), status = emitted;
    proof->entry.in_place = false; /* as a proof finds: a call in place is staged until then */
    if (status == WEFT_OK && query->verify) {
        status = plan_cache_prove(query, &proof->entry, plans);
    }
    if (status == WEFT_OK) {
        status = weft_plan_cost(plans, query->call.nranks, query->host, query->slots,
                                &proof->entry.cost);
    }
    if (status == WEFT_ERR_PLAN && emitted == WEFT_OK && !query->verify) {
        /* It cannot run, so it cannot be priced: the proof says why in better words. */
        weft_error_t priced = *weft_error_record();
        if (plan_cache_prove(query, &proof->entry, plans) == WEFT_OK) {
            *weft_error_record() = priced;
        }
    }
    return status == WEFT_OK ? keep_plan(proof, &plans[query->call.rank]) : status;
}

static weft_status_t plan_cache_proof_create(const weft_plan_query_t *query, const plan_key_t *key,
                                             cache_proof_t **proof_p)
{
    uint32_t nranks = query->call.nranks;
    cache_proof_t *proof = weft_os_alloc(sizeof *proof, 0);
    uint64_t *hashes = weft_os_alloc(nranks * sizeof *hashes, 0);
    weft_plan_t **plans = weft_os_alloc(nranks * sizeof *plans, 0);
    weft_status_t status = WEFT_OK;
    if (proof == NULL || hashes == NULL || plans == NULL) {
        status = weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for plans of %u ranks", nranks);
        weft_os_free(hashes);
        weft_os_free(proof);
        goto err_plans;
    }
    proof->key = *key;
    proof->hashes = hashes;
    status = plan_cache_proof_fill(query, proof, plans);
    if (status == WEFT_ERR_PLAN && plan_cache_is_refused(&proof->entry)) {
        /* Other calls need not prove it again. */
        plan_cache_keep_proof(proof, nranks);
        goto err_plans;
    }
    if (status != WEFT_OK) {
        plan_cache_proof_destroy(proof);
        goto err_plans;
    }
    plan_cache_keep_proof(proof, nranks);
    *proof_p = proof;
err_plans:
    plan_cache_destroy_plans(plans, nranks);
    return status;
}

/* The proof was made for another rank of this process: only the plan is new, and it must be the one
 * that was proved. */
static weft_status_t add_plan(const weft_plan_query_t *query, cache_proof_t *proof)
{
    uint32_t rank = query->call.rank;
    weft_plan_t *plan = NULL;
    weft_status_t status = plan_cache_emit_rank(query, rank, &plan);
    if (status == WEFT_OK && weft_plan_hash(plan) != proof->hashes[rank]) {
        status = weft_fail(WEFT_ERR_PLUGIN, 0,
                           "%s: emits another plan for rank %u than before; plans must depend on "
                           "the arguments only",
                           query->algo, rank);
    }
    if (status == WEFT_OK) {
        status = keep_plan(proof, &plan);
    }
    weft_plan_destroy(plan);
    return status;
}

/* What processes tell each other of a proof. */
typedef struct shared_proof {
    weft_plan_entry_t entry; /* without a plan */
    uint64_t hashes[];       /* of each rank's plan */
} shared_proof_t;

/* Copies a proof of another process, and adds this rank's plan to it. */
static weft_status_t plan_cache_proof_adopt(const weft_plan_query_t *query, const plan_key_t *key,
                                            const shared_proof_t *shared, cache_proof_t **proof_p)
{
    uint32_t nranks = query->call.nranks;
    cache_proof_t *proof = weft_os_alloc(sizeof *proof, 0);
    uint64_t *hashes = weft_os_alloc(nranks * sizeof *hashes, 0);
    if (proof == NULL || hashes == NULL) {
        weft_os_free(proof);
        weft_os_free(hashes);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for plans of %u ranks", nranks);
    }
    memcpy(hashes, shared->hashes, nranks * sizeof *hashes);
    *proof = (cache_proof_t){.key = *key, .entry = shared->entry, .hashes = hashes};
    weft_status_t status = add_plan(query, proof);
    if (status != WEFT_OK) {
        plan_cache_proof_destroy(proof);
        return status;
    }
    plan_cache_keep_proof(proof, nranks);
    *proof_p = proof;
    return WEFT_OK;
}

/* Finds the proof on the board of the host, or makes it there. *fresh_p: made. */
static weft_status_t plan_cache_proof_get(const weft_plan_query_t *query, const plan_key_t *key,
                                          cache_proof_t **proof_p, bool *fresh_p)
{
    size_t hashes = query->call.nranks * sizeof(uint64_t);
    size_t bytes = sizeof(shared_proof_t) + hashes;
    shared_proof_t *shared = query->board != NULL ? weft_os_alloc(bytes, 0) : NULL;
    weft_proof_ticket_t ticket;
    weft_proof_answer_t answer = WEFT_PROOF_ALONE;
    if (shared != NULL) {
        answer = weft_proof_board_ask(query->board, key, sizeof *key, shared, bytes,
                                      CACHE_WAIT_SECONDS, &ticket);
    }
    *fresh_p = answer != WEFT_PROOF_FOUND;
    weft_status_t status = *fresh_p ? plan_cache_proof_create(query, key, proof_p)
                                    : plan_cache_proof_adopt(query, key, shared, proof_p);
    if (answer == WEFT_PROOF_OURS && status == WEFT_OK) {
        shared->entry = (*proof_p)->entry;
        memcpy(shared->hashes, (*proof_p)->hashes, hashes);
    }
    if (answer == WEFT_PROOF_OURS) {
        weft_proof_board_answer(&ticket, status == WEFT_OK ? shared : NULL);
    }
    weft_os_free(shared);
    return status;
}

static weft_status_t plan_cache_lookup_locked(const weft_plan_query_t *query, const plan_key_t *key,
                                              weft_plan_entry_t *entry_p)
{
    cache_proof_t *proof = plan_cache_find_proof(key);
    bool fresh = false;
    weft_status_t status = WEFT_OK;
    if (proof == NULL) {
        status = plan_cache_proof_get(query, key, &proof, &fresh);
    } else if (plan_cache_is_refused(&proof->entry)) {
        status = plan_cache_refuse(query, &proof->entry.report);
    } else if (find_plan(proof, query->call.rank) == NULL) {
        status = add_plan(query, proof);
    }
    if (status != WEFT_OK) {
        return status;
    }
    *entry_p = proof->entry;
    entry_p->plan = find_plan(proof, query->call.rank);
    entry_p->verify_seconds = fresh ? proof->entry.verify_seconds : 0;
    return WEFT_OK;
}

weft_status_t weft_plan_lookup(const weft_plan_query_t *query, weft_plan_entry_t *entry_p)
{
    if (query->call.nranks < 2 || query->call.rank >= query->call.nranks || query->slots < 1 ||
        query->slices < 1) {
        return weft_fail(WEFT_ERR_ARG, 0, "plan for rank %u of %u, %u slots, %u slices",
                         query->call.rank, query->call.nranks, query->slots, query->slices);
    }
    weft_status_t status = query->ops->supports(query->instance, &query->call);
    if (status != WEFT_OK) {
        return status;
    }
    plan_key_t key;
    plan_key_init(&key, query);
    weft_os_process_lock(&cache_lock);
    status = plan_cache_lookup_locked(query, &key, entry_p);
    weft_os_process_unlock(&cache_lock);
    return status;
}

uint64_t weft_plan_cache_bytes(void)
{
    return atomic_load_explicit(&cache_bytes, memory_order_relaxed);
}
