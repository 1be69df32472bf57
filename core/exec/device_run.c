/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs on devices: flattening a plan, starting, looking, stopping. */
#include "core/exec/device_run.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/exec/port_export.h"
#include "core/exec/zero_copy.h"
#include "core/os/os.h"

/* An aborted run ends within 100 ms by contract; a device that has not ended after this is lost. */
#define STOP_NS (UINT64_C(1000) * WEFT_NS_PER_MS)

_Static_assert((int)WEFT_LANES_MOVE == (int)WEFT_CODE_MOVE &&
                   (int)WEFT_LANES_PAR == (int)WEFT_CODE_PAR &&
                   (int)WEFT_LANES_LOOP == (int)WEFT_CODE_LOOP &&
                   (int)WEFT_LANES_END == (int)WEFT_CODE_END &&
                   (int)WEFT_LANES_BAR == (int)WEFT_CODE_BAR &&
                   (int)WEFT_LANES_STOP == (int)WEFT_CODE_STOP,
               "opcodes are copied");
_Static_assert(WEFT_LANES_LIKE == WEFT_PLAN_LIKE, "flags are copied");
_Static_assert(sizeof(weft_signature_t) == sizeof((weft_lanes_call_t *)0)->signature, "copied");

/* Flattening ----------------------------------------------------------------------------------- */

typedef struct image {
    uint32_t *lane;
    weft_lanes_code_t *code;
    weft_lanes_move_t *moves;
    weft_lanes_operand_t *operands;
    weft_lanes_after_t *afters;
    weft_lanes_program_t program;
} image_t;

static void device_run_image_free(image_t *image)
{
    weft_os_free(image->lane);
    weft_os_free(image->code);
    weft_os_free(image->moves);
    weft_os_free(image->operands);
    weft_os_free(image->afters);
}

static bool device_run_image_allocate(image_t *image, const weft_plan_t *plan)
{
    uint32_t ncode = 0;
    for (uint32_t l = 0; l < plan->nlanes; l++) {
        ncode += plan->lanes[l].ncode;
    }
    image->program.ncode = ncode;
    image->lane = weft_os_alloc((plan->nlanes + 1) * sizeof *image->lane, 0);
    image->code = weft_os_alloc((ncode + 1) * sizeof *image->code, 0);
    image->moves = weft_os_alloc((plan->nmoves + 1) * sizeof *image->moves, 0);
    image->operands = weft_os_alloc((plan->noperands + 1) * sizeof *image->operands, 0);
    image->afters = weft_os_alloc((plan->nafters + 1) * sizeof *image->afters, 0);
    return image->lane != NULL && image->code != NULL && image->moves != NULL &&
           image->operands != NULL && image->afters != NULL;
}

static void device_run_image_copy_code(image_t *image, const weft_plan_t *plan)
{
    uint32_t at = 0;
    image->program.largest_par = 1;
    for (uint32_t l = 0; l < plan->nlanes; l++) {
        image->lane[l] = at;
        for (uint32_t pc = 0; pc < plan->lanes[l].ncode; pc++) {
            const weft_code_t *c = &plan->lanes[l].code[pc];
            bool bar = c->opcode == WEFT_CODE_BAR;
            image->code[at++] = (weft_lanes_code_t){
                .opcode = c->opcode, .n = c->n, .mate_or_mask = bar ? c->mask : c->mate};
            if (c->opcode == WEFT_CODE_PAR && c->n > image->program.largest_par) {
                image->program.largest_par = c->n;
            }
        }
    }
    image->lane[plan->nlanes] = at;
}

/* Returns one WEFT_STABLE_*, or 0, as devices know it. */
static uint32_t device_run_stable_flag(uint32_t stable)
{
    return stable == WEFT_STABLE_APART ? WEFT_LANES_STABLE
           : (stable & (WEFT_STABLE_IN_PLACE | WEFT_STABLE_FOLDED)) != 0
               ? WEFT_LANES_STABLE_IN_PLACE
               : 0;
}

static void device_run_image_copy_moves(image_t *image, const weft_program_t *program)
{
    const weft_plan_t *plan = program->plan;
    for (uint32_t i = 0; i < plan->nmoves; i++) {
        const weft_plan_move_t *m = &plan->moves[i];
        uint8_t stable = program->stable[i];
        uint8_t flags =
            (uint8_t)(m->flags | device_run_stable_flag(stable & WEFT_STABLE_APART) |
                      device_run_stable_flag(stable & (WEFT_STABLE_IN_PLACE | WEFT_STABLE_FOLDED)));
        image->moves[i] = (weft_lanes_move_t){.operand = m->operand,
                                              .after = m->after,
                                              .cnt = m->cnt,
                                              .ndst = m->ndst,
                                              .nsrc = m->nsrc,
                                              .nafter = m->nafter,
                                              .flags = flags};
    }
    for (uint32_t i = 0; i < plan->noperands; i++) {
        const weft_plan_operand_t *o = &plan->operands[i];
        uint32_t chunks = o->kind == WEFT_OPERAND_IN    ? program->in_chunks
                          : o->kind == WEFT_OPERAND_OUT ? program->out_chunks
                          : o->kind == WEFT_OPERAND_TMP ? program->tmp_chunks
                                                        : 0;
        image->operands[i] = (weft_lanes_operand_t){
            .kind = o->kind, .index = o->index, .stride = o->stride, .chunks = chunks};
    }
    for (uint32_t i = 0; i < plan->nafters; i++) {
        image->afters[i] =
            (weft_lanes_after_t){.lane = plan->afters[i].lane, .pc = plan->afters[i].pc};
    }
}

static void device_run_image_describe(image_t *image, const weft_program_t *program)
{
    const weft_plan_t *plan = program->plan;
    weft_lanes_program_t *p = &image->program;
    p->size = sizeof *p;
    p->nlanes = plan->nlanes;
    p->nports = plan->nports;
    p->nmoves = plan->nmoves;
    p->noperands = plan->noperands;
    p->nafters = plan->nafters;
    p->lane = image->lane;
    p->code = image->code;
    p->moves = image->moves;
    p->operands = image->operands;
    p->afters = image->afters;
    p->tmp_chunks = program->tmp_chunks;
    p->nranks = plan->nranks;
    p->dtype = program->dtype;
    p->op = program->op;
    p->elem = (uint32_t)program->elem;
    p->pre = program->pre;
    p->final = program->flags != 0;
    p->pairs = program->pairs != WEFT_PAIRS_NONE;
    p->channels = program->channels;
    p->messages = program->signature.coll == WEFT_SEND_RECV ? program->in_chunks : 0;
    p->meets = program->offload.meets;
    p->words_most = program->offload.limits.words;
    p->lines_most = program->offload.limits.lines;
}

static weft_status_t device_prepare(const weft_program_t *program, weft_lanes_handle_t **handle_p)
{
    image_t image = {.lane = NULL};
    weft_status_t status;
    if (device_run_image_allocate(&image, program->plan)) {
        device_run_image_copy_code(&image, program->plan);
        device_run_image_copy_moves(&image, program);
        device_run_image_describe(&image, program);
        status = program->offload.ops->prepare(program->offload.kernel, &image.program, handle_p);
    } else {
        status = weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot flatten a plan of %u moves",
                           program->plan->nmoves);
    }
    device_run_image_free(&image);
    return status;
}

/* Devices know no packed MOVEs. Only plans that somebody wrote by hand have any there. */
static bool device_run_packs(const weft_plan_t *plan)
{
    for (uint32_t i = 0; i < plan->nmoves; i++) {
        if ((plan->moves[i].flags & WEFT_MOVE_PACKED) != 0) {
            return true;
        }
    }
    return false;
}

weft_status_t weft_device_run_init(weft_device_run_t *device, const weft_program_t *program)
{
    *device = (weft_device_run_t){.handle = NULL};
    if (program->offload.ops == NULL) {
        return WEFT_OK;
    }
    weft_status_t status = device_run_packs(program->plan)
                               ? weft_fail(WEFT_ERR_UNSUPPORTED, 0, "it packs chunks into messages")
                               : device_prepare(program, &device->handle);
    if (status == WEFT_ERR_UNSUPPORTED) {
        weft_log(WEFT_LOG_INFO, "exec", "a plan stays on the host: %s", weft_error_record()->text);
        return WEFT_OK;
    }
    if (status != WEFT_OK) {
        return status;
    }
    device->ends = weft_os_alloc((program->nports + 1) * sizeof(weft_lanes_endpoint_t *), 0);
    if (device->ends == NULL) {
        weft_device_run_fini(device, program);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate the ends of a device");
    }
    return WEFT_OK;
}

void weft_device_run_fini(weft_device_run_t *device, const weft_program_t *program)
{
    if (device->handle != NULL) {
        program->offload.ops->release(device->handle);
    }
    weft_os_free(device->ends);
    *device = (weft_device_run_t){.handle = NULL};
}

/* Runs ----------------------------------------------------------------------------------------- */

weft_status_t weft_device_run_export(weft_interpreter_t *run)
{
    const weft_program_t *program = run->program;
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; status == WEFT_OK && i < program->nports; i++) {
        status = weft_port_export(program->ports[i], program->offload.ops, program->offload.kernel);
        run->device_run.ends[i] = program->ports[i]->export.end;
    }
    return status;
}

bool weft_device_run_is_ready(const weft_interpreter_t *run)
{
    const weft_program_t *program = run->program;
    bool ready = run->device_run.handle != NULL && program->bound == program->nports;
    for (uint32_t i = 0; ready && i < program->nports; i++) {
        ready = program->ports[i]->export.end != NULL && run->device_run.ends[i] != NULL;
    }
    return ready;
}

void weft_device_run_describe(const weft_interpreter_t *run, const weft_binding_t *binding,
                              weft_lanes_call_t *call)
{
    const weft_program_t *program = run->program;
    const weft_segmentation_t *g =
        binding->segmentation != NULL ? binding->segmentation : &program->segmentation;
    const weft_vectors_t *v = binding->vectors;
    *call = (weft_lanes_call_t){.size = sizeof *call,
                                .in = binding->in,
                                .out = binding->out,
                                .segmentation = {.count = g->count,
                                                 .slice = g->slice,
                                                 .chunk = g->chunk,
                                                 .pass = g->pass,
                                                 .passes = g->passes,
                                                 .slices = g->slices,
                                                 .k = g->k},
                                .nin = program->in_chunks / g->k,
                                .nout = program->out_chunks / g->k,
                                .ends = run->device_run.ends,
                                .stable = device_run_stable_flag(weft_binding_stable(binding))};
    if (v != NULL) {
        call->vectors = (weft_lanes_vectors_t){.in_counts = v->in_counts,
                                               .in_displs = v->in_displs,
                                               .out_counts = v->out_counts,
                                               .out_displs = v->out_displs};
    }
    weft_signature_t signature = weft_binding_signature(program, binding);
    memcpy(call->signature, &signature, sizeof call->signature);
    if (program->pre) {
        memcpy(&call->scalar, binding->scalar, program->elem);
    }
}

bool weft_device_run_start(weft_interpreter_t *run, const weft_binding_t *binding)
{
    const weft_program_t *program = run->program;
    run->device_run.started = WEFT_OK;
    if (run->device_run.launched > 0 || program->user.fn != NULL) {
        return false;
    }
    weft_status_t status = weft_device_run_export(run);
    if (status == WEFT_OK) {
        weft_lanes_call_t call;
        weft_device_run_describe(run, binding, &call);
        weft_lanes_job_t job = {.handle = run->device_run.handle, .call = &call};
        status = program->offload.ops->start(program->offload.queue, NULL, &job, 1);
        run->device_run.run = job.run;
    }
    if (status == WEFT_ERR_UNSUPPORTED) {
        weft_log(run->device_run.told ? WEFT_LOG_DEBUG : WEFT_LOG_INFO, "exec",
                 "a run stays on the host: %s", weft_error_record()->text);
        run->device_run.told = true;
        return false;
    }
    run->device_run.moved = 0;
    run->device_run.started = status;
    run->device_run.under_way = status == WEFT_OK;
    return true;
}

static weft_status_t device_window_lie(const weft_port_t *port)
{
    weft_status_t status = weft_fail(
        WEFT_ERR_PROTO, 0,
        "rank %u says that data is in a window which is not open here or ends before", port->peer);
    weft_error_record()->peer = (int32_t)port->peer;
    return status;
}

weft_status_t weft_device_run_look(weft_interpreter_t *run, uint64_t number,
                                   weft_lanes_state_t *state)
{
    const weft_program_t *program = run->program;
    *state = (weft_lanes_state_t){.size = sizeof *state, .blocked = -1, .mismatch = -1};
    weft_status_t status = program->offload.ops->poll(run->device_run.handle, number, state);
    if (state->zero_copied > run->device_run.referred) {
        weft_zero_copy_count(program->ports, program->nports,
                             state->zero_copied - run->device_run.referred,
                             state->whole - run->device_run.whole);
        run->device_run.referred = state->zero_copied;
        run->device_run.whole = state->whole;
    }
    if (status != WEFT_ERR_MISMATCH && status != WEFT_ERR_PROTO) {
        return status;
    }
    if (state->mismatch < 0 || (uint32_t)state->mismatch >= program->nports) {
        return weft_fail(WEFT_ERR_INTERNAL, 0, "a device names port %d of %u", state->mismatch,
                         program->nports);
    }
    return status == WEFT_ERR_PROTO ? device_window_lie(program->ports[state->mismatch]) : status;
}

static void device_note_mismatch(weft_interpreter_t *run, const weft_lanes_state_t *state)
{
    run->mismatched = run->program->ports[state->mismatch];
    memcpy(&run->signature, state->mine, sizeof run->signature);
    memcpy(&run->theirs, state->theirs, sizeof run->theirs);
}

/* Returns the failure of a port that the device waits for in vain, or IN_PROGRESS. */
static weft_status_t device_waits_in_vain(const weft_port_t *port)
{
    return port != NULL && weft_port_is_dry(port) ? port->broken : WEFT_IN_PROGRESS;
}

void weft_device_run_settle(const weft_interpreter_t *run)
{
    bool moved = false;
    const weft_program_t *program = run->program;
    for (uint32_t i = 0; i < program->nports; i++) {
        weft_port_t *port = program->ports[i];
        if (!weft_port_is_mapped(port)) {
            (void)port->ops->flush(port, &moved); /* the next poll tells what goes wrong */
        }
    }
}

weft_status_t weft_device_run_step(weft_interpreter_t *run, bool *moved_p)
{
    weft_lanes_state_t state;
    uint32_t nports = run->program->nports;
    if (!run->device_run.under_way) {
        return run->device_run.started;
    }
    weft_status_t status = weft_device_run_look(run, run->device_run.run, &state);
    *moved_p = *moved_p || state.moved != run->device_run.moved || status == WEFT_OK;
    run->device_run.moved = state.moved;
    run->blocked = state.blocked >= 0 && (uint32_t)state.blocked < nports
                       ? run->program->ports[state.blocked]
                       : NULL;
    if (status == WEFT_IN_PROGRESS) {
        return device_waits_in_vain(run->blocked);
    }
    run->device_run.under_way = false;
    run->device_run.started = status;
    weft_device_run_settle(run);
    if (status == WEFT_OK) {
        run->stopped = run->nlanes;
    } else if (status == WEFT_ERR_MISMATCH) {
        device_note_mismatch(run, &state);
    }
    return status;
}

void weft_device_run_stop(weft_interpreter_t *run)
{
    bool moved = false;
    uint32_t turns = 0;
    if (!run->device_run.under_way) {
        return;
    }
    uint64_t deadline = weft_os_clock_ns() + STOP_NS;
    run->program->offload.ops->abort(run->device_run.handle);
    while (run->device_run.under_way) {
        (void)weft_device_run_step(run, &moved);
        if (run->device_run.under_way && weft_os_clock_ns() > deadline) {
            weft_log(WEFT_LOG_ERROR, "exec", "the device does not stop a run that was aborted");
            return;
        }
        weft_os_give_way(&turns);
    }
}
