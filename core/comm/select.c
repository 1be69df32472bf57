/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From a call to a program: list the algorithms that serve it, price them, let the tuner choose, prove
 * the choice, prepare it. Everything that enters the decision is equal on all ranks. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/comm/comm.h"

/* A message this large leaves no room for anything else in a core's share of the caches. */
#define STREAM_BYTES (UINT64_C(8) << 20)

typedef struct priced {
    const weft_algo_loaded_t *algo;
    weft_cost_t cost;
    weft_cost_model_t model;
    uint32_t k;
} priced_t;

static void make_query(const weft_comm_state_t *state, const weft_algo_loaded_t *algo,
                       const weft_args_t *args, uint32_t slices, weft_plan_query_t *query)
{
    *query = (weft_plan_query_t){
        .algo = algo->loaded->plugin->name,
        .version = algo->loaded->plugin->version,
        .ops = algo->ops,
        .instance = algo->algo,
        .call = {.size = sizeof(weft_algo_call_t),
                 .coll = weft_coll_shape(args->coll),
                 .nranks = state->nranks,
                 .rank = state->rank,
                 .root = args->root},
        .view = {.size = sizeof(weft_algo_view_t), .nhosts = state->nhosts, .host = state->host_of},
        .slots = state->slots,
        .slices = slices,
        .verify = state->settings.plan.verify != 0,
        .limit = state->settings.plan.verify_limit};
    if (WEFT_HAS(algo->ops, weft_algo_ops_t, params)) {
        for (uint32_t i = 0; i < WEFT_ALGO_PARAMS_MAX && algo->ops->params[i].name != NULL; i++) {
            query->call.params[i] = algo->ops->params[i].value;
        }
    }
}

static double price(const weft_tuner_call_t *call, const weft_tuner_candidate_t *candidate,
                    uint32_t slices, uint64_t slice_bytes)
{
    const priced_t *p = candidate->core;
    return weft_cost_time(&p->cost, &p->model, call->bytes, p->k, slices, slice_bytes);
}

static bool is_forced_out(const weft_comm_state_t *state, const weft_algo_loaded_t *algo)
{
    const char *forced = state->settings.plan.algo;
    return forced != NULL && forced[0] != '\0' && strcmp(forced, algo->loaded->plugin->name) != 0;
}

static weft_status_t no_candidate(const weft_comm_state_t *state, const weft_args_t *args,
                                  weft_status_t last)
{
    char names[256] = "";
    for (uint32_t i = 0; i < state->nalgos; i++) {
        size_t at = strlen(names);
        snprintf(names + at, sizeof names - at, " %s", state->algos[i].loaded->plugin->name);
    }
    if (last != WEFT_OK && last != WEFT_ERR_UNSUPPORTED) {
        return last; /* A plan was refused: its own words say more. */
    }
    const char *forced = state->settings.plan.algo;
    return weft_fail(WEFT_ERR_UNSUPPORTED, 0, "no algorithm serves %s on %u ranks; loaded:%s%s%s",
                     weft_coll_name(args->coll), state->nranks, names,
                     forced != NULL && forced[0] != '\0' ? "; [plan] algo allows only " : "",
                     forced != NULL ? forced : "");
}

/* Fills candidates and their prices; returns how many. */
static uint32_t list_candidates(const weft_comm_state_t *state, const weft_args_t *args,
                                priced_t *priced, weft_tuner_candidate_t *candidates,
                                weft_status_t *last_p)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < state->nalgos; i++) {
        const weft_algo_loaded_t *algo = &state->algos[i];
        weft_plan_query_t query;
        weft_plan_entry_t entry;
        make_query(state, algo, args, 1, &query);
        if (is_forced_out(state, algo)) {
            continue;
        }
        weft_status_t status = algo->ops->supports(algo->algo, &query.call);
        if (status == WEFT_OK) {
            status = weft_plan_lookup(&query, &entry);
        }
        if (status != WEFT_OK) {
            *last_p = status;
            if (status != WEFT_ERR_UNSUPPORTED) {
                weft_log(WEFT_LOG_WARN, query.algo, "not used: %s", weft_error_record()->text);
            }
            continue;
        }
        priced[count] =
            (priced_t){.algo = algo, .cost = entry.cost, .model = state->model, .k = entry.plan->k};
        candidates[count] = (weft_tuner_candidate_t){.size = sizeof *candidates,
                                                     .algo = query.algo,
                                                     .params = "",
                                                     .chunks = entry.plan->k,
                                                     .steps = entry.report.critical_moves,
                                                     .core = &priced[count]};
        count++;
    }
    return count;
}

static weft_status_t check_choice(const weft_comm_state_t *state, const weft_tuner_choice_t *choice,
                                  uint32_t count)
{
    if (choice->index < count && choice->slices >= 1 && choice->slices < state->slots &&
        choice->slice_bytes >= WEFT_LINE && choice->slice_bytes % WEFT_LINE == 0 &&
        choice->slice_bytes <= state->slot_bytes) {
        return WEFT_OK;
    }
    return weft_fail(WEFT_ERR_PLUGIN, 0,
                     "%s chose candidate %u of %u, %u slices of %" PRIu64
                     " bytes; allowed are 1 … %u slices of 64 … %" PRIu64 " bytes",
                     state->tuner_loaded->plugin->name, choice->index, count, choice->slices,
                     choice->slice_bytes, state->slots - 1, state->slot_bytes);
}

static weft_status_t choose(const weft_comm_state_t *state, const weft_args_t *args,
                            weft_tuner_choice_t *choice, const weft_algo_loaded_t **algo_p)
{
    priced_t priced[WEFT_ALGOS_MAX];
    weft_tuner_candidate_t candidates[WEFT_ALGOS_MAX];
    weft_status_t last = WEFT_OK;
    uint32_t count = list_candidates(state, args, priced, candidates, &last);
    if (count == 0) {
        return no_candidate(state, args, last);
    }
    weft_tuner_call_t call = {.size = sizeof call,
                              .coll = args->coll,
                              .dtype = args->dtype,
                              .op = args->op,
                              .root = args->root,
                              .count = args->count,
                              .bytes = args->count * weft_dtype_size(args->dtype),
                              .nranks = state->nranks,
                              .nhosts = state->nhosts,
                              .slot_bytes = state->slot_bytes,
                              .slots = state->slots};
    *choice = (weft_tuner_choice_t){.size = sizeof *choice};
    weft_status_t status =
        state->tuner_ops->choose(state->tuner, &call, candidates, count, price, choice);
    if (status == WEFT_OK) {
        status = check_choice(state, choice, count);
    }
    if (status == WEFT_OK) {
        *algo_p = priced[choice->index].algo;
    }
    return status;
}

static void describe(const weft_comm_state_t *state, const weft_args_t *args,
                     const weft_tuner_choice_t *choice, const weft_plan_entry_t *entry,
                     const char *algo, weft_program_t *program)
{
    snprintf(program->reason, sizeof program->reason,
             "%s by %s, %" PRIu64 " passes of %u chunks of %u slices of %" PRIu64
             " bytes, kernel %s; %s; proved in %.1f ms%s",
             weft_coll_name(args->coll), algo, program->geometry.passes, program->geometry.k,
             choice->slices, program->geometry.slice * program->elem, state->kernel_props.variant,
             choice->reason, entry->verify_seconds * 1e3,
             program->in_place ? "" : ", staged in place");
}

static uint32_t fold(uint64_t hash)
{
    return (uint32_t)(hash ^ hash >> 32);
}

static void fill_program(const weft_comm_state_t *state, const weft_args_t *args,
                         const weft_tuner_choice_t *choice, const weft_plan_entry_t *entry,
                         weft_program_t *program)
{
    bool reduces = args->coll == WEFT_ALL_REDUCE || args->coll == WEFT_REDUCE ||
                   args->coll == WEFT_REDUCE_SCATTER;
    weft_coll_t shape = entry->plan->coll;
    program->plan = entry->plan;
    program->elem = weft_dtype_size(args->dtype);
    program->in_chunks = weft_plan_blocks(shape, state->nranks, WEFT_OPERAND_IN) * entry->plan->k;
    program->out_chunks = weft_plan_blocks(shape, state->nranks, WEFT_OPERAND_OUT) * entry->plan->k;
    weft_geometry_set(&program->geometry, args->count, program->elem, entry->plan->k,
                      choice->slices, choice->slice_bytes);
    program->flags = reduces && args->op == WEFT_AVG ? WEFT_COMBINE_FINAL : 0;
    program->pre = reduces && args->op == WEFT_PREMULSUM;
    program->in_place = entry->in_place != 0;
    program->stream = args->count * program->elem >= STREAM_BYTES;
    program->signature = (weft_signature_t){
        .coll = (uint8_t)args->coll,
        .dtype = (uint8_t)args->dtype,
        .op = reduces ? (uint8_t)args->op : 0,
        .root = args->root,
        .count = args->count,
        .plan = fold(entry->shape * 31 + choice->slices * 7919 + choice->slice_bytes)};
}

static weft_status_t prepare(weft_comm_state_t *state, const weft_args_t *args,
                             weft_prepared_t *prepared)
{
    weft_tuner_choice_t choice;
    const weft_algo_loaded_t *algo = NULL;
    weft_plan_query_t query;
    weft_plan_entry_t entry;
    weft_status_t status = choose(state, args, &choice, &algo);
    if (status != WEFT_OK) {
        return status;
    }
    make_query(state, algo, args, choice.slices, &query);
    status = weft_plan_lookup(&query, &entry);
    if (status == WEFT_OK) {
        fill_program(state, args, &choice, &entry, &prepared->program);
        describe(state, args, &choice, &entry, query.algo, &prepared->program);
        status = state->kernel_ops->select(state->kernel, args->dtype, args->op,
                                           &prepared->program.combine);
    }
    if (status == WEFT_OK) {
        const weft_geometry_t *g = &prepared->program.geometry;
        prepared->adapts = g->slice * prepared->program.elem >= WEFT_ADAPT_BYTES;
        status = weft_program_allocate(&prepared->program);
    }
    if (status == WEFT_OK) {
        status = weft_lanes_init(&prepared->run, &prepared->program);
    }
    if (status == WEFT_OK) {
        weft_log(WEFT_LOG_DEBUG, "select", "%" PRIu64 " elements: %s", args->count,
                 prepared->program.reason);
    }
    return status;
}

void weft_prepared_free(weft_prepared_t *prepared)
{
    if (prepared != NULL) {
        weft_lanes_fini(&prepared->run);
        weft_program_release(&prepared->program);
        weft_os_free(prepared);
    }
}

static uint32_t key_place(const weft_program_key_t *key)
{
    uint64_t h = key->count * UINT64_C(0x9e3779b97f4a7c15) + key->root;
    h ^= (uint64_t)key->coll << 40 ^ (uint64_t)key->dtype << 48 ^ (uint64_t)key->op << 56;
    h *= UINT64_C(0xff51afd7ed558ccd);
    return (uint32_t)(h >> 32) & (WEFT_PROGRAMS - 1);
}

static bool key_equal(const weft_program_key_t *a, const weft_program_key_t *b)
{
    return a->count == b->count && a->root == b->root && a->coll == b->coll &&
           a->dtype == b->dtype && a->op == b->op;
}

weft_status_t weft_comm_select(weft_comm_state_t *state, const weft_args_t *args,
                               weft_prepared_t **prepared_p)
{
    weft_program_key_t key = {.count = args->count,
                              .root = args->root,
                              .coll = (uint8_t)args->coll,
                              .dtype = (uint8_t)args->dtype,
                              .op = (uint8_t)args->op,
                              .used = 1};
    weft_prepared_t **place = &state->prepared[key_place(&key)];
    if (*place != NULL && key_equal(&(*place)->key, &key)) {
        *prepared_p = *place;
        return WEFT_OK;
    }
    weft_prepared_t *prepared = weft_os_alloc(sizeof *prepared, 0);
    if (prepared == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot prepare a call");
    }
    prepared->key = key;
    weft_status_t status = prepare(state, args, prepared);
    if (status != WEFT_OK) {
        weft_prepared_free(prepared);
        return status;
    }
    /* Only the operation at the head of the queue holds a prepared call, and it is being selected
     * now: the one in this place is not in use. */
    weft_prepared_free(*place);
    *place = prepared;
    *prepared_p = prepared;
    return WEFT_OK;
}
