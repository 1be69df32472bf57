/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which algorithms serve a call, and why others do not. */
#include "core/comm/select_candidates.h"

#include <stdio.h>
#include <string.h>

#include "core/base/coll.h"
#include "core/base/log.h"
#include "core/os/call_note.h"
#include "core/comm/algo_variants.h"
#include "core/comm/failure.h"
#include "core/comm/vectors.h"
#include "core/plan/hash.h"
#include "core/plugin/plugin_status.h"

/* Longer blocks, and longer messages, are not worth packing: what they save is little beside the
 * time of their bytes, and the receiver has none of them before the last one is there. Measured:
 * decision 104. */
#define PACK_BLOCK_BYTES (UINT64_C(16) << 10)
#define PACK_BYTES (UINT64_C(64) << 10)

/* True if the choice depends on properties that only the verifier finds. */
static bool candidates_needs_proof(const weft_comm_state_t *state, const weft_args_t *args)
{
    return weft_vectors_need(args->coll) != WEFT_VECTOR_NONE ||
           weft_price_may_be_whole(state, args) ||
           (state->self.family->settings.plan.deterministic && weft_coll_reduces(args->coll));
}

/* Options on which plans may depend, that is those of the loaded algorithms. */
typedef struct config_hash {
    const weft_comm_state_t *state;
    uint64_t hash;
} config_hash_t;

static void candidates_hash_option(void *arg, const char *section, const weft_option_t *option,
                                   const char *value, const char *origin)
{
    config_hash_t *sum = arg;
    (void)origin;
    for (uint32_t i = 0; i < sum->state->self.family->algos.count; i++) {
        if (strcmp(section, sum->state->self.family->algos.list[i].loaded->plugin->name) == 0) {
            sum->hash = weft_hash_text(weft_hash_text(sum->hash, option->name), value);
        }
    }
}

static uint64_t candidates_hash_options(const weft_comm_state_t *state)
{
    config_hash_t sum = {.state = state, .hash = WEFT_HASH_START};
    weft_config_each(state->self.family->config, candidates_hash_option, &sum);
    /* A plan may hold plans of other algorithms. */
    for (uint32_t i = 0; i < state->self.family->algos.count; i++) {
        const weft_algo_loaded_t *algo = &state->self.family->algos.list[i];
        if (WEFT_HAS(algo->ops, weft_algo_ops_t, stamp) && algo->ops->stamp != NULL) {
            sum.hash = weft_hash_add(sum.hash, algo->ops->stamp(algo->algo));
        }
    }
    return sum.hash;
}

/* Returns the bytes of a message that packs chunks, at most. 0: the slots are those of devices,
 * too, or too small to be worth it. */
static uint64_t candidates_pack_bytes(const weft_family_t *family)
{
    return family->small_bytes == 0          ? 0
           : family->slot_bytes < PACK_BYTES ? family->slot_bytes
                                             : PACK_BYTES;
}

/* Returns how many chunks the MOVEs of the call may pack. A power of two if not all that the
 * algorithm asks for: plans are proved for few numbers. */
static uint32_t candidates_pack(const weft_comm_state_t *state, const weft_algo_loaded_t *algo,
                                const weft_args_t *args, const weft_algo_call_t *call)
{
    uint64_t bytes = args->count * weft_dtype_size(args->dtype), pack = 1;
    uint64_t lines = bytes / WEFT_LINE + (bytes % WEFT_LINE != 0 || bytes == 0);
    uint64_t fit = candidates_pack_bytes(state->self.family) / WEFT_LINE / lines;
    if (fit < 2 || bytes > PACK_BLOCK_BYTES || weft_coll_has_vectors(args->coll) ||
        !WEFT_HAS(algo->ops, weft_algo_ops_t, pack) || algo->ops->pack == NULL) {
        return 1;
    }
    weft_call_note_t before = weft_call_enter(algo->loaded->plugin->name, "pack");
    uint32_t wanted = algo->ops->pack(algo->algo, call);
    weft_call_leave(before);
    fit = fit < WEFT_PACK_MAX ? fit : WEFT_PACK_MAX;
    while (pack < wanted && 2 * pack <= fit) {
        pack *= 2;
    }
    return wanted < pack ? wanted : (uint32_t)pack;
}

void weft_candidates_query(const weft_comm_state_t *state, const weft_algo_variant_t *variant,
                           const weft_args_t *args, uint32_t slices, weft_plan_query_t *query)
{
    const weft_algo_loaded_t *algo = variant->algo;
    *query = (weft_plan_query_t){.algo = algo->loaded->plugin->name,
                                 .version = algo->loaded->plugin->version,
                                 .ops = algo->ops,
                                 .instance = algo->algo,
                                 .call = {.size = sizeof(weft_algo_call_t),
                                          .coll = weft_coll_base(args->coll),
                                          .nranks = state->self.nranks,
                                          .rank = state->self.rank,
                                          .root = args->root >= WEFT_ROOT_CORE ? 0 : args->root},
                                 .view = state->self.view.topo,
                                 .host = state->self.nhosts > 1 ? weft_identity_hosts(&state->self)
                                                                : NULL,
                                 .finder = &state->self.family->algos.finder,
                                 .board = state->self.family->proofs,
                                 .slots = state->self.family->slots,
                                 .slices = slices,
                                 .verify = state->self.family->settings.plan.verify != 0 ||
                                           candidates_needs_proof(state, args),
                                 .limit = state->self.family->settings.plan.verify_limit,
                                 .config = candidates_hash_options(state)};
    memcpy(query->call.params, variant->params, sizeof query->call.params);
    query->call.pack = candidates_pack(state, algo, args, &query->call);
}

weft_status_t weft_candidates_lookup(const weft_algo_variant_t *variant,
                                     const weft_plan_query_t *query, weft_plan_entry_t *entry)
{
    return weft_plugin_status(variant->algo->loaded, "supports or emit", WEFT_RETURNS_FINAL,
                              weft_plan_lookup(query, entry));
}

bool weft_candidates_are_decided(const weft_comm_state_t *state, const weft_args_t *args)
{
    return args->coll != WEFT_BARRIER && args->root < WEFT_ROOT_CORE &&
           state->self.family->algos.forced != NULL;
}

/* True if the user's choice rules the algorithm out. */
static bool candidates_is_forced_out(const weft_comm_state_t *state, const weft_args_t *args,
                                     uint32_t number)
{
    return weft_candidates_are_decided(state, args) &&
           weft_algo_variants_excludes(state->self.family, number);
}

static void candidates_add_reason(weft_candidates_t *c, const char *algo, const char *why)
{
    size_t at = strlen(c->why);
    snprintf(c->why + at, sizeof c->why - at, "%s%s: %.200s", at > 0 ? "; " : "", algo, why);
}

/* Lists the algorithms that the user's choice ruled out and that would serve the collective. */
static void candidates_list_others(const weft_comm_state_t *state, const weft_args_t *args,
                                   char *text, size_t bytes)
{
    text[0] = '\0';
    for (uint32_t i = 0; i < state->self.family->algos.count; i++) {
        weft_plan_query_t query;
        weft_candidates_query(state, &state->self.family->algos.variants[i], args, 1, &query);
        if (candidates_is_forced_out(state, args, i) &&
            query.ops->supports(query.instance, &query.call) == WEFT_OK) {
            size_t at = strlen(text);
            snprintf(text + at, bytes - at, "%s%s", at > 0 ? ", " : "", query.algo);
        }
    }
}

weft_status_t weft_candidates_fail(const weft_comm_state_t *state, const weft_args_t *args,
                                   const weft_candidates_t *c)
{
    char others[160], spare[160];
    if (c->refusal.status != WEFT_OK) {
        *weft_error_record() = c->refusal;
        return c->refusal.status;
    }
    candidates_list_others(state, args, others, sizeof others);
    weft_registry_spare(state->self.family->registry, WEFT_KIND_ALGO, spare, sizeof spare);
    const char *forced = state->self.family->settings.plan.algo;
    bool only = forced != NULL && forced[0] != '\0';
    return weft_fail(
        WEFT_ERR_UNSUPPORTED, 0, "no algorithm serves %s on %u ranks%s%s%s%s%s%s%s%s%s%s",
        weft_coll_name(args->coll), state->self.nranks,
        state->self.family->settings.plan.deterministic ? " in deterministic mode" : "",
        c->why[0] != '\0' ? " (" : "", c->why, c->why[0] != '\0' ? ")" : "",
        only ? "; [plan] algo allows only " : "", only ? forced : "",
        others[0] != '\0' ? "; these would serve it: " : "", others,
        spare[0] != '\0' ? "; not listed in [core] algo: " : "", spare);
}

void weft_candidates_refuse(const weft_comm_state_t *state, weft_candidates_t *c,
                            const weft_algo_variant_t *variant)
{
    const weft_family_algos_t *algos = &state->self.family->algos;
    weft_log(WEFT_LOG_INFO, variant->algo->loaded->plugin->name, "left out: %s",
             weft_error_record()->text);
    c->refused |= UINT64_C(1) << (variant - algos->variants);
    if (c->refusal.status == WEFT_OK) {
        c->refusal = *weft_error_record();
        c->refuser = (uint32_t)(variant->algo - algos->list);
    }
}

void weft_candidates_tell(const weft_comm_state_t *state, const weft_args_t *args,
                          const weft_candidates_t *c)
{
    weft_family_algos_t *algos = &state->self.family->algos;
    uint32_t bit = UINT32_C(1) << c->refuser;
    if (c->refused == 0 || !weft_failure_speaks(&state->self, c->refusal.status)) {
        return;
    }
    uint32_t told = atomic_fetch_or_explicit(&algos->told[args->coll], bit, memory_order_relaxed);
    if ((told & bit) == 0) {
        weft_log(WEFT_LOG_WARN, algos->list[c->refuser].loaded->plugin->name, "not used: %s",
                 c->refusal.text);
    }
}

/* Devices that run plans do not learn the lengths of blocks that they pass on. */
static bool candidates_serves_vectors(const weft_comm_state_t *state, weft_vector_t need,
                                      weft_vector_t vector)
{
    bool learns = need == WEFT_VECTOR_PAIRS && state->self.family->kernel.lanes == NULL;
    return vector == need || (learns && vector == WEFT_VECTOR_PASSED);
}

/* True if the proved plan has the properties that the call needs; else *why_p says what is
 * missing. */
static bool candidates_has_properties(const weft_comm_state_t *state, const weft_args_t *args,
                                      const weft_plan_entry_t *entry, const char **why_p)
{
    weft_vector_t need = weft_vectors_need(args->coll);
    if (candidates_needs_proof(state, args) && entry->report.verdict != WEFT_VERDICT_OK) {
        *why_p = "too large to be proved, raise plan.verify_limit";
        return false;
    }
    if (entry->cost.packed > state->self.family->slot_bytes / WEFT_LINE) {
        *why_p = "it packs more chunks than a slot has room for";
        return false;
    }
    if (need != WEFT_VECTOR_NONE && !candidates_serves_vectors(state, need, entry->report.vector)) {
        *why_p = entry->report.vector == WEFT_VECTOR_PASSED
                     ? "its ranks pass on blocks of unknown length, which devices do not"
                     : "its plan serves blocks of equal length only";
        return false;
    }
    if (state->self.family->settings.plan.deterministic && weft_coll_reduces(args->coll) &&
        (!entry->report.same_for_all_chunks || !entry->report.same_on_all_ranks)) {
        *why_p = "the order of its sums depends on where an element is";
        return false;
    }
    return true;
}

static weft_status_t candidates_try_candidate(const weft_comm_state_t *state,
                                              const weft_args_t *args,
                                              const weft_algo_variant_t *variant,
                                              weft_candidates_t *c)
{
    weft_plan_query_t query;
    weft_plan_entry_t entry;
    const char *why = NULL;
    weft_candidates_query(state, variant, args, 1, &query);
    /* Pricing needs no proof; the one that is chosen is proved. */
    query.verify = candidates_needs_proof(state, args);
    weft_status_t status = weft_candidates_lookup(variant, &query, &entry);
    if (status == WEFT_ERR_UNSUPPORTED) {
        candidates_add_reason(c, query.algo, weft_error_record()->text);
    }
    if (status != WEFT_OK) {
        return status;
    }
    if (!candidates_has_properties(state, args, &entry, &why)) {
        candidates_add_reason(c, query.algo, why);
        return WEFT_ERR_UNSUPPORTED;
    }
    weft_price_make(state, args, variant, &entry, &c->priced[c->count]);
    c->list[c->count] = (weft_tuner_candidate_t){.size = sizeof *c->list,
                                                 .algo = query.algo,
                                                 .params = variant->text,
                                                 .chunks = entry.plan->k,
                                                 .steps = entry.cost.chain,
                                                 .core = &c->priced[c->count],
                                                 .channels = c->priced[c->count].channels};
    c->count++;
    return WEFT_OK;
}

/* In deterministic mode the first algorithm of the INI that qualifies says what the bits are; those
 * that compute every element by the same expression may be chosen too. */
static void candidates_keep_equal_bits(weft_candidates_t *c)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        if (c->priced[i].fingerprint == c->priced[0].fingerprint) {
            c->priced[kept] = c->priced[i];
            c->list[kept] = c->list[i];
            c->list[kept].core = &c->priced[kept];
            kept++;
        }
    }
    c->count = kept;
}

weft_status_t weft_candidates_list(const weft_comm_state_t *state, const weft_args_t *args,
                                   weft_candidates_t *c)
{
    c->count = 0;
    c->why[0] = '\0';
    const weft_family_algos_t *algos = &state->self.family->algos;
    for (uint32_t i = 0; i < algos->nvariants; i++) {
        if (candidates_is_forced_out(state, args, i) || (c->refused >> i & 1) != 0) {
            continue;
        }
        weft_status_t status = candidates_try_candidate(state, args, &algos->variants[i], c);
        if (status == WEFT_ERR_RESOURCE || status == WEFT_ERR_SYSTEM) {
            return status;
        }
        if (status != WEFT_OK && status != WEFT_ERR_UNSUPPORTED) {
            weft_candidates_refuse(state, c, &algos->variants[i]);
        }
    }
    if (state->self.family->settings.plan.deterministic && weft_coll_reduces(args->coll)) {
        candidates_keep_equal_bits(c);
    }
    return WEFT_OK;
}
