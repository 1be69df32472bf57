/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From a call to a program: list the algorithms that serve it, price them, let the tuner choose,
 * prove the choice, prepare it. Everything that enters the decision is equal on all ranks. */
#include "core/comm/select.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/coll.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/exec/traffic.h"
#include "core/plan/hash.h"

/* Plans that fit the pool of slots together. */
#define POOL_PLANS 4u

/* Smaller slices than a page save no memory. */
#define SLICE_LEAST 4096u

typedef struct priced {
    const weft_algo_loaded_t *algo;
    weft_cost_t cost;
    weft_cost_model_t model;
    weft_cost_crowd_t crowd;
    uint64_t slice_most; /* bytes, so that the plan's slots fit the pool */
    uint32_t k;
    uint32_t channels;
    uint64_t fingerprint;
} priced_t;

/* True if the choice depends on properties that only the verifier finds. */
static bool select_needs_proof(const weft_comm_state_t *state, const weft_args_t *args)
{
    return weft_vectors_need(args->coll) != WEFT_VECTOR_NONE ||
           (state->self.family->settings.plan.deterministic && weft_coll_reduces(args->coll));
}

/* Options on which plans may depend, that is those of the loaded algorithms. */
typedef struct config_hash {
    const weft_comm_state_t *state;
    uint64_t hash;
} config_hash_t;

static void select_hash_option(void *arg, const char *section, const weft_option_t *option,
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

static uint64_t select_hash_options(const weft_comm_state_t *state)
{
    config_hash_t sum = {.state = state, .hash = WEFT_HASH_START};
    weft_config_each(state->self.family->config, select_hash_option, &sum);
    /* A plan may hold plans of other algorithms. */
    for (uint32_t i = 0; i < state->self.family->algos.count; i++) {
        const weft_algo_loaded_t *algo = &state->self.family->algos.list[i];
        if (WEFT_HAS(algo->ops, weft_algo_ops_t, stamp) && algo->ops->stamp != NULL) {
            sum.hash = weft_hash_add(sum.hash, algo->ops->stamp(algo->algo));
        }
    }
    return sum.hash;
}

static void select_make_query(const weft_comm_state_t *state, const weft_algo_loaded_t *algo,
                              const weft_args_t *args, uint32_t slices, weft_plan_query_t *query)
{
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
                                 .finder = &state->self.family->algos.finder,
                                 .board = state->self.family->proofs,
                                 .slots = state->self.family->slots,
                                 .slices = slices,
                                 .verify = state->self.family->settings.plan.verify != 0 ||
                                           select_needs_proof(state, args),
                                 .limit = state->self.family->settings.plan.verify_limit,
                                 .config = select_hash_options(state)};
    if (WEFT_HAS(algo->ops, weft_algo_ops_t, params) && algo->ops->params != NULL) {
        for (uint32_t i = 0; i < WEFT_ALGO_PARAMS_MAX && algo->ops->params[i].name != NULL; i++) {
            query->call.params[i] = algo->ops->params[i].value;
        }
    }
}

/* Prices a candidate. Each channel carries its part at the speed that the device or the wire
 * gives to one channel alone. */
static double select_price(const weft_tuner_call_t *call, const weft_tuner_candidate_t *candidate,
                           uint32_t slices, uint64_t slice_bytes)
{
    const priced_t *p = candidate->core;
    uint64_t part = (call->bytes + p->channels - 1) / p->channels;
    if (slice_bytes > p->slice_most) {
        return INFINITY;
    }
    double alone = weft_cost_time(&p->cost, &p->model, part, p->k, slices, slice_bytes);
    double crowd =
        weft_cost_crowd_time(&p->cost, &p->model, &p->crowd, part, p->k, slices, slice_bytes);
    return (alone > crowd ? alone : crowd) + weft_cost_links(&p->cost, &p->crowd);
}

static weft_cost_crowd_t select_crowd(const weft_comm_state_t *state)
{
    const weft_comm_identity_t *self = &state->self;
    return (weft_cost_crowd_t){.ranks = self->crowd,
                               .cores = self->family->cores,
                               .part = (double)self->crowd / self->nranks};
}

/* The rank with most peers holds slots for all of them. One plan takes a part of the pool, so that
 * a few that alternate do not take it from each other. */
static uint64_t select_slice_most(const weft_comm_state_t *state, const weft_cost_t *cost)
{
    const weft_family_t *family = state->self.family;
    uint64_t pool = family->settings.exec.pool_bytes;
    uint64_t slots = (uint64_t)family->slots * (cost->fan > 0 ? cost->fan : 1);
    uint64_t most =
        pool == 0 ? family->slot_bytes : pool / POOL_PLANS / slots / WEFT_LINE * WEFT_LINE;
    most = most < SLICE_LEAST ? SLICE_LEAST : most;
    return most < family->slot_bytes ? most : family->slot_bytes;
}

/* Returns as many channels as the size is worth. A plan with several lanes brings some of the
 * parallelism itself. */
static uint32_t select_channels_for(const weft_comm_state_t *state, const weft_args_t *args,
                                    uint32_t lanes)
{
    uint64_t bytes = args->count * weft_dtype_size(args->dtype);
    uint64_t worth = bytes / state->self.family->settings.plan.channel_bytes;
    uint64_t most = lanes > 1 ? state->self.family->channels / lanes : state->self.family->channels;
    if (weft_vectors_need(args->coll) != WEFT_VECTOR_PAIRS && worth < most) {
        most = worth;
    }
    return most > 0 ? (uint32_t)most : 1;
}

/* True if the user's choice rules the algorithm out. The choice does not apply to barriers and to
 * the core's own exchanges. */
static bool select_is_forced_out(const weft_comm_state_t *state, const weft_args_t *args,
                                 const weft_algo_loaded_t *algo)
{
    const char *forced = state->self.family->settings.plan.algo;
    return args->coll != WEFT_BARRIER && args->root < WEFT_ROOT_CORE && forced != NULL &&
           forced[0] != '\0' && strcmp(forced, algo->loaded->plugin->name) != 0;
}

/* Candidates of one call. `refused` algorithms were dropped because their proof failed. */
typedef struct candidates {
    priced_t priced[WEFT_ALGOS_MAX];
    weft_tuner_candidate_t list[WEFT_ALGOS_MAX];
    uint32_t count;
    uint32_t refused; /* bit per loaded algorithm */
    weft_error_t refusal;
    char why[384]; /* of those that do not serve, for the error */
} candidates_t;

static void select_add_reason(candidates_t *c, const char *algo, const char *why)
{
    size_t at = strlen(c->why);
    snprintf(c->why + at, sizeof c->why - at, "%s%s: %.200s", at > 0 ? "; " : "", algo, why);
}

/* Lists the algorithms that the user's choice ruled out and that would serve the collective. */
static void select_list_others(const weft_comm_state_t *state, const weft_args_t *args, char *text,
                               size_t bytes)
{
    text[0] = '\0';
    for (uint32_t i = 0; i < state->self.family->algos.count; i++) {
        weft_plan_query_t query;
        select_make_query(state, &state->self.family->algos.list[i], args, 1, &query);
        if (select_is_forced_out(state, args, &state->self.family->algos.list[i]) &&
            query.ops->supports(query.instance, &query.call) == WEFT_OK) {
            size_t at = strlen(text);
            snprintf(text + at, bytes - at, "%s%s", at > 0 ? ", " : "", query.algo);
        }
    }
}

static weft_status_t select_no_candidate(const weft_comm_state_t *state, const weft_args_t *args,
                                         const candidates_t *c)
{
    char others[160], spare[160];
    if (c->refusal.status != WEFT_OK) {
        *weft_error_record() = c->refusal;
        return c->refusal.status;
    }
    select_list_others(state, args, others, sizeof others);
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

/* An algorithm whose plan was refused is left out; the first refusal is told if nobody else
 * serves. */
static void select_note_refusal(candidates_t *c, const char *algo)
{
    weft_log(WEFT_LOG_WARN, algo, "not used: %s", weft_error_record()->text);
    if (c->refusal.status == WEFT_OK) {
        c->refusal = *weft_error_record();
    }
}

/* True if the proved plan has the properties that the call needs; else *why_p says what is
 * missing. */
static bool select_has_properties(const weft_comm_state_t *state, const weft_args_t *args,
                                  const weft_plan_entry_t *entry, const char **why_p)
{
    weft_vector_t need = weft_vectors_need(args->coll);
    if (select_needs_proof(state, args) && entry->report.verdict != WEFT_VERDICT_OK) {
        *why_p = "too large to be proved, raise plan.verify_limit";
        return false;
    }
    if (need != WEFT_VECTOR_NONE && entry->report.vector != need) {
        *why_p = "its plan serves blocks of equal length only";
        return false;
    }
    if (state->self.family->settings.plan.deterministic && weft_coll_reduces(args->coll) &&
        (!entry->report.same_for_all_chunks || !entry->report.same_on_all_ranks)) {
        *why_p = "the order of its sums depends on where an element is";
        return false;
    }
    return true;
}

static weft_status_t select_try_candidate(const weft_comm_state_t *state, const weft_args_t *args,
                                          const weft_algo_loaded_t *algo, candidates_t *c)
{
    weft_plan_query_t query;
    weft_plan_entry_t entry;
    const char *why = NULL;
    select_make_query(state, algo, args, 1, &query);
    /* Pricing needs no proof; the one that is chosen is proved. */
    query.verify = select_needs_proof(state, args);
    weft_status_t status = weft_plan_lookup(&query, &entry);
    if (status == WEFT_ERR_UNSUPPORTED) {
        select_add_reason(c, query.algo, weft_error_record()->text);
    }
    if (status != WEFT_OK) {
        return status;
    }
    if (!select_has_properties(state, args, &entry, &why)) {
        select_add_reason(c, query.algo, why);
        return WEFT_ERR_UNSUPPORTED;
    }
    c->priced[c->count] = (priced_t){.algo = algo,
                                     .cost = entry.cost,
                                     .model = state->self.family->model,
                                     .crowd = select_crowd(state),
                                     .slice_most = select_slice_most(state, &entry.cost),
                                     .k = entry.plan->k,
                                     .channels = select_channels_for(state, args, entry.cost.lanes),
                                     .fingerprint = entry.report.fingerprint};
    c->list[c->count] = (weft_tuner_candidate_t){.size = sizeof *c->list,
                                                 .algo = query.algo,
                                                 .params = "",
                                                 .chunks = entry.plan->k,
                                                 .steps = entry.cost.chain,
                                                 .core = &c->priced[c->count],
                                                 .channels = c->priced[c->count].channels};
    c->count++;
    return WEFT_OK;
}

/* In deterministic mode the first algorithm of the INI that qualifies says what the bits are; those
 * that compute every element by the same expression may be chosen too. */
static void select_keep_equal_bits(candidates_t *c)
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

static void select_list_candidates(const weft_comm_state_t *state, const weft_args_t *args,
                                   candidates_t *c)
{
    c->count = 0;
    c->why[0] = '\0';
    for (uint32_t i = 0; i < state->self.family->algos.count; i++) {
        const weft_algo_loaded_t *algo = &state->self.family->algos.list[i];
        if (select_is_forced_out(state, args, algo) || (c->refused >> i & 1) != 0) {
            continue;
        }
        weft_status_t status = select_try_candidate(state, args, algo, c);
        if (status != WEFT_OK && status != WEFT_ERR_UNSUPPORTED) {
            select_note_refusal(c, algo->loaded->plugin->name);
        }
    }
    if (state->self.family->settings.plan.deterministic && weft_coll_reduces(args->coll)) {
        select_keep_equal_bits(c);
    }
}

static weft_status_t select_check_choice(const weft_comm_state_t *state,
                                         const weft_tuner_choice_t *choice, uint32_t count)
{
    if (choice->index < count && choice->slices >= 1 &&
        choice->slices < state->self.family->slots && choice->slice_bytes >= WEFT_LINE &&
        choice->slice_bytes % WEFT_LINE == 0 &&
        choice->slice_bytes <= state->self.family->slot_bytes) {
        return WEFT_OK;
    }
    return weft_fail(WEFT_ERR_PLUGIN, 0,
                     "%s chose candidate %u of %u, %u slices of %" PRIu64
                     " bytes; allowed are 1 … %u slices of 64 … %" PRIu64 " bytes",
                     state->self.family->tuner.loaded->plugin->name, choice->index, count,
                     choice->slices, choice->slice_bytes, state->self.family->slots - 1,
                     state->self.family->slot_bytes);
}

static weft_status_t select_choose(const weft_comm_state_t *state, const weft_args_t *args,
                                   candidates_t *c, weft_tuner_choice_t *choice, double *seconds_p)
{
    uint64_t bytes = args->count * weft_dtype_size(args->dtype);
    select_list_candidates(state, args, c);
    if (c->count == 0) {
        return select_no_candidate(state, args, c);
    }
    weft_tuner_call_t call = {.size = sizeof call,
                              .coll = args->coll,
                              .dtype = args->dtype,
                              .op = args->op,
                              .root = args->root,
                              .count = args->count,
                              .bytes = bytes,
                              .nranks = state->self.nranks,
                              .nhosts = state->self.nhosts,
                              .slot_bytes = state->self.family->slot_bytes,
                              .slots = state->self.family->slots};
    if (weft_vectors_need(args->coll) == WEFT_VECTOR_PAIRS) {
        call.bytes = state->self.family->slot_bytes; /* no rank knows all lengths */
    }
    *choice = (weft_tuner_choice_t){.size = sizeof *choice};
    weft_status_t status = state->self.family->tuner.ops->choose(
        state->self.family->tuner.instance, &call, c->list, c->count, select_price, choice);
    status = status == WEFT_OK ? select_check_choice(state, choice, c->count) : status;
    if (status == WEFT_OK) {
        *seconds_p =
            select_price(&call, &c->list[choice->index], choice->slices, choice->slice_bytes);
    }
    return status;
}

/* Chooses and proves; an algorithm whose proof fails is dropped, and the tuner asked again. All
 * ranks come to the same answers. */
static weft_status_t select_choose_proved(const weft_comm_state_t *state, const weft_args_t *args,
                                          weft_tuner_choice_t *choice, double *seconds_p,
                                          weft_plan_query_t *query, weft_plan_entry_t *entry)
{
    candidates_t c = {.refused = 0};
    for (;;) {
        weft_status_t status = select_choose(state, args, &c, choice, seconds_p);
        if (status != WEFT_OK) {
            return status;
        }
        const weft_algo_loaded_t *algo = c.priced[choice->index].algo;
        select_make_query(state, algo, args, choice->slices, query);
        status = weft_plan_lookup(query, entry);
        if (status != WEFT_ERR_PLAN) {
            return status;
        }
        select_note_refusal(&c, query->algo);
        c.refused |= 1u << (algo - state->self.family->algos.list);
    }
}

static void select_describe(const weft_comm_state_t *state, const weft_args_t *args,
                            const weft_tuner_choice_t *choice, const weft_plan_entry_t *entry,
                            const char *algo, weft_program_t *program)
{
    snprintf(program->reason, sizeof program->reason,
             "%s by %s on %u channel%s, %" PRIu64 " passes of %u chunks of %u slices of %" PRIu64
             " bytes, kernel %s%s; %s; proved in %.1f ms%s",
             weft_coll_name(args->coll), algo, program->channels, program->channels == 1 ? "" : "s",
             program->segmentation.passes, program->segmentation.k, choice->slices,
             program->segmentation.slice * program->elem, state->self.family->kernel.props.variant,
             state->self.family->kernel.lanes != NULL ? " running plans" : "", choice->reason,
             entry->verify_seconds * 1e3, program->in_place ? "" : ", staged in place");
}

static uint32_t select_fold(uint64_t hash)
{
    return (uint32_t)(hash ^ hash >> 32);
}

static void select_fill_program(const weft_comm_state_t *state, const weft_args_t *args,
                                const weft_tuner_choice_t *choice, const weft_plan_entry_t *entry,
                                weft_program_t *program)
{
    bool reduces = weft_coll_reduces(args->coll);
    weft_coll_t shape = entry->plan->coll;
    program->plan = entry->plan;
    program->elem = weft_dtype_size(args->dtype);
    program->in_chunks =
        weft_coll_blocks(shape, state->self.nranks, WEFT_OPERAND_IN) * entry->plan->k;
    program->out_chunks =
        weft_coll_blocks(shape, state->self.nranks, WEFT_OPERAND_OUT) * entry->plan->k;
    program->dtype = args->dtype;
    program->pairs = weft_vectors_need(args->coll) == WEFT_VECTOR_PAIRS;
    weft_segmentation_params_t cut = {.k = entry->plan->k,
                                      .slices = choice->slices,
                                      .slice_bytes = choice->slice_bytes,
                                      .channels =
                                          select_channels_for(state, args, entry->cost.lanes)};
    program->channels = cut.channels;
    if (weft_coll_has_vectors(args->coll)) {
        weft_segmentation_set_largest(&program->segmentation, program->elem, &cut);
    } else {
        weft_segmentation_set(&program->segmentation, args->count, program->elem, &cut);
        if (program->segmentation.passes < cut.channels) {
            program->channels = (uint32_t)program->segmentation.passes;
        }
    }
    program->flags = reduces && args->op == WEFT_AVG ? WEFT_COMBINE_FINAL : 0;
    program->pre = reduces && args->op == WEFT_PREMULSUM;
    program->memory.near_bytes =
        state->self.family->small_bytes > 0 ? WEFT_SLOT_NEAR : WEFT_SLOT_INLINE;
    program->memory.on_host = state->self.family->kernel.memory == NULL;
    program->in_place = entry->in_place != 0;
    program->memory.bytes = args->count * program->elem;
    program->signature = (weft_signature_t){
        .coll = (uint8_t)args->coll,
        .dtype = (uint8_t)args->dtype,
        .op = reduces ? (uint8_t)args->op : 0,
        .root = args->root,
        .count = args->count,
        .plan = select_fold(entry->plans_hash * 31 + choice->slices * 7919 + choice->slice_bytes +
                            program->channels * UINT64_C(104729))};
}

static weft_status_t select_device(weft_comm_state_t *state, weft_program_t *program)
{
    weft_status_t status = weft_comm_open_device_queue(state);
    program->offload.ops = state->self.family->kernel.lanes;
    program->offload.kernel = state->self.family->kernel.instance;
    program->offload.queue = state->device_queue;
    return status;
}

static weft_status_t select_prepare(weft_comm_state_t *state, const weft_args_t *args,
                                    weft_prepared_t *prepared)
{
    weft_tuner_choice_t choice;
    weft_plan_query_t query;
    weft_plan_entry_t entry;
    weft_status_t status =
        select_choose_proved(state, args, &choice, &prepared->seconds, &query, &entry);
    if (status == WEFT_OK) {
        select_fill_program(state, args, &choice, &entry, &prepared->program);
        select_describe(state, args, &choice, &entry, query.algo, &prepared->program);
        /* A user's operator replaces the sums of the kernel, which still copies. */
        weft_op_t op = (int)args->op < WEFT_OP_COUNT ? args->op : WEFT_SUM;
        prepared->program.op = op;
        status = state->self.family->kernel.ops->select(
            state->self.family->kernel.instance, args->dtype, op, &prepared->program.combine);
    }
    if (status == WEFT_OK) {
        const weft_segmentation_t *g = &prepared->program.segmentation;
        prepared->tunes_nt = g->slice * prepared->program.elem >= WEFT_NT_STORE_BYTES;
        status = weft_program_allocate(&prepared->program);
    }
    if (status == WEFT_OK) {
        status = select_device(state, &prepared->program);
    }
    if (status == WEFT_OK) {
        status =
            weft_interpreter_init(&prepared->run, &prepared->program, &state->programs.workspace);
    }
    if (status == WEFT_OK) {
        weft_log(WEFT_LOG_DEBUG, "select", "%" PRIu64 " elements: %s", args->count,
                 prepared->program.reason);
    }
    return status;
}

weft_status_t weft_select(weft_comm_state_t *state, const weft_args_t *args,
                          weft_prepared_t **prepared_p)
{
    weft_assert_owner(state);
    weft_prepared_t *prepared = weft_programs_find(&state->programs, args);
    if (prepared != NULL) {
        *prepared_p = prepared;
        return WEFT_OK;
    }
    prepared = weft_os_alloc(sizeof *prepared, 0);
    if (prepared == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot prepare a call");
    }
    prepared->key = weft_programs_key(args);
    weft_status_t status = select_prepare(state, args, prepared);
    if (status != WEFT_OK) {
        weft_prepared_free(prepared);
        return status;
    }
    weft_programs_insert(&state->programs, prepared);
    weft_links_sweep(state->links); /* a new call may need other links than those before */
    *prepared_p = prepared;
    return WEFT_OK;
}
