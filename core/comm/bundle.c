/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bundles: what a device may do, the programs that it does it with, and the numbers of the
 * messages. Programs are kept in the communicator's table, where a bundle is known by a hash of its
 * messages. */
#include "core/comm/bundle.h"

#include <errno.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/error.h"
#include "core/comm/p2p_look.h"
#include "core/comm/stripes_compare.h"
#include "core/exec/device_run.h"
#include "core/plan/hash.h"

/* What a device may do ------------------------------------------------------------------------- */

/* Returns the first message of the list from here on that this rank sends to itself, or
 * receives. */
static const weft_request_t *bundle_to_itself(const weft_comm_state_t *state,
                                              const weft_request_t *request, uint32_t sends)
{
    while (request != NULL && (request->args.root != state->self.rank || request->sends != sends)) {
        request = request->next;
    }
    return request;
}

/* Returns whether sends to itself and receives from itself are of one kind each. */
static bool bundle_is_paired(const weft_comm_state_t *state, const weft_request_t *first)
{
    const weft_request_t *from = bundle_to_itself(state, first, 1);
    const weft_request_t *to = bundle_to_itself(state, first, 0);
    if (from != NULL && state->p2p.held_first != NULL) {
        return false; /* a receive from any rank may be the one */
    }
    while (from != NULL && to != NULL && from->args.count == to->args.count &&
           from->args.dtype == to->args.dtype) {
        from = bundle_to_itself(state, from->next, 1);
        to = bundle_to_itself(state, to->next, 0);
    }
    return from == NULL && to == NULL;
}

static bool bundle_is_behind_host(const weft_comm_state_t *state, const weft_request_t *request)
{
    const weft_request_t *host = weft_p2p_queue_of(&state->p2p, request)->first;
    while (host != NULL && host->in_stream) {
        host = host->next;
    }
    return host != NULL;
}

bool weft_bundle_suits(const weft_comm_state_t *state, const weft_request_t *first)
{
    if (state->self.nranks == 1 || state->self.family->kernel.lanes == NULL) {
        return false;
    }
    for (const weft_request_t *r = first; r != NULL; r = r->next) {
        if (r->args.coll != WEFT_SEND_RECV || r->args.one_sided != WEFT_ONE_SIDED_NONE ||
            r->args.root >= state->self.nranks || bundle_is_behind_host(state, r)) {
            return false;
        }
    }
    return bundle_is_paired(state, first);
}

/* Programs ------------------------------------------------------------------------------------- */

static uint32_t bundle_count(const weft_request_t *first)
{
    uint32_t count = 0;
    for (; first != NULL; first = first->next) {
        count++;
    }
    return count;
}

static weft_stripes_t bundle_cut(const weft_comm_state_t *state, const weft_request_t *request)
{
    return weft_comm_stripes(state, request->args.count * weft_dtype_bytes(request->args.dtype));
}

/* Writes where the messages go, and what the table of programs knows them by. */
static weft_args_t bundle_entries(const weft_comm_state_t *state, const weft_request_t *first,
                                  weft_bundle_entry_t *entries)
{
    weft_args_t args = {.coll = WEFT_SEND_RECV, .count = WEFT_HASH_START};
    for (const weft_request_t *r = first; r != NULL; r = r->next) {
        weft_bundle_entry_t *entry = &entries[args.root++];
        *entry = (weft_bundle_entry_t){
            .peer = r->args.root, .sends = r->sends, .stripes = bundle_cut(state, r).count};
        args.count = weft_hash_add(args.count, (uint64_t)entry->stripes << 33 |
                                                   2 * (uint64_t)entry->peer | entry->sends);
    }
    return args;
}

/* Lanes that fit on the device beside those of its other ranks. */
static uint32_t bundle_lanes(const weft_comm_state_t *state)
{
    const weft_family_t *family = state->self.family;
    int64_t wanted = family->settings.plan.channels;
    uint32_t lanes = wanted > 0 ? (uint32_t)wanted : family->kernel.props.channels;
    lanes = state->programs.most > 0 && state->programs.most < lanes ? state->programs.most : lanes;
    return lanes > 0 ? lanes : 1;
}

static weft_status_t bundle_allocate_program(weft_program_t *program)
{
    const weft_plan_t *plan = program->plan;
    program->nports = plan->nports;
    program->ports = weft_os_alloc((plan->nports + 1) * sizeof(weft_port_t *), 0);
    program->stable = weft_os_alloc(plan->nmoves + 1, 0);
    return program->ports != NULL && program->stable != NULL
               ? WEFT_OK
               : weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate a bundle of %u ports",
                           plan->nports);
}

/* Bytes: messages of several types may be in one bundle. */
static void bundle_fill_program(const weft_comm_state_t *state, uint32_t messages,
                                weft_program_t *program)
{
    const weft_family_t *family = state->self.family;
    program->segmentation = (weft_segmentation_t){.slice = family->slot_bytes,
                                                  .chunk = family->slot_bytes,
                                                  .pass = family->slot_bytes,
                                                  .passes = 1,
                                                  .slices = 1,
                                                  .k = 1};
    program->signature = (weft_signature_t){.coll = WEFT_SEND_RECV};
    program->offload = (weft_offload_t){.ops = family->kernel.lanes,
                                        .kernel = family->kernel.instance,
                                        .queue = state->device_queue,
                                        .limits = weft_cost_limits(&family->model)};
    program->dtype = WEFT_UINT8;
    program->op = WEFT_SUM;
    program->elem = 1;
    program->in_chunks = program->out_chunks = messages;
    program->channels = 1;
}

static weft_status_t bundle_prepare(weft_comm_state_t *state, const weft_bundle_entry_t *entries,
                                    uint32_t messages, weft_prepared_t *prepared)
{
    weft_program_t *program = &prepared->program;
    weft_status_t status = weft_comm_open_device_queue(state);
    if (status == WEFT_OK) {
        status =
            weft_bundle_plan_create(entries, messages, state->self.rank, bundle_lanes(state),
                                    state->self.family->kernel.props.channels, &prepared->bundle);
    }
    if (status == WEFT_OK) {
        program->plan = &prepared->bundle->plan;
        bundle_fill_program(state, messages, program);
        status = bundle_allocate_program(program);
    }
    return status == WEFT_OK
               ? weft_interpreter_init(&prepared->run, program, &state->programs.workspace)
               : status;
}

static weft_status_t bundle_make(weft_comm_state_t *state, const weft_args_t *args,
                                 const weft_bundle_entry_t *entries, weft_prepared_t **prepared_p)
{
    weft_prepared_t *prepared = weft_os_alloc(sizeof *prepared, 0);
    if (prepared == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot prepare a bundle");
    }
    prepared->key = weft_programs_key(&state->programs, args);
    weft_status_t status = bundle_prepare(state, entries, args->root, prepared);
    if (status != WEFT_OK) {
        weft_prepared_free(prepared);
        return status;
    }
    weft_programs_insert(&state->programs, prepared);
    *prepared_p = prepared;
    return WEFT_OK;
}

/* `make`: where there is none, else NULL. */
static weft_status_t bundle_look_up(const weft_comm_state_t *state, const weft_request_t *first,
                                    weft_comm_state_t *make, weft_prepared_t **prepared_p)
{
    weft_bundle_entry_t *entries = weft_os_alloc(bundle_count(first) * sizeof *entries, 0);
    if (entries == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot look for a bundle");
    }
    weft_args_t args = bundle_entries(state, first, entries);
    weft_status_t status = WEFT_OK;
    *prepared_p = weft_programs_find(&state->programs, &args);
    if (*prepared_p != NULL && !weft_bundle_plan_is_of((*prepared_p)->bundle, entries, args.root)) {
        status = weft_fail(WEFT_ERR_UNSUPPORTED, 0, "another bundle has the same key");
    } else if (*prepared_p == NULL && make != NULL) {
        status = bundle_make(make, &args, entries, prepared_p);
    }
    weft_os_free(entries);
    return status;
}

weft_status_t weft_bundle_select(weft_comm_state_t *state, const weft_request_t *first,
                                 weft_prepared_t **prepared_p)
{
    weft_assert_owner(state);
    return bundle_look_up(state, first, state, prepared_p);
}

weft_prepared_t *weft_bundle_find(const weft_comm_state_t *state, const weft_request_t *first)
{
    weft_prepared_t *prepared = NULL;
    weft_assert_owner(state);
    if (bundle_look_up(state, first, NULL, &prepared) != WEFT_OK || prepared == NULL) {
        return NULL;
    }
    return weft_device_run_is_ready(&prepared->run) ? prepared : NULL;
}

weft_status_t weft_bundle_bind(weft_comm_state_t *state, weft_prepared_t *prepared)
{
    weft_program_t *program = &prepared->program;
    weft_assert_owner(state);
    for (uint32_t i = 0; i < program->nports; i++) {
        const weft_plan_port_t *p = &program->plan->ports[i];
        if (program->ports[i] == NULL) {
            program->ports[i] =
                weft_links_port(state->links, p->peer,
                                weft_stripe_link(p->channel, WEFT_P2P_CHANNEL), p->sends != 0);
            program->bound += program->ports[i] != NULL;
        }
    }
    if (program->bound < program->nports) {
        weft_status_t status = weft_links_progress(state->links);
        return status == WEFT_OK ? WEFT_IN_PROGRESS : status;
    }
    return weft_device_run_export(&prepared->run);
}

/* Runs ----------------------------------------------------------------------------------------- */

void weft_bundle_number(weft_comm_state_t *state, weft_request_t *first)
{
    for (weft_request_t *r = first; r != NULL; r = r->next) {
        r->in_stream = true;
        weft_submit_number(state, r);
        weft_stripes_note(state, r, r->sequence);
    }
}

void weft_bundle_take_numbers(weft_comm_state_t *state, const weft_request_t *first)
{
    for (const weft_request_t *r = first; r != NULL; r = r->next) {
        weft_p2p_queue_of(&state->p2p, r)->sequence--;
    }
}

void weft_bundle_describe(const weft_comm_state_t *state, const weft_prepared_t *prepared,
                          const weft_request_t *first, weft_lanes_message_t *messages,
                          weft_lanes_call_t *call)
{
    const weft_binding_t nothing = {.in = NULL};
    weft_device_run_describe(&prepared->run, &nothing, call);
    call->messages = messages;
    for (const weft_request_t *r = first; r != NULL; r = r->next) {
        const weft_signature_t signature = weft_p2p_signature(r);
        weft_lanes_message_t *m = &messages[call->nmessages++];
        m->memory = r->sends ? (void *)(uintptr_t)r->args.send : r->args.recv;
        m->count = r->args.count * weft_dtype_bytes(r->args.dtype);
        m->slice = bundle_cut(state, r).slice;
        memcpy(m->signature, &signature, sizeof m->signature);
    }
}

void weft_bundle_complete(weft_comm_state_t *state, const weft_request_t *first)
{
    weft_assert_owner(state);
    for (const weft_request_t *r = first; r != NULL; r = r->next) {
        weft_p2p_queue_t *queue = weft_p2p_queue_of(&state->p2p, r);
        queue->completed = r->sequence;
    }
}
