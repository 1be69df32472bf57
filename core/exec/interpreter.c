/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The interpreter of plans. A lane enters its next instruction, advances the MOVEs by as many
 * slices as their ports allow, and leaves it. */
#include "core/exec/interpreter.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/exec/landing.h"
#include "core/exec/member.h"
#include "core/exec/near_move.h"

/* Memory --------------------------------------------------------------------------------------- */

/* Returns the most MOVEs that a lane of the plan has under way at once. */
static uint32_t interpreter_width(const weft_plan_t *plan)
{
    uint32_t width = 1;
    for (uint32_t l = 0; l < plan->nlanes; l++) {
        const weft_plan_lane_t *lane = &plan->lanes[l];
        for (uint32_t pc = 0; pc < lane->ncode; pc++) {
            bool par = lane->code[pc].opcode == WEFT_CODE_PAR;
            width = par && lane->code[pc].n > width ? lane->code[pc].n : width;
        }
    }
    return width;
}

static uint32_t interpreter_length(const weft_plan_t *plan)
{
    uint32_t length = 1;
    for (uint32_t l = 0; l < plan->nlanes; l++) {
        length = plan->lanes[l].ncode > length ? plan->lanes[l].ncode : length;
    }
    return length;
}

weft_status_t weft_interpreter_init(weft_interpreter_t *run, const weft_program_t *program,
                                    weft_workspace_t *workspace)
{
    const weft_plan_t *plan = program->plan;
    *run = (weft_interpreter_t){.program = program,
                                .workspace = workspace,
                                .nlanes = program->channels * plan->nlanes,
                                .width = interpreter_width(plan),
                                .length = interpreter_length(plan)};
    weft_status_t status = WEFT_OK;
    if (program->pairs == WEFT_PAIRS_LEARNED) {
        run->learned = weft_os_alloc((plan->nmoves + 1) * sizeof *run->learned, 0);
        status = run->learned != NULL ? WEFT_OK
                                      : weft_fail(WEFT_ERR_RESOURCE, ENOMEM,
                                                  "no memory for %u counts", plan->nmoves);
    }
    if (status == WEFT_OK) {
        status = weft_device_run_init(&run->device_run, program);
    }
    if (status != WEFT_OK) {
        weft_interpreter_fini(run);
    }
    return status;
}

void weft_interpreter_fini(weft_interpreter_t *run)
{
    if (run->program != NULL) {
        weft_interpreter_stop(run);
        weft_device_run_fini(&run->device_run, run->program);
        /* The next run at this address is another one. */
        run->workspace->user = run->workspace->user == run ? NULL : run->workspace->user;
    }
    weft_os_free(run->learned);
    run->learned = NULL;
    run->nlanes = 0;
}

/* Lays the workspace out for this run, unless it is from the last time. */
static weft_status_t interpreter_take_workspace(weft_interpreter_t *run)
{
    const weft_plan_t *plan = run->program->plan;
    weft_workspace_t *workspace = run->workspace;
    uint32_t l = 0;
    if (workspace->user == run) {
        return WEFT_OK;
    }
    weft_status_t status = weft_workspace_reserve(
        workspace, &(weft_workspace_needs_t){.lanes = run->nlanes,
                                             .width = run->width,
                                             .length = run->length,
                                             .scratch_bytes = run->program->memory.tmp_bytes});
    if (status != WEFT_OK) {
        return status;
    }
    workspace->user = run;
    run->lanes = workspace->lanes;
    run->buffers[WEFT_OPERAND_TMP] = (uintptr_t)workspace->scratch;
    for (uint32_t channel = 0; channel < run->program->channels; channel++) {
        for (uint32_t i = 0; i < plan->nlanes; i++, l++) {
            run->lanes[l].code = &plan->lanes[i];
            run->lanes[l].channel = channel;
            run->lanes[l].member = workspace->members + (size_t)l * run->width;
            run->lanes[l].finished = workspace->finished + (size_t)l * run->length;
        }
    }
    return WEFT_OK;
}

/* Returns the program's aims if they hold in this run: every lane has one pass, and blocks are as
 * long as in any other run. */
static weft_aim_t *interpreter_aims_of(const weft_interpreter_t *run)
{
    const weft_program_t *program = run->program;
    bool same = run->vectors == NULL && run->segmentation.passes <= program->channels;
    return same ? program->aims.aims : NULL;
}

static void interpreter_lane_begin_pass(const weft_interpreter_t *run, const weft_lane_run_t *lane)
{
    if (run->offers_landings && !lane->stopped) {
        weft_member_offer_landings(run, lane);
    }
}

weft_status_t weft_interpreter_start(weft_interpreter_t *run, const weft_binding_t *binding)
{
    run->buffers[WEFT_OPERAND_IN] = (uintptr_t)binding->in;
    run->buffers[WEFT_OPERAND_OUT] = (uintptr_t)binding->out;
    run->scalar = binding->scalar;
    run->vectors = binding->vectors;
    run->segmentation =
        binding->segmentation != NULL ? *binding->segmentation : run->program->segmentation;
    run->stable = weft_binding_stable(binding);
    run->aims = interpreter_aims_of(run);
    run->zero_copies = false;
    run->stopped = 0;
    run->blocked = NULL;
    run->mismatched = NULL;
    run->signature = weft_binding_signature(run->program, binding);
    if (weft_device_run_handle(run) != NULL && weft_device_run_start(run, binding)) {
        return WEFT_OK;
    }
    weft_status_t status = interpreter_take_workspace(run);
    if (status != WEFT_OK) {
        return status;
    }
    if (binding->in_place && run->program->signature.coll == WEFT_ALL_REDUCE) {
        /* Inputs go through slots here, since they change. Results in place beside them were
         * measured to be slower than slots for all: decision 38. */
        run->stable = 0;
    }
    run->offers_landings = !binding->in_place && binding->vectors == NULL &&
                           run->program->landings.count > 0 &&
                           run->segmentation.slice * run->program->elem >= WEFT_LANDING_MIN;
    if (!run->program->memory.on_host) {
        weft_program_fetch_ports(run->program);
    }
    for (uint32_t l = 0; l < run->nlanes; l++) {
        weft_lane_run_t *lane = &run->lanes[l];
        lane->pc = 0;
        lane->iteration = 0;
        lane->times = 0;
        lane->members = 0;
        lane->bar = 0;
        lane->pass = lane->channel;
        lane->stopped = lane->pass >= run->segmentation.passes;
        run->stopped += lane->stopped;
        /* Only plans with waits between lanes look at these. */
        if (run->program->plan->nafters > 0) {
            memset(lane->finished, 0, lane->code->ncode * sizeof *lane->finished);
        }
        interpreter_lane_begin_pass(run, lane);
    }
    return WEFT_OK;
}

/* Lanes ---------------------------------------------------------------------------------------- */

static bool interpreter_lane_waits_are_complete(const weft_interpreter_t *run,
                                                const weft_lane_run_t *lane,
                                                const weft_plan_move_t *move)
{
    const weft_plan_t *plan = run->program->plan;
    const weft_lane_run_t *lanes = run->lanes + lane->channel * plan->nlanes;
    for (uint32_t i = 0; i < move->nafter; i++) {
        const weft_after_t *after = &plan->afters[move->after + i];
        if (lanes[after->lane].finished[after->pc] < lane->pass + 1) {
            return false;
        }
    }
    return true;
}

/* Makes the MOVEs of the instruction at pc active. Returns false if a wait is not complete. */
static bool interpreter_lane_enter(const weft_interpreter_t *run, weft_lane_run_t *lane)
{
    const weft_plan_t *plan = run->program->plan;
    const weft_code_t *c = &lane->code->code[lane->pc];
    bool par = c->opcode == WEFT_CODE_PAR;
    uint32_t members = par ? c->n : 1;
    const weft_code_t *first = par ? c + 1 : c;
    for (uint32_t i = 0; plan->nafters > 0 && i < members; i++) {
        if (!interpreter_lane_waits_are_complete(run, lane, &plan->moves[first[i].n])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < members; i++) {
        weft_member_enter(run, lane, &lane->member[i], first[i].n);
    }
    lane->members = members;
    return true;
}

/* Advances all active MOVEs. OK: all are finished; AGAIN: one is blocked; or a failure. */
static weft_status_t interpreter_lane_moves(weft_interpreter_t *run, weft_lane_run_t *lane,
                                            bool *moved_p)
{
    weft_status_t result = WEFT_OK;
    for (uint32_t i = 0; i < lane->members; i++) {
        weft_member_t *m = &lane->member[i];
        while (!m->finished) {
            weft_status_t status = weft_member_slice(run, lane, m);
            if (status == WEFT_AGAIN) {
                result = WEFT_AGAIN;
                break;
            }
            if (status != WEFT_OK) {
                return status;
            }
            *moved_p = true;
        }
    }
    return result;
}

/* Returns a port of the lane with zero-copy messages that the peer has not released, or NULL. */
static weft_port_t *interpreter_lane_zero_copy_port(const weft_interpreter_t *run,
                                                    const weft_lane_run_t *lane)
{
    if (!run->zero_copies) {
        return NULL;
    }
    const weft_plan_t *plan = run->program->plan;
    weft_port_t **ports = run->program->ports + lane->channel * plan->nports;
    uint32_t number = (uint32_t)(lane - run->lanes) % plan->nlanes;
    for (uint32_t p = 0; p < plan->nports; p++) {
        if (plan->ports[p].lane == number && !weft_port_is_returned(ports[p])) {
            return ports[p];
        }
    }
    return NULL;
}

/* The caller may change the buffers after a run, so the run is complete only when no peer reads
 * them. That moment comes: the peers need nothing of this rank for it but the messages that it
 * has sent. */
static weft_status_t interpreter_lane_stop(weft_interpreter_t *run, weft_lane_run_t *lane)
{
    if (lane->pass + run->program->channels < run->segmentation.passes) {
        lane->pass += run->program->channels;
        lane->pc = 0;
        interpreter_lane_begin_pass(run, lane);
        return WEFT_OK;
    }
    weft_port_t *waits = interpreter_lane_zero_copy_port(run, lane);
    if (waits != NULL) {
        run->blocked = waits;
        return WEFT_AGAIN;
    }
    lane->stopped = true;
    run->stopped++;
    return WEFT_OK;
}

/* Notes for `after` that the instruction at pc is finished; inside a LOOP only the last iteration
 * counts. */
static void interpreter_lane_note(weft_lane_run_t *lane, uint32_t words)
{
    bool last = lane->times == 0 || lane->iteration + 1 == lane->times;
    for (uint32_t i = 0; last && i < words; i++) {
        lane->finished[lane->pc + i] = lane->pass + 1;
    }
}

static void interpreter_lane_leave(const weft_interpreter_t *run, weft_lane_run_t *lane,
                                   const weft_code_t *c)
{
    uint32_t words = c->opcode == WEFT_CODE_PAR ? c->n + 1 : 1;
    if (run->program->plan->nafters > 0) {
        interpreter_lane_note(lane, words);
    }
    lane->pc += words;
    lane->members = 0;
}

/* A lane may meet some lanes here and others there, so a barrier is known by its mask: the last
 * lane of it to arrive lets all of them pass. */
static bool interpreter_lane_bar(weft_interpreter_t *run, weft_lane_run_t *lane,
                                 const weft_code_t *c)
{
    uint32_t nlanes = run->program->plan->nlanes;
    weft_lane_run_t *lanes = run->lanes + lane->channel * nlanes;
    lane->bar = c->mask;
    for (uint32_t l = 0; l < nlanes; l++) {
        if ((c->mask >> l & 1) != 0 && lanes[l].bar != c->mask) {
            return false;
        }
    }
    for (uint32_t l = 0; l < nlanes; l++) {
        if ((c->mask >> l & 1) != 0) {
            lanes[l].bar = 0;
            interpreter_lane_leave(run, &lanes[l], c);
        }
    }
    return true;
}

static weft_status_t interpreter_lane_control(weft_interpreter_t *run, weft_lane_run_t *lane,
                                              const weft_code_t *c, bool *moved_p)
{
    switch (c->opcode) {
    case WEFT_CODE_LOOP:
        lane->iteration = 0;
        lane->times = c->n;
        lane->pc++;
        break;
    case WEFT_CODE_END:
        if (++lane->iteration < lane->times) {
            lane->pc = c->mate + 1;
            break;
        }
        lane->iteration = 0;
        lane->times = 0;
        lane->pc++;
        break;
    case WEFT_CODE_BAR:
        if (!interpreter_lane_bar(run, lane, c)) {
            return WEFT_AGAIN;
        }
        *moved_p = true;
        break;
    case WEFT_CODE_STOP:
        return interpreter_lane_stop(run, lane);
    default:
        break;
    }
    return WEFT_OK;
}

/* Runs the MOVEs of near_move.h from pc on. OK: what stands at pc now is another instruction. */
static weft_status_t interpreter_lane_near_moves(weft_interpreter_t *run, weft_lane_run_t *lane,
                                                 bool *moved_p)
{
    if (run->aims == NULL || lane->members != 0) {
        return WEFT_OK;
    }
    const weft_plan_t *plan = run->program->plan;
    const weft_aim_t *aims = run->aims + (size_t)lane->channel * plan->nmoves;
    const weft_code_t *c = &lane->code->code[lane->pc];
    for (; c->opcode == WEFT_CODE_MOVE && aims[c->n].is_near; c++) {
        bool done;
        weft_status_t status = weft_near_move(run, &plan->moves[c->n], &aims[c->n], &done);
        lane->pc += done;
        if (status != WEFT_OK) {
            return status;
        }
        *moved_p = true;
    }
    return WEFT_OK;
}

/* Runs one instruction. OK: go on; AGAIN: blocked; or a failure. */
static weft_status_t interpreter_lane_instruction(weft_interpreter_t *run, weft_lane_run_t *lane,
                                                  bool *moved_p)
{
    weft_status_t status = interpreter_lane_near_moves(run, lane, moved_p);
    if (status != WEFT_OK) {
        return status;
    }
    const weft_code_t *c = &lane->code->code[lane->pc];
    if (c->opcode != WEFT_CODE_MOVE && c->opcode != WEFT_CODE_PAR) {
        return interpreter_lane_control(run, lane, c, moved_p);
    }
    if (lane->members == 0 && !interpreter_lane_enter(run, lane)) {
        return WEFT_AGAIN;
    }
    status = interpreter_lane_moves(run, lane, moved_p);
    if (status == WEFT_OK) {
        interpreter_lane_leave(run, lane, c);
    }
    return status;
}

static weft_status_t interpreter_step_host(weft_interpreter_t *run, bool *moved_p)
{
    for (uint32_t l = 0; l < run->nlanes; l++) {
        weft_lane_run_t *lane = &run->lanes[l];
        while (!lane->stopped) {
            weft_status_t status = interpreter_lane_instruction(run, lane, moved_p);
            if (status == WEFT_AGAIN) {
                break;
            }
            if (status != WEFT_OK) {
                return status;
            }
        }
    }
    return run->stopped == run->nlanes ? WEFT_OK : WEFT_IN_PROGRESS;
}

weft_status_t weft_interpreter_step(weft_interpreter_t *run, bool *moved_p)
{
    if (run->device_run.under_way || run->device_run.started != WEFT_OK) {
        return weft_device_run_step(run, moved_p);
    }
    if (run->stopped == run->nlanes) {
        return WEFT_OK;
    }
    weft_status_t status = interpreter_step_host(run, moved_p);
    if (status != WEFT_IN_PROGRESS && !run->program->memory.on_host) {
        weft_program_store_ports(run->program);
    }
    return status;
}

void weft_interpreter_stop(weft_interpreter_t *run)
{
    weft_device_run_stop(run);
}

weft_port_t *weft_interpreter_undrained(const weft_interpreter_t *run)
{
    const weft_program_t *program = run->program;
    weft_port_t *broken = NULL;
    for (uint32_t i = 0; i < program->nports; i++) {
        weft_port_t *port = program->ports[i];
        if (!weft_port_holds(port)) {
            continue;
        }
        if (port->broken == WEFT_OK) {
            return port;
        }
        broken = port;
    }
    return broken;
}
