/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From a call to a program: list the algorithms that serve it, price them, let the tuner choose,
 * prove the choice, prepare it. Everything that enters the decision is equal on all ranks. */
#include "core/comm/select.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/coll.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/plural.h"
#include "core/comm/select_candidates.h"
#include "core/exec/traffic.h"
#include "core/exec/zero_copy.h"
#include "core/plugin/plugin_status.h"

static weft_status_t select_check_choice(const weft_comm_state_t *state,
                                         const weft_tuner_choice_t *choice, uint32_t count)
{
    if (choice->protocol > WEFT_TUNER_PROTOCOL_WHOLE) {
        return weft_fail(WEFT_ERR_PLUGIN, 0, "%s chose protocol %u; there are 0 … %u",
                         state->self.family->tuner.loaded->plugin->name, choice->protocol,
                         WEFT_TUNER_PROTOCOL_WHOLE);
    }
    if (choice->index < count && choice->slices >= 1 &&
        choice->slices < state->self.family->slots && choice->slice_bytes >= WEFT_LINE &&
        choice->slice_bytes % WEFT_LINE == 0 &&
        choice->slice_bytes <= state->self.family->slot_bytes &&
        choice->channels <= weft_comm_channels(state)) {
        return WEFT_OK;
    }
    return weft_fail(WEFT_ERR_PLUGIN, 0,
                     "%s chose candidate %u of %u, %u slices of %" PRIu64
                     " bytes on %u channels; allowed are 1 … %u slices of 64 … %" PRIu64
                     " bytes on up to %u channels",
                     state->self.family->tuner.loaded->plugin->name, choice->index, count,
                     choice->slices, choice->slice_bytes, choice->channels,
                     state->self.family->slots - 1, state->self.family->slot_bytes,
                     weft_comm_channels(state));
}

/* The call as the tuner sees it. */
static weft_tuner_call_t select_call(const weft_comm_state_t *state, const weft_args_t *args)
{
    const weft_family_t *family = state->self.family;
    weft_tuner_call_t call = {.size = sizeof call,
                              .coll = args->coll,
                              .dtype = args->dtype,
                              .op = args->op,
                              .root = args->root,
                              .count = args->count,
                              .bytes = args->count * weft_dtype_size(args->dtype),
                              .nranks = state->self.nranks,
                              .nhosts = state->self.nhosts,
                              .slot_bytes = family->slot_bytes,
                              .slots = family->slots,
                              .memory = family->kernel.memory != NULL ? WEFT_TUNER_MEMORY_DEVICE
                                                                      : WEFT_TUNER_MEMORY_HOST,
                              .channels = weft_comm_channels(state),
                              .decided = weft_candidates_are_decided(state, args)};
    if (weft_vectors_need(args->coll) == WEFT_VECTOR_PAIRS) {
        call.bytes = family->slot_bytes; /* no rank knows all lengths */
    }
    return call;
}

/* Lists the candidates and asks the tuner. */
static weft_status_t select_choose(const weft_comm_state_t *state, const weft_args_t *args,
                                   weft_candidates_t *c, weft_select_choice_t *chosen)
{
    weft_status_t status = weft_candidates_list(state, args, c);
    if (status != WEFT_OK) {
        return status;
    }
    if (c->count == 0) {
        return weft_candidates_fail(state, args, c);
    }
    weft_tuner_call_t call = select_call(state, args);
    weft_tuner_choice_t *choice = &chosen->tuner;
    *choice = (weft_tuner_choice_t){.size = sizeof *choice, .next = WEFT_TUNER_NONE};
    status = state->self.family->tuner.ops->choose(state->self.family->tuner.instance, &call,
                                                   c->list, c->count, weft_price_call, choice);
    status =
        weft_plugin_status(state->self.family->tuner.loaded, "choose", WEFT_RETURNS_FINAL, status);
    if (status == WEFT_OK && choice->index < c->count && choice->channels == 0) {
        choice->channels = c->priced[choice->index].channels;
    }
    status = status == WEFT_OK ? select_check_choice(state, choice, c->count) : status;
    if (status == WEFT_OK) {
        weft_tuner_candidate_t candidate = c->list[choice->index];
        candidate.channels = choice->channels;
        call.protocol = choice->protocol;
        chosen->priced = c->priced[choice->index];
        chosen->seconds = weft_price_call(&call, &candidate, choice->slices, choice->slice_bytes);
        chosen->protocol =
            weft_price_protocol(&call, &candidate, choice->slices, choice->slice_bytes);
        chosen->longest =
            weft_price_longest(&call, &candidate, choice->slices, choice->slice_bytes);
    }
    return status;
}

/* Chooses and proves; an algorithm whose proof fails is dropped, and the tuner asked again. All
 * ranks come to the same answers. */
static weft_status_t select_choose_among(const weft_comm_state_t *state, const weft_args_t *args,
                                         weft_candidates_t *c, weft_select_choice_t *chosen,
                                         weft_plan_query_t *query, weft_plan_entry_t *entry)
{
    for (;;) {
        weft_status_t status = select_choose(state, args, c, chosen);
        if (status != WEFT_OK) {
            return status;
        }
        const weft_tuner_choice_t *choice = &chosen->tuner;
        const weft_algo_variant_t *variant = c->priced[choice->index].variant;
        chosen->algo = variant->label;
        chosen->next = choice->next < c->count ? c->priced[choice->next].variant->label : NULL;
        weft_candidates_query(state, variant, args, choice->slices, query);
        status = weft_candidates_lookup(variant, query, entry);
        if (status != WEFT_ERR_PLAN) {
            weft_candidates_tell(state, args, c);
            return status;
        }
        weft_candidates_refuse(state, c, variant);
    }
}

static weft_status_t select_choose_proved(const weft_comm_state_t *state, const weft_args_t *args,
                                          weft_select_choice_t *chosen, weft_plan_query_t *query,
                                          weft_plan_entry_t *entry)
{
    /* 40 KiB: too much for the stack, which is the caller's. */
    weft_candidates_t *c = weft_os_alloc(sizeof *c, 0);
    if (c == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot choose an algorithm");
    }
    weft_status_t status = select_choose_among(state, args, c, chosen, query, entry);
    weft_os_free(c);
    return status;
}

/* What slices of the call are worth that go between devices; of a run that may be whole those of
 * its slices, if it is not. Slices end at whole lines, so one may be longer than words may be: it
 * travels in lines then. */
static weft_cost_limits_t select_limits(const weft_comm_state_t *state,
                                        weft_kernel_protocol_t protocol)
{
    const weft_cost_model_t *model = &state->self.family->model;
    const uint64_t most = model->protocol[protocol].most;
    switch (protocol) {
    case WEFT_KERNEL_PROTOCOL_LL:
        return (weft_cost_limits_t){.words = (uint32_t)most,
                                    .lines = weft_cost_limits(model).lines};
    case WEFT_KERNEL_PROTOCOL_LL128:
        return (weft_cost_limits_t){.lines = (uint32_t)most};
    case WEFT_KERNEL_PROTOCOL_WHOLE:
        return weft_cost_limits(model);
    default:
        return (weft_cost_limits_t){.words = 0};
    }
}

static void select_describe(const weft_comm_state_t *state, const weft_args_t *args,
                            const weft_tuner_choice_t *choice, const weft_plan_entry_t *entry,
                            const char *algo, weft_program_t *program)
{
    bool runs_plans = state->self.family->kernel.lanes != NULL;
    char packed[40] = "";
    if (entry->cost.packed > 1) {
        snprintf(packed, sizeof packed, ", up to %u chunks in a message", entry->cost.packed);
    }
    snprintf(program->reason, sizeof program->reason,
             "%s by %s on %u channel%s, %" PRIu64 " pass%s of %u chunk%s of %u slice%s of %" PRIu64
             " bytes%s%s, kernel %s%s; %s; proved in %.1f ms%s",
             weft_coll_name(args->coll), algo, program->channels, weft_plural(program->channels),
             program->segmentation.passes, program->segmentation.passes == 1 ? "" : "es",
             program->segmentation.k, weft_plural(program->segmentation.k), choice->slices,
             weft_plural(choice->slices), program->segmentation.slice * program->elem, packed,
             runs_plans && program->offload.meets ? ", whole between windows" : "",
             state->self.family->kernel.props.variant, runs_plans ? " running plans" : "",
             choice->reason, entry->verify_seconds * 1e3,
             program->in_place ? "" : ", staged in place");
}

/* A run that may be whole is, where its buffers lie in windows: a rule for another protocol says
 * no. */
static bool select_may_be_whole(const weft_tuner_choice_t *choice)
{
    return choice->protocol == WEFT_TUNER_PROTOCOL_BEST ||
           choice->protocol == WEFT_TUNER_PROTOCOL_WHOLE;
}

/* Where there are windows the model has said whether a meeting is worth its time. Where there are
 * none, a call that is captured may meet some later. */
static bool select_meets(const weft_comm_state_t *state, weft_kernel_protocol_t protocol)
{
    return !state->programs.whole || protocol == WEFT_KERNEL_PROTOCOL_WHOLE;
}

static uint32_t select_fold(uint64_t hash)
{
    return (uint32_t)(hash ^ hash >> 32);
}

static bool select_receives(const weft_plan_t *plan)
{
    bool receives = false;
    for (uint32_t i = 0; i < plan->nports && !receives; i++) {
        receives = plan->ports[i].sends == 0;
    }
    return receives;
}

static void select_fill_program(const weft_comm_state_t *state, const weft_args_t *args,
                                const weft_select_choice_t *chosen, const weft_plan_entry_t *entry,
                                weft_program_t *program)
{
    const weft_tuner_choice_t *choice = &chosen->tuner;
    bool reduces = weft_coll_reduces(args->coll);
    weft_coll_t shape = entry->plan->coll;
    program->plan = entry->plan;
    program->elem = weft_dtype_size(args->dtype);
    program->in_chunks =
        weft_coll_blocks(shape, state->self.nranks, WEFT_OPERAND_IN) * entry->plan->k;
    program->out_chunks =
        weft_coll_blocks(shape, state->self.nranks, WEFT_OPERAND_OUT) * entry->plan->k;
    program->dtype = args->dtype;
    program->pairs = weft_vectors_need(args->coll) != WEFT_VECTOR_PAIRS ? WEFT_PAIRS_NONE
                     : entry->report.vector == WEFT_VECTOR_PASSED       ? WEFT_PAIRS_LEARNED
                                                                        : WEFT_PAIRS_KNOWN;
    const weft_price_parts_t parts = {
        .coll = args->coll,
        .dtype = args->dtype,
        .count = args->count,
        .k = entry->plan->k,
        .slices = choice->slices,
        .slice_bytes = choice->slice_bytes,
        .channels = program->pairs == WEFT_PAIRS_LEARNED ? 1 : choice->channels};
    weft_price_segment(&entry->cost, &parts, &program->segmentation);
    program->channels = parts.channels;
    if (!weft_coll_has_vectors(args->coll) && program->segmentation.passes < parts.channels) {
        program->channels = (uint32_t)program->segmentation.passes;
    }
    program->flags = reduces && args->op == WEFT_AVG ? WEFT_COMBINE_FINAL : 0;
    program->pre = reduces && args->op == WEFT_PREMULSUM;
    program->memory.near_bytes =
        state->self.family->small_bytes > 0 ? WEFT_SLOT_NEAR : WEFT_SLOT_INLINE;
    program->memory.on_host = state->self.family->kernel.memory == NULL;
    program->in_place = entry->in_place != 0;
    program->offload.meets = entry->report.meets && !program->pre &&
                             !weft_coll_has_vectors(args->coll) && select_may_be_whole(choice) &&
                             select_meets(state, chosen->protocol);
    program->offload.limits = select_limits(state, chosen->protocol);
    program->memory.bytes = args->count * program->elem;
    program->memory.copies_short = program->memory.on_host && !weft_coll_has_vectors(args->coll) &&
                                   program->memory.bytes < WEFT_ZERO_COPY_LEAST &&
                                   !select_receives(entry->plan);
    program->signature = (weft_signature_t){
        .coll = (uint8_t)args->coll,
        .dtype = (uint8_t)args->dtype,
        .op = reduces ? (uint8_t)args->op : 0,
        .root = args->root,
        .count = args->count,
        .plan = select_fold(entry->plans_hash * 31 + choice->slices * 7919 + choice->slice_bytes +
                            program->channels * UINT64_C(104729) +
                            chosen->protocol * UINT64_C(15485863))};
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
    weft_select_choice_t chosen;
    weft_plan_query_t query;
    weft_plan_entry_t entry;
    weft_status_t status = select_choose_proved(state, args, &chosen, &query, &entry);
    if (status == WEFT_OK) {
        prepared->seconds = chosen.seconds;
        select_fill_program(state, args, &chosen, &entry, &prepared->program);
        select_describe(state, args, &chosen.tuner, &entry, chosen.algo, &prepared->program);
        /* A user's operator replaces the sums of the kernel, which still copies. */
        weft_op_t op = (int)args->op < WEFT_OP_COUNT ? args->op : WEFT_SUM;
        prepared->program.op = op;
        status = weft_combiner_select(state->self.family->kernel.loaded,
                                      state->self.family->kernel.instance, args->dtype, op,
                                      &prepared->program.combiner);
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
        prepared->run.nt = weft_nt_tuner_default(prepared->program.memory.bytes);
        weft_log(WEFT_LOG_DEBUG, "select", "%" PRIu64 " elements: %s", args->count,
                 prepared->program.reason);
    }
    return status;
}

weft_status_t weft_select_choose(const weft_comm_state_t *state, const weft_args_t *args,
                                 weft_select_choice_t *chosen)
{
    weft_plan_query_t query;
    weft_plan_entry_t entry;
    return select_choose_proved(state, args, chosen, &query, &entry);
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
    prepared->key = weft_programs_key(&state->programs, args);
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
