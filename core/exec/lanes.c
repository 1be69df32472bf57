/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The interpreter of plans. One step of a lane: enter the next instruction, advance its MOVEs by as
 * many slices as their ports allow, leave it. */
#include "core/exec/lanes.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"

/* Memory ------------------------------------------------------------------------------------------- */

static uint32_t largest_par(const weft_plan_lane_t *lane)
{
    uint32_t largest = 1;
    for (uint32_t pc = 0; pc < lane->ncode; pc++) {
        if (lane->code[pc].opcode == WEFT_CODE_PAR && lane->code[pc].n > largest) {
            largest = lane->code[pc].n;
        }
    }
    return largest;
}

weft_status_t weft_lanes_init(weft_lanes_t *run, const weft_program_t *program)
{
    const weft_plan_t *plan = program->plan;
    *run = (weft_lanes_t){.program = program};
    run->lanes = weft_os_alloc((program->channels * plan->nlanes + 1) * sizeof *run->lanes, 0);
    if (run->lanes == NULL) {
        goto err;
    }
    run->nlanes = program->channels * plan->nlanes;
    for (uint32_t l = 0; l < run->nlanes; l++) {
        weft_lane_run_t *lane = &run->lanes[l];
        lane->code = &plan->lanes[l % plan->nlanes];
        lane->channel = l / plan->nlanes;
        lane->member = weft_os_alloc(largest_par(lane->code) * sizeof *lane->member, 0);
        lane->finished = weft_os_alloc(lane->code->ncode * sizeof *lane->finished, 0);
        if (lane->member == NULL || lane->finished == NULL) {
            goto err;
        }
    }
    weft_status_t status = weft_device_init(&run->device, program);
    if (status != WEFT_OK) {
        weft_lanes_fini(run);
    }
    return status;
err:
    weft_lanes_fini(run);
    return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate the lanes of a plan");
}

void weft_lanes_fini(weft_lanes_t *run)
{
    if (run->program != NULL) {
        weft_lanes_stop(run);
        weft_device_fini(&run->device, run->program);
    }
    for (uint32_t l = 0; l < run->nlanes; l++) {
        weft_os_free(run->lanes[l].member);
        weft_os_free(run->lanes[l].finished);
    }
    weft_os_free(run->lanes);
    run->lanes = NULL;
    run->nlanes = 0;
}

void weft_lanes_start(weft_lanes_t *run, const weft_binding_t *binding)
{
    run->in = binding->in;
    run->out = binding->out;
    run->scalar = binding->scalar;
    run->vectors = binding->vectors;
    run->geometry = binding->geometry != NULL ? *binding->geometry : run->program->geometry;
    run->stopped = 0;
    run->blocked = NULL;
    run->mismatched = NULL;
    run->signature = weft_binding_signature(run->program, binding);
    if (weft_device_start(run, binding)) {
        return;
    }
    weft_program_fetch_ports(run->program);
    for (uint32_t l = 0; l < run->nlanes; l++) {
        weft_lane_run_t *lane = &run->lanes[l];
        lane->pc = 0;
        lane->iteration = 0;
        lane->times = 0;
        lane->members = 0;
        lane->bar = 0;
        lane->pass = lane->channel;
        lane->stopped = lane->pass >= run->geometry.passes;
        run->stopped += lane->stopped;
        /* Only plans with waits between lanes look at these. */
        if (run->program->plan->nlanes > 1) {
            memset(lane->finished, 0, lane->code->ncode * sizeof *lane->finished);
        }
    }
}

/* Operands ----------------------------------------------------------------------------------------- */

/* Chunk number of an operand in the given iteration, `j` chunks further on. */
static uint32_t operand_chunk(const weft_plan_operand_t *o, uint32_t chunks, uint32_t iteration,
                              uint32_t j)
{
    if (o->stride == 0 && j == 0) {
        return o->index;
    }
    int64_t c = ((int64_t)o->index + (int64_t)o->stride * iteration + j) % chunks;
    return (uint32_t)(c < 0 ? c + chunks : c);
}

static uint32_t operand_chunks(const weft_program_t *program, uint32_t kind)
{
    return kind == WEFT_OPERAND_IN    ? program->in_chunks
           : kind == WEFT_OPERAND_OUT ? program->out_chunks
                                      : program->tmp_chunks;
}

/* Elements of block `block` of IN or OUT, and where it starts. */
static uint64_t block_count(const weft_lanes_t *run, uint32_t kind, uint32_t block)
{
    const weft_vectors_t *v = run->vectors;
    return v == NULL                 ? run->geometry.count
           : kind == WEFT_OPERAND_IN ? v->in_counts[block]
                                     : v->out_counts[block];
}

static uint64_t block_start(const weft_lanes_t *run, uint32_t kind, uint32_t block)
{
    const weft_vectors_t *v = run->vectors;
    return v == NULL                 ? block * run->geometry.count
           : kind == WEFT_OPERAND_IN ? v->in_displs[block]
                                     : v->out_displs[block];
}

static uint8_t *operand_address(const weft_lanes_t *run, const weft_plan_operand_t *o,
                                uint32_t chunk, const weft_lane_run_t *lane)
{
    const weft_program_t *program = run->program;
    const weft_geometry_t *g = &run->geometry;
    if (o->kind == WEFT_OPERAND_TMP) {
        uint64_t before = (uint64_t)lane->channel * program->tmp_chunks + chunk;
        return program->tmp + before * g->chunk * program->elem;
    }
    uint32_t k = g->k;
    uint64_t element =
        block_start(run, o->kind, chunk / k) + lane->pass * g->pass + chunk % k * g->chunk;
    /* Reading IN never writes it: the cast serves one address table for both directions. */
    uint8_t *base = o->kind == WEFT_OPERAND_IN ? (uint8_t *)(uintptr_t)run->in : run->out;
    return (uint8_t *)((uintptr_t)base + element * program->elem);
}

/* The operand whose chunk says how long the MOVE is. */
static const weft_plan_operand_t *measure_of(const weft_member_t *m)
{
    uint32_t all = (uint32_t)m->move->ndst + m->move->nsrc;
    if ((m->move->flags & WEFT_PLAN_LIKE) != 0) {
        return &m->operands[all];
    }
    for (uint32_t i = 0; i < all; i++) {
        const weft_plan_operand_t *o = &m->operands[i];
        if (o->kind == WEFT_OPERAND_IN || o->kind == WEFT_OPERAND_OUT) {
            return o;
        }
    }
    return NULL;
}

/* Length of the chunk that the MOVE has reached. False: both ends know that nothing of this block is
 * left in this pass, and leave it out; the first pass always sends, so that they can compare. */
static bool member_measure(const weft_lanes_t *run, const weft_lane_run_t *lane, weft_member_t *m)
{
    const weft_program_t *program = run->program;
    const weft_plan_operand_t *o = measure_of(m);
    uint32_t k = run->geometry.k, chunk = 0, kind = WEFT_OPERAND_IN;
    if (o != NULL) {
        kind = o->kind;
        chunk = operand_chunk(o, operand_chunks(program, kind), lane->iteration, m->done);
    }
    uint64_t count = block_count(run, kind, chunk / k);
    m->chunk = weft_geometry_chunk(&run->geometry, count, lane->pass, chunk % k);
    if (!program->pairs) {
        return true;
    }
    m->signature = run->signature;
    m->signature.count = count;
    return lane->pass == 0 || m->chunk > 0;
}

/* Addresses of the chunk that the MOVE has reached. */
static void member_aim(const weft_lanes_t *run, const weft_lane_run_t *lane, weft_member_t *m)
{
    const weft_plan_move_t *move = m->move;
    const weft_program_t *program = run->program;
    uint32_t ndst = move->ndst, all = ndst + move->nsrc;
    weft_port_t **ports = program->ports + lane->channel * program->plan->nports;
    m->pre_mask = 0;
    for (uint32_t i = 0; i < all; i++) {
        const weft_plan_operand_t *o = &m->operands[i];
        if (o->kind == WEFT_OPERAND_PORT) {
            m->port[i] = ports[o->index];
            m->base[i] = NULL;
            continue;
        }
        uint32_t chunk =
            operand_chunk(o, operand_chunks(program, o->kind), lane->iteration, m->done);
        m->port[i] = NULL;
        m->base[i] = operand_address(run, o, chunk, lane);
        if (i >= ndst && o->kind == WEFT_OPERAND_IN && program->pre) {
            m->pre_mask |= 1u << (i - ndst);
        }
    }
    m->slice = 0;
    m->skip = ndst == 1 && move->nsrc == 1 && m->base[0] != NULL && m->base[0] == m->base[1] &&
              m->pre_mask == 0 && !((move->flags & WEFT_MOVE_FINAL) != 0 && program->flags != 0);
}

/* Goes to the next chunk that has something to move. */
static void member_next(const weft_lanes_t *run, const weft_lane_run_t *lane, weft_member_t *m)
{
    while (m->done < m->cnt && !member_measure(run, lane, m)) {
        m->done++;
    }
    m->finished = m->done == m->cnt;
    if (!m->finished) {
        member_aim(run, lane, m);
    }
}

static void member_enter(const weft_lanes_t *run, const weft_lane_run_t *lane, weft_member_t *m,
                         const weft_plan_move_t *move)
{
    m->move = move;
    m->operands = &run->program->plan->operands[move->operand];
    m->done = 0;
    m->cnt = move->cnt;
    member_next(run, lane, m);
}

/* One slice ---------------------------------------------------------------------------------------- */

/* The first port that is not ready, or NULL. */
static weft_port_t *member_blocker(const weft_member_t *m)
{
    uint32_t ndst = m->move->ndst;
    uint32_t all = ndst + m->move->nsrc;
    for (uint32_t i = ndst; i < all; i++) {
        if (m->port[i] != NULL && !weft_port_can_receive(m->port[i])) {
            return m->port[i];
        }
    }
    for (uint32_t i = 0; i < ndst; i++) {
        if (m->port[i] != NULL && !weft_port_can_send(m->port[i])) {
            return m->port[i];
        }
    }
    return NULL;
}

static const weft_signature_t *member_signature(const weft_lanes_t *run, const weft_member_t *m)
{
    return run->program->pairs ? &m->signature : &run->signature;
}

static bool member_signatures_match(weft_lanes_t *run, const weft_member_t *m)
{
    const weft_signature_t *mine = member_signature(run, m);
    uint32_t ndst = m->move->ndst, all = ndst + m->move->nsrc;
    for (uint32_t i = ndst; i < all; i++) {
        if (m->port[i] == NULL) {
            continue;
        }
        /* A copy first: the peer can write shared memory at any time. */
        weft_signature_t theirs = *weft_port_signature(m->port[i]);
        if (!weft_signature_equal(&theirs, mine)) {
            run->mismatched = m->port[i];
            run->signature = *mine;
            run->theirs = theirs;
            return false;
        }
    }
    return true;
}

static void member_combine(const weft_lanes_t *run, const weft_member_t *m, uint64_t count)
{
    const weft_program_t *program = run->program;
    const weft_plan_move_t *move = m->move;
    size_t offset = m->slice * run->geometry.slice * program->elem;
    weft_combine_t c;
    c.count = count;
    c.nsrc = move->nsrc;
    c.ndst = move->ndst;
    c.pre_mask = m->pre_mask;
    c.stream_mask = 0;
    c.flags = (move->flags & WEFT_MOVE_FINAL) != 0 ? program->flags : 0;
    c.nranks = program->plan->nranks;
    c.scalar = run->scalar;
    for (uint32_t i = 0; i < move->ndst; i++) {
        if (m->port[i] == NULL) {
            c.dst[i] = m->base[i] + offset;
            if (program->stream && m->operands[i].kind == WEFT_OPERAND_OUT) {
                c.stream_mask |= 1u << i;
            }
        } else {
            c.dst[i] = weft_port_payload(m->port[i], count * program->elem);
            c.stream_mask |= (uint32_t)run->stream_ports << i;
        }
    }
    for (uint32_t i = 0; i < move->nsrc; i++) {
        uint32_t at = move->ndst + i;
        c.src[i] = m->port[at] == NULL ? m->base[at] + offset
                                       : weft_port_payload(m->port[at], count * program->elem);
    }
    if (program->user.fn != NULL && c.nsrc > 1) {
        weft_user_combine(&program->user, program->dtype, &c);
    } else {
        program->combine(&c);
    }
}

/* Slots change hands only after the data is in place. All of them do, even if one link breaks at this
 * moment: the slice is done, and the other ports must stay in step. */
static weft_status_t member_publish(weft_lanes_t *run, const weft_member_t *m, uint64_t bytes)
{
    const weft_signature_t *signature = member_signature(run, m);
    weft_status_t status = WEFT_OK;
    uint32_t ndst = m->move->ndst, all = ndst + m->move->nsrc;
    for (uint32_t i = 0; i < all; i++) {
        if (m->port[i] == NULL) {
            continue;
        }
        if (i >= ndst) {
            /* A peer that has sent its last message may be gone: that its slot cannot be offered again
             * is the next receive's failure. */
            weft_status_t offered = weft_port_release(m->port[i]);
            (void)offered;
            continue;
        }
        weft_status_t one = weft_port_send(m->port[i], signature, bytes);
        if (status == WEFT_OK && one != WEFT_OK) {
            status = one;
            run->blocked = m->port[i];
        }
    }
    return status;
}

/* OK: slice done; AGAIN: a port is not ready. */
static weft_status_t member_slice(weft_lanes_t *run, const weft_lane_run_t *lane, weft_member_t *m)
{
    const weft_geometry_t *g = &run->geometry;
    weft_port_t *blocker = member_blocker(m);
    if (blocker != NULL) {
        run->blocked = blocker;
        return blocker->broken != WEFT_OK ? blocker->broken : WEFT_AGAIN;
    }
    if (!member_signatures_match(run, m)) {
        return WEFT_ERR_MISMATCH;
    }
    uint64_t count = weft_geometry_slice(g, m->chunk, m->slice);
    if (count > 0 && !m->skip) {
        member_combine(run, m, count);
    }
    weft_status_t status = member_publish(run, m, count * run->program->elem);
    if (++m->slice == g->slices) {
        m->done++;
        member_next(run, lane, m);
    }
    return status;
}

/* Lanes -------------------------------------------------------------------------------------------- */

static bool waits_are_over(const weft_lanes_t *run, const weft_lane_run_t *lane,
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

/* Makes the MOVEs of the instruction at pc active. False: a wait is not over. */
static bool lane_enter(const weft_lanes_t *run, weft_lane_run_t *lane)
{
    const weft_code_t *c = &lane->code->code[lane->pc];
    bool par = c->opcode == WEFT_CODE_PAR;
    uint32_t members = par ? c->n : 1;
    const weft_code_t *first = par ? c + 1 : c;
    for (uint32_t i = 0; i < members; i++) {
        if (!waits_are_over(run, lane, &run->program->plan->moves[first[i].n])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < members; i++) {
        member_enter(run, lane, &lane->member[i], &run->program->plan->moves[first[i].n]);
    }
    lane->members = members;
    return true;
}

/* Advances all active MOVEs. OK: all finished. */
static weft_status_t lane_moves(weft_lanes_t *run, weft_lane_run_t *lane, bool *moved_p)
{
    weft_status_t result = WEFT_OK;
    for (uint32_t i = 0; i < lane->members; i++) {
        weft_member_t *m = &lane->member[i];
        while (!m->finished) {
            weft_status_t status = member_slice(run, lane, m);
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

static void lane_stop(weft_lanes_t *run, weft_lane_run_t *lane)
{
    lane->pass += run->program->channels;
    if (lane->pass >= run->geometry.passes) {
        lane->stopped = true;
        run->stopped++;
        return;
    }
    lane->pc = 0;
}

static void lane_control(weft_lanes_t *run, weft_lane_run_t *lane, const weft_code_t *c)
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
    case WEFT_CODE_STOP:
        lane_stop(run, lane);
        break;
    default:
        break;
    }
}

static void lane_leave(weft_lane_run_t *lane, const weft_code_t *c)
{
    uint32_t words = c->opcode == WEFT_CODE_PAR ? c->n + 1 : 1;
    /* Inside a LOOP only the last iteration counts as finished. */
    bool last = lane->times == 0 || lane->iteration + 1 == lane->times;
    for (uint32_t i = 0; last && i < words; i++) {
        lane->finished[lane->pc + i] = lane->pass + 1;
    }
    lane->pc += words;
    lane->members = 0;
}

/* A lane may meet some lanes here and others there, so a barrier is known by its mask: the last lane of
 * it to arrive lets all of them pass. */
static bool lane_bar(weft_lanes_t *run, weft_lane_run_t *lane, const weft_code_t *c)
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
            lane_leave(&lanes[l], c);
        }
    }
    return true;
}

/* One instruction. OK: go on; AGAIN: blocked. */
static weft_status_t lane_instruction(weft_lanes_t *run, weft_lane_run_t *lane, bool *moved_p)
{
    const weft_code_t *c = &lane->code->code[lane->pc];
    if (c->opcode == WEFT_CODE_BAR) {
        if (!lane_bar(run, lane, c)) {
            return WEFT_AGAIN;
        }
        *moved_p = true;
        return WEFT_OK;
    }
    if (c->opcode != WEFT_CODE_MOVE && c->opcode != WEFT_CODE_PAR) {
        lane_control(run, lane, c);
        return WEFT_OK;
    }
    if (lane->members == 0 && !lane_enter(run, lane)) {
        return WEFT_AGAIN;
    }
    weft_status_t status = lane_moves(run, lane, moved_p);
    if (status == WEFT_OK) {
        lane_leave(lane, c);
    }
    return status;
}

static weft_status_t step_host(weft_lanes_t *run, bool *moved_p)
{
    for (uint32_t l = 0; l < run->nlanes; l++) {
        weft_lane_run_t *lane = &run->lanes[l];
        while (!lane->stopped) {
            weft_status_t status = lane_instruction(run, lane, moved_p);
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

weft_status_t weft_lanes_step(weft_lanes_t *run, bool *moved_p)
{
    if (run->device.under_way || run->device.started != WEFT_OK) {
        return weft_device_step(run, moved_p);
    }
    if (run->stopped == run->nlanes) {
        return WEFT_OK;
    }
    weft_status_t status = step_host(run, moved_p);
    if (status != WEFT_IN_PROGRESS) {
        weft_program_store_ports(run->program);
    }
    return status;
}

void weft_lanes_stop(weft_lanes_t *run)
{
    weft_device_stop(run);
}

weft_port_t *weft_lanes_undrained(const weft_lanes_t *run)
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
