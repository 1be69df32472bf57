/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MOVEs of the interpreter: where their operands are, and one slice of them, from looking at its
 * ports to giving its slots on. */
#include "core/exec/member.h"

#include <string.h>

#include "core/exec/combination.h"
#include "core/exec/landing.h"
#include "core/exec/measure.h"
#include "core/exec/move_ports.h"
#include "core/exec/near_move.h"
#include "core/exec/nt_tuner.h"
#include "core/exec/packed.h"
#include "core/exec/zero_copy.h"

#define NO_HOLDER UINT32_MAX

/* Operands ------------------------------------------------------------------------------------- */

/* Sets what needs no addresses: which operands are ports, what the MOVE does with sources, and
 * which operand holds what it sends, in memory that does not change until the run ends
 * (core/plan/stable.h). */
static void member_classify(const weft_interpreter_t *run, weft_member_t *m)
{
    const weft_plan_move_t *move = m->move;
    const weft_program_t *program = run->program;
    weft_shape_t *shape = &m->shape;
    uint32_t ndst = move->ndst, all = ndst + move->nsrc, ports = 0, pre = 0, holder = 0;
    for (uint32_t i = 0; i < all; i++) {
        const weft_plan_operand_t *o = &m->operands[i];
        ports |= (uint32_t)(o->kind == WEFT_OPERAND_PORT) << i;
        pre |= (uint32_t)(i >= ndst && o->kind == WEFT_OPERAND_IN && program->pre) << i;
    }
    while (holder < ndst && m->operands[holder].kind != WEFT_OPERAND_OUT) {
        holder++;
    }
    shape->sends = (uint8_t)(ports & ((1u << ndst) - 1));
    shape->receives = (uint8_t)(ports ^ shape->sends);
    shape->pre_mask = (uint8_t)(pre >> ndst);
    bool copies = move->nsrc == 1 && pre == 0 &&
                  !((move->flags & WEFT_MOVE_FINAL) != 0 && program->flags != 0);
    bool packs = (move->flags & WEFT_MOVE_PACKED) != 0;
    shape->copies = copies && !packs;
    shape->packs = !packs ? WEFT_PACKS_NOTHING : copies ? WEFT_PACKS_COPIES : WEFT_PACKS;
    shape->holder = (uint8_t)holder;
    shape->stable = program->stable[move - program->plan->moves];
}

static uint32_t member_holder(const weft_interpreter_t *run, const weft_shape_t *shape)
{
    return (shape->stable & run->stable) != 0 ? shape->holder : NO_HOLDER;
}

/* Sets the addresses of the chunk that the MOVE has reached. */
static void member_aim(const weft_interpreter_t *run, const weft_lane_run_t *lane, weft_member_t *m)
{
    const weft_program_t *program = run->program;
    uint32_t all = (uint32_t)m->move->ndst + m->move->nsrc;
    weft_port_t **ports = program->ports + lane->channel * program->plan->nports;
    member_classify(run, m);
    for (uint32_t i = 0; i < all; i++) {
        const weft_plan_operand_t *o = &m->operands[i];
        if (o->kind == WEFT_OPERAND_PORT) {
            m->at[i].port = ports[o->index];
            continue;
        }
        uint32_t chunk =
            weft_plan_chunk_at(o, weft_measure_chunks(program, o->kind), lane->iteration, m->done);
        m->at[i].address = weft_measure_address(run, o, chunk, lane);
    }
    m->slice = 0;
    m->holder = member_holder(run, &m->shape);
}

/* Goes to the next chunk that has something to move. */
static void member_next(const weft_interpreter_t *run, const weft_lane_run_t *lane,
                        weft_member_t *m)
{
    while (m->done < m->cnt && !weft_measure(run, lane, m)) {
        m->done++;
    }
    m->finished = m->done == m->cnt;
    if (!m->finished) {
        member_aim(run, lane, m);
    }
}

/* Aims ----------------------------------------------------------------------------------------- */

/* Returns the aim of a MOVE that is the same in every run, or NULL. */
static weft_aim_t *member_aim_of(const weft_interpreter_t *run, const weft_lane_run_t *lane,
                                 uint32_t number)
{
    const weft_plan_t *plan = run->program->plan;
    return run->aims != NULL && lane->times == 0 && plan->moves[number].cnt == 1
               ? &run->aims[lane->channel * plan->nmoves + number]
               : NULL;
}

static void member_keep(const weft_interpreter_t *run, const weft_member_t *m, weft_aim_t *aim)
{
    aim->operands = (uint8_t)(m->move->ndst + m->move->nsrc);
    aim->shape = m->shape;
    for (uint32_t i = 0; i < aim->operands; i++) {
        aim->kind[i] = m->operands[i].kind;
        aim->offset[i] = m->at[i].address - run->buffers[aim->kind[i]];
    }
    aim->is_near = weft_near_move_is_one(run, m->move, aim);
}

static void member_take(const weft_interpreter_t *run, weft_member_t *m, const weft_aim_t *aim)
{
    for (uint32_t i = 0; i < aim->operands; i++) {
        m->at[i].address = run->buffers[aim->kind[i]] + aim->offset[i];
    }
    m->shape = aim->shape;
    m->cnt = 1;
    m->slice = 0;
    m->finished = false;
    m->holder = member_holder(run, &aim->shape);
}

void weft_member_enter(const weft_interpreter_t *run, const weft_lane_run_t *lane, weft_member_t *m,
                       uint32_t number)
{
    const weft_plan_move_t *move = &run->program->plan->moves[number];
    weft_aim_t *aim = member_aim_of(run, lane, number);
    m->move = move;
    m->operands = &run->program->plan->operands[move->operand];
    m->done = 0;
    if (aim != NULL && aim->operands != 0) {
        member_take(run, m, aim);
        return;
    }
    m->cnt = (move->flags & WEFT_MOVE_PACKED) != 0 ? 1 : move->cnt;
    member_next(run, lane, m);
    if (aim != NULL && !m->finished) {
        member_keep(run, m, aim);
    }
}

void weft_member_offer_landings(const weft_interpreter_t *run, const weft_lane_run_t *lane)
{
    const weft_program_t *program = run->program;
    const weft_plan_t *plan = program->plan;
    const weft_segmentation_t *g = &run->segmentation;
    uint32_t number = (uint32_t)(lane - run->lanes) % plan->nlanes, part;
    for (uint32_t i = 0; i < program->landings.count; i++) {
        const weft_plan_landing_t *landing = &program->landings.list[i];
        if (plan->ports[landing->port].lane != number) {
            continue;
        }
        weft_plan_operand_t out = {.kind = WEFT_OPERAND_OUT};
        (void)weft_measure_block(run, landing->chunk, &part);
        weft_landing_chunk_t chunk = {
            .ahead = (uint64_t)landing->ahead * g->slices,
            .to = (void *)weft_measure_address(run, &out, landing->chunk, lane),
            .bytes = weft_segmentation_chunk(g, g->count, lane->pass, part) * program->elem,
            .slice = g->slice * program->elem};
        weft_landing_offer(program->ports[lane->channel * plan->nports + landing->port], &chunk);
    }
}

/* One slice ------------------------------------------------------------------------------------ */

static const weft_signature_t *member_signature(const weft_interpreter_t *run,
                                                const weft_member_t *m)
{
    return run->program->pairs != WEFT_PAIRS_NONE ? &m->signature : &run->signature;
}

static void member_abandon(const weft_member_t *m)
{
    for (uint32_t left = m->shape.receives; left != 0; left &= left - 1) {
        weft_zero_copy_abandon(m->at[weft_move_first(left)].port);
    }
}

/* Finds the payloads of the sources, which may be in windows of the peers. */
static weft_status_t member_resolve(weft_interpreter_t *run, weft_member_t *m, uint64_t bytes)
{
    weft_status_t status = WEFT_OK;
    for (uint32_t left = m->shape.receives; left != 0 && status == WEFT_OK; left &= left - 1) {
        uint32_t at = weft_move_first(left), i = at - m->move->ndst;
        weft_port_t *port = m->at[at].port;
        m->there[i] = NULL;
        if (weft_port_may_be_apart(port, bytes)) {
            status = weft_zero_copy_resolve(port, bytes, run->program->elem, &m->there[i]);
            run->blocked = status == WEFT_OK ? run->blocked : port;
            m->reads_there = m->reads_there || m->there[i] != NULL;
        }
    }
    if (status != WEFT_OK) {
        member_abandon(m);
    }
    return status;
}

/* What the MOVE writes into memory of receivers is there, or never will be. */
static void member_end_landings(weft_member_t *m)
{
    for (uint32_t left = m->shape.sends; left != 0; left &= left - 1) {
        uint32_t i = weft_move_first(left);
        if (m->where[i].window == WEFT_ZERO_COPY_LANDED) {
            weft_landing_end(m->at[i].port);
            m->where[i].offset = 0;
        }
    }
    m->lands = false;
}

/* Looks for a place in the receiver's memory. */
static weft_zero_copy_t member_land(const weft_interpreter_t *run, weft_member_t *m,
                                    weft_port_t *port, uint64_t bytes)
{
    uint8_t *to =
        bytes >= WEFT_LANDING_MIN ? weft_landing_begin(port, bytes, run->program->elem) : NULL;
    m->lands = m->lands || to != NULL;
    return (weft_zero_copy_t){.window = to != NULL ? WEFT_ZERO_COPY_LANDED : 0,
                              .offset = (uintptr_t)to};
}

/* Returns whether the MOVE only copies what the caller or a peer gave. That is left to the
 * receivers, who fetch it at the same time. */
static bool member_leaves_copy(const weft_member_t *m)
{
    uint32_t from = m->operands[m->move->ndst].kind;
    return m->shape.copies && (from == WEFT_OPERAND_IN || from == WEFT_OPERAND_PORT);
}

/* Decides where the payload for one port goes: into the receiver's memory, or it stays where the
 * MOVE has it, or neither. */
static weft_zero_copy_t member_choose(const weft_interpreter_t *run, weft_member_t *m,
                                      weft_port_t *port, uint64_t bytes)
{
    size_t offset = m->slice * run->segmentation.slice * run->program->elem;
    bool leaves = member_leaves_copy(m);
    weft_zero_copy_t where =
        leaves ? (weft_zero_copy_t){.window = 0} : member_land(run, m, port, bytes);
    if (where.window == 0 && m->holder != NO_HOLDER && !run->program->memory.copies_short) {
        where = weft_zero_copy_describe(port, m->at[m->holder].base + offset, bytes);
    }
    if (where.window == 0 && leaves) {
        weft_zero_copy_t land = member_land(run, m, port, bytes);
        where = land.window != 0 ? land : where; /* which may still offer the arena */
    }
    return where;
}

/* Decides where the payloads go. Those that go into slots get memory for it if they have none. */
static weft_status_t member_describe(weft_interpreter_t *run, weft_member_t *m, uint64_t bytes)
{
    weft_status_t status = WEFT_OK;
    for (uint32_t left = m->shape.sends; left != 0 && status == WEFT_OK; left &= left - 1) {
        uint32_t i = weft_move_first(left);
        weft_port_t *port = m->at[i].port;
        m->where[i] = member_choose(run, m, port, bytes);
        m->sends_there = m->sends_there || m->where[i].window != 0 || m->where[i].offer.token != 0;
        if (m->where[i].window == 0) {
            status = weft_port_commit(port, bytes);
            run->blocked = status == WEFT_OK ? run->blocked : port;
        } else {
            run->zero_copies = true;
        }
    }
    return status;
}

/* Decides where the payloads go and finds those that have come. The smallest are in the headers of
 * slots, which need no look. */
static weft_status_t member_locate(weft_interpreter_t *run, weft_member_t *m, uint64_t bytes)
{
    weft_status_t status = WEFT_OK;
    m->sends_there = false;
    m->lands = false;
    m->reads_there = false;
    if (bytes > run->program->memory.near_bytes) {
        status = member_describe(run, m, bytes);
        status = status == WEFT_OK ? member_resolve(run, m, bytes) : status;
    }
    if (status != WEFT_OK && m->lands) {
        member_end_landings(m);
    }
    return status;
}

/* Sets the sources, in buffers, slots and windows. */
static void member_combine_sources(const weft_interpreter_t *run, const weft_member_t *m,
                                   weft_combine_t *c)
{
    size_t elem = run->program->elem, offset = m->slice * run->segmentation.slice * elem;
    uint32_t receives = m->shape.receives >> m->move->ndst;
    c->nsrc = m->move->nsrc;
    for (uint32_t i = 0; i < c->nsrc; i++) {
        uint32_t at = m->move->ndst + i;
        c->src[i] = (receives >> i & 1) == 0 ? m->at[at].base + offset
                    : m->reads_there && m->there[i] != NULL
                        ? m->there[i]
                        : weft_port_payload(m->at[at].port, c->count * elem);
    }
}

/* Returns whether the payload for a destination goes into memory of its receiver. */
static bool member_lands_there(const weft_member_t *m, uint32_t i)
{
    return m->lands && (m->shape.sends >> i & 1) != 0 &&
           m->where[i].window == WEFT_ZERO_COPY_LANDED;
}

/* Returns whether the payload for a destination stays where it is. */
static bool member_leaves_there(const weft_member_t *m, uint32_t i)
{
    return m->sends_there && (m->shape.sends >> i & 1) != 0 && m->where[i].window != 0 &&
           !member_lands_there(m, i);
}

/* Returns whether the transport is about to read the result from memory, so that it should be in
 * the caches. */
static bool member_sends_result(const weft_member_t *m)
{
    for (uint32_t i = 0; m->sends_there && i < m->move->ndst; i++) {
        if (member_leaves_there(m, i) && m->where[i].window == WEFT_ZERO_COPY_HERE) {
            return true;
        }
    }
    return false;
}

/* Sets the destinations. Messages that stay where they are need none, and no copy goes onto
 * itself. */
static void member_combine_destinations(const weft_interpreter_t *run, const weft_member_t *m,
                                        weft_combine_t *c)
{
    const weft_program_t *program = run->program;
    size_t offset = m->slice * run->segmentation.slice * program->elem;
    bool past = (run->nt & WEFT_NT_RESULTS) != 0 && !member_sends_result(m);
    bool past_slots = (run->nt & WEFT_NT_SLOTS) != 0;
    c->ndst = 0;
    c->nt_mask = 0;
    for (uint32_t i = 0; i < m->move->ndst; i++) {
        bool slot = (m->shape.sends >> i & 1) != 0, lands = member_lands_there(m, i);
        bool out = lands || m->operands[i].kind == WEFT_OPERAND_OUT;
        bool streams = slot && !lands ? past_slots : past && out;
        void *to = lands  ? (void *)(uintptr_t)m->where[i].offset
                   : slot ? weft_port_payload(m->at[i].port, c->count * program->elem)
                          : m->at[i].base + offset;
        if (!member_leaves_there(m, i) && !(m->shape.copies && to == c->src[0])) {
            c->nt_mask |= (uint32_t)streams << c->ndst;
            c->dst[c->ndst++] = to;
        }
    }
}

static weft_status_t member_combine(const weft_interpreter_t *run, const weft_member_t *m,
                                    uint64_t count)
{
    weft_combine_t c;
    c.count = count;
    c.pre_mask = m->shape.pre_mask;
    member_combine_sources(run, m, &c);
    member_combine_destinations(run, m, &c);
    return c.ndst > 0 ? weft_combination_run(run, m->move, &c, m->shape.copies) : WEFT_OK;
}

/* Returns whether a peer has taken back memory that the slice was read from. */
static bool member_is_withdrawn(weft_interpreter_t *run, const weft_member_t *m)
{
    for (uint32_t left = m->shape.receives; left != 0; left &= left - 1) {
        uint32_t at = weft_move_first(left);
        if (m->there[at - m->move->ndst] != NULL && weft_zero_copy_is_withdrawn(m->at[at].port)) {
            run->blocked = m->at[at].port;
            return true;
        }
    }
    return false;
}

/* Asks for the payloads of the chunk that has not come yet where the MOVE puts them, if it puts
 * them anywhere unchanged. */
static void member_place(const weft_interpreter_t *run, const weft_member_t *m)
{
    const weft_segmentation_t *g = &run->segmentation;
    size_t elem = run->program->elem;
    uint32_t ndst = m->move->ndst, here = ~(uint32_t)m->shape.sends & ((1u << ndst) - 1);
    if (!m->shape.copies || here == 0 || m->shape.receives == 0) {
        return;
    }
    uint32_t to = weft_move_first(here);
    weft_port_t *from = m->at[ndst].port;
    if (from->kind != WEFT_PORT_MESSAGE) {
        return;
    }
    for (uint32_t s = m->slice; s < g->slices; s++) {
        weft_message_port_place(from, s - m->slice, m->at[to].base + s * g->slice * elem,
                                weft_segmentation_slice(g, m->shape.chunk, s) * elem);
    }
}

/* Combines a slice of one chunk. AGAIN: a peer has taken back what it was read from. */
static weft_status_t member_combine_slice(weft_interpreter_t *run, weft_member_t *m, uint64_t count)
{
    weft_status_t status = member_locate(run, m, count * run->program->elem);
    if (status != WEFT_OK) {
        return status;
    }
    if (count > 0) {
        status = member_combine(run, m, count);
    }
    if (m->lands) {
        member_end_landings(m);
    }
    if (status != WEFT_OK) {
        return status;
    }
    if (m->reads_there && member_is_withdrawn(run, m)) {
        member_abandon(m);
        return WEFT_AGAIN;
    }
    return WEFT_OK;
}

/* Returns the most bytes that the messages of the slice may have. How many are learned from one
 * that has not come is not known. */
static uint64_t member_most(const weft_interpreter_t *run, const weft_member_t *m)
{
    uint64_t bytes =
        run->program->elem * weft_segmentation_slice(&run->segmentation, m->shape.chunk, m->slice);
    if (weft_measure_is_learned(run, m)) {
        return UINT64_MAX;
    }
    return m->shape.packs != WEFT_PACKS_NOTHING ? m->move->cnt * bytes : bytes;
}

weft_status_t weft_member_slice(weft_interpreter_t *run, const weft_lane_run_t *lane,
                                weft_member_t *m)
{
    const weft_segmentation_t *g = &run->segmentation;
    weft_port_t *blocker = weft_move_blocker(&m->shape, m->at, member_most(run, m));
    if (blocker != NULL) {
        run->blocked = blocker;
        if (!blocker->sends) {
            member_place(run, m);
        }
        return blocker->broken != WEFT_OK ? blocker->broken : WEFT_AGAIN;
    }
    weft_measure_learn(run, lane, m);
    if (!weft_move_signatures_match(run, &m->shape, m->at, member_signature(run, m))) {
        return WEFT_ERR_MISMATCH;
    }
    bool packed = m->shape.packs != WEFT_PACKS_NOTHING;
    uint64_t count = weft_segmentation_slice(g, m->shape.chunk, m->slice);
    weft_status_t status =
        packed ? weft_packed_combine(run, lane, m, count) : member_combine_slice(run, m, count);
    if (status != WEFT_OK) {
        return status;
    }
    uint64_t bytes = count * run->program->elem;
    const weft_move_message_t message = {.signature = member_signature(run, m),
                                         .bytes = packed ? m->move->cnt * bytes : bytes,
                                         .where = m->sends_there ? m->where : NULL};
    status = weft_move_publish(run, &m->shape, m->at, &message);
    if (++m->slice == g->slices) {
        m->finished = ++m->done == m->cnt;
        if (!m->finished) {
            member_next(run, lane, m);
        }
    }
    return status;
}
