/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See lanes_image.h. */
#include "lanes_image.h"

#include <stdio.h>
#include <string.h>

#define NO_LANE UINT32_MAX

/* Checks ------------------------------------------------------------------------------------------- */

static const char *refuse_operand(const weft_lanes_program_t *p, const weft_lanes_operand_t *o)
{
    if (o->kind == WEFT_OPERAND_PORT) {
        return o->index < p->nports ? NULL : "an operand names a port that does not exist";
    }
    if (o->kind < WEFT_OPERAND_IN || o->kind > WEFT_OPERAND_TMP) {
        return "an operand is of no known kind";
    }
    return o->chunks > 0 ? NULL : "an operand lies in a buffer without chunks";
}

static const char *refuse_move(const weft_lanes_program_t *p, const weft_lanes_move_t *m)
{
    uint32_t all = (uint32_t)m->ndst + m->nsrc + ((m->flags & WEFT_LANES_LIKE) != 0);
    if (m->ndst < 1 || m->ndst > WEFT_MOVE_MAX || m->nsrc < 1 || m->nsrc > WEFT_MOVE_MAX ||
        m->cnt < 1 || all > p->noperands || m->operand > p->noperands - all ||
        m->nafter > p->nafters || m->after > p->nafters - m->nafter) {
        return "a MOVE reaches beyond the program";
    }
    for (uint32_t i = 0; i < m->nafter; i++) {
        const weft_lanes_after_t *a = &p->afters[m->after + i];
        if (a->lane >= p->nlanes || a->pc >= p->lane[a->lane + 1] - p->lane[a->lane]) {
            return "a MOVE waits for a word that does not exist";
        }
    }
    const char *why = NULL;
    for (uint32_t i = 0; i < all && why == NULL; i++) {
        why = refuse_operand(p, &p->operands[m->operand + i]);
    }
    return why;
}

/* `left` counts the words from this one to the lane's end. */
static const char *refuse_code(const weft_lanes_program_t *p, const weft_lanes_code_t *c,
                               uint32_t left, uint32_t words)
{
    switch (c->opcode) {
    case WEFT_LANES_MOVE:
        return c->n < p->nmoves ? NULL : "a MOVE does not exist";
    case WEFT_LANES_PAR:
        for (uint32_t i = 1; i <= c->n && i < left; i++) {
            if (c[i].opcode != WEFT_LANES_MOVE) {
                return "a PAR has members that are no MOVEs";
            }
        }
        return c->n > 0 && c->n < left && c->n <= p->largest_par ? NULL : "a PAR is too long";
    case WEFT_LANES_LOOP:
    case WEFT_LANES_END:
        return c->mate_or_mask < words ? NULL : "a LOOP reaches beyond its lane";
    case WEFT_LANES_BAR:
    case WEFT_LANES_STOP:
        return NULL;
    default:
        return "an instruction is unknown";
    }
}

static const char *refuse_lane(const weft_lanes_program_t *p, uint32_t lane)
{
    const char *why = NULL;
    if (p->lane[lane + 1] <= p->lane[lane] || p->lane[lane + 1] > p->ncode ||
        p->code[p->lane[lane + 1] - 1].opcode != WEFT_LANES_STOP) {
        return "a lane has no end";
    }
    uint32_t words = p->lane[lane + 1] - p->lane[lane];
    for (uint32_t pc = 0; pc < words && why == NULL; pc++) {
        why = refuse_code(p, &p->code[p->lane[lane] + pc], words - pc, words);
    }
    return why;
}

static const char *refuse_program(const weft_lanes_program_t *p)
{
    const char *why = NULL;
    if (p->size < sizeof *p) {
        return "the program is of an older layout";
    }
    if (p->nlanes < 1 || p->nlanes > WEFT_LANE_MAX || p->largest_par < 1 || p->elem < 1 ||
        p->elem > 8) {
        return "numbers of the program are out of range";
    }
    for (uint32_t l = 0; l < p->nlanes && why == NULL; l++) {
        why = refuse_lane(p, l);
    }
    for (uint32_t m = 0; m < p->nmoves && why == NULL; m++) {
        why = refuse_move(p, &p->moves[m]);
    }
    return why;
}

/* Layout ------------------------------------------------------------------------------------------- */

/* Number of the mask of code[at] among those before it; counts them if it is none of them. */
static uint32_t mask_number(const weft_lanes_program_t *p, uint32_t at)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < at; i++) {
        bool seen = false;
        if (p->code[i].opcode != WEFT_LANES_BAR) {
            continue;
        }
        for (uint32_t j = 0; j < i && !seen; j++) {
            seen = p->code[j].opcode == WEFT_LANES_BAR &&
                   p->code[j].mate_or_mask == p->code[i].mate_or_mask;
        }
        if (!seen && p->code[i].mate_or_mask == p->code[at].mate_or_mask) {
            return number;
        }
        number += !seen;
    }
    return number;
}

static size_t place(size_t *end, uint64_t count, size_t each)
{
    size_t at = *end;
    *end = (at + count * each + 127) / 128 * 128;
    return at;
}

static void plan_fixed(lanes_image_t *image, const weft_lanes_program_t *p, size_t *end)
{
    image->lane = place(end, p->nlanes + 1, sizeof *p->lane);
    image->code = place(end, p->ncode, sizeof *p->code);
    image->moves = place(end, p->nmoves, sizeof *p->moves);
    image->operands = place(end, p->noperands, sizeof *p->operands);
    image->afters = place(end, p->nafters, sizeof *p->afters);
    image->owner = place(end, p->nports, sizeof(uint32_t));
    image->fixed_bytes = *end;
}

bool lanes_image_plan(lanes_image_t *image, const weft_lanes_program_t *program, char *why,
                      size_t bytes)
{
    const char *reason = refuse_program(program);
    size_t end = 0;
    if (reason != NULL) {
        snprintf(why, bytes, "%s", reason);
        return false;
    }
    memset(image, 0, sizeof *image);
    image->program = *program;
    for (uint32_t at = 0; at < program->ncode; at++) {
        if (program->code[at].opcode == WEFT_LANES_BAR &&
            mask_number(program, at) == image->nmasks) {
            image->nmasks++;
        }
    }
    plan_fixed(image, program, &end);
    image->ports = place(&end, program->nports, sizeof(lanes_port_t));
    image->words = place(&end, program->nlanes, sizeof(uint64_t));
    image->finished = place(&end, program->ncode, sizeof(uint64_t));
    image->arrived = place(&end, (uint64_t)image->nmasks * program->nlanes, sizeof(uint64_t));
    image->stop = place(&end, 1, sizeof(uint32_t));
    image->words_bytes = end - image->words;
    image->members =
        place(&end, (uint64_t)program->nlanes * program->largest_par, sizeof(lanes_member_t));
    image->device_bytes = end;
    end = 0;
    image->records = place(&end, program->nlanes, sizeof(lanes_record_t));
    image->next = place(&end, program->nports, sizeof(uint64_t));
    image->abort = place(&end, 1, sizeof(uint32_t));
    image->visible_bytes = end;
    return true;
}

static void copy(uint8_t *to, const void *from, uint64_t count, size_t each)
{
    if (count > 0) {
        memcpy(to, from, count * each);
    }
}

/* Marks the words that a MOVE waits for, and numbers the masks. */
static void mark_code(const weft_lanes_program_t *p, weft_lanes_code_t *code)
{
    for (uint32_t at = 0; at < p->ncode; at++) {
        if (code[at].opcode == WEFT_LANES_BAR) {
            code[at].n = mask_number(p, at);
        } else if (code[at].opcode == WEFT_LANES_MOVE || code[at].opcode == WEFT_LANES_PAR) {
            code[at].mate_or_mask = 0;
        }
    }
    for (uint32_t a = 0; a < p->nafters; a++) {
        weft_lanes_code_t *c = &code[p->lane[p->afters[a].lane] + p->afters[a].pc];
        if (c->opcode == WEFT_LANES_MOVE || c->opcode == WEFT_LANES_PAR) {
            c->mate_or_mask = 1;
        }
    }
}

static void mark_owners(const weft_lanes_program_t *p, uint32_t *owner)
{
    for (uint32_t port = 0; port < p->nports; port++) {
        owner[port] = NO_LANE;
    }
    for (uint32_t lane = 0; lane < p->nlanes; lane++) {
        for (uint32_t at = p->lane[lane]; at < p->lane[lane + 1]; at++) {
            if (p->code[at].opcode != WEFT_LANES_MOVE) {
                continue;
            }
            const weft_lanes_move_t *move = &p->moves[p->code[at].n];
            const weft_lanes_operand_t *operand = &p->operands[move->operand];
            for (uint32_t i = 0; i < (uint32_t)move->ndst + move->nsrc; i++) {
                if (operand[i].kind == WEFT_OPERAND_PORT) {
                    owner[operand[i].index] = lane;
                }
            }
        }
    }
}

void lanes_image_write(const lanes_image_t *image, const weft_lanes_program_t *program,
                       uint8_t *fixed)
{
    copy(fixed + image->lane, program->lane, program->nlanes + 1, sizeof *program->lane);
    copy(fixed + image->code, program->code, program->ncode, sizeof *program->code);
    copy(fixed + image->moves, program->moves, program->nmoves, sizeof *program->moves);
    copy(fixed + image->operands, program->operands, program->noperands, sizeof *program->operands);
    copy(fixed + image->afters, program->afters, program->nafters, sizeof *program->afters);
    mark_code(program, (weft_lanes_code_t *)(void *)(fixed + image->code));
    mark_owners(program, (uint32_t *)(void *)(fixed + image->owner));
}

void lanes_image_bind(const lanes_image_t *image, lanes_run_t *run, uint8_t *device,
                      uint8_t *visible)
{
    memset(run, 0, sizeof *run);
    run->program = image->program;
    run->program.lane = (const uint32_t *)(void *)(device + image->lane);
    run->program.code = (const weft_lanes_code_t *)(void *)(device + image->code);
    run->program.moves = (const weft_lanes_move_t *)(void *)(device + image->moves);
    run->program.operands = (const weft_lanes_operand_t *)(void *)(device + image->operands);
    run->program.afters = (const weft_lanes_after_t *)(void *)(device + image->afters);
    run->owner = (const uint32_t *)(void *)(device + image->owner);
    run->ports = (lanes_port_t *)(void *)(device + image->ports);
    run->passed = (uint64_t *)(void *)(device + image->words);
    run->finished = (uint64_t *)(void *)(device + image->finished);
    run->arrived = (uint64_t *)(void *)(device + image->arrived);
    run->stop = (uint32_t *)(void *)(device + image->stop);
    run->members = (lanes_member_t *)(void *)(device + image->members);
    run->records = (lanes_record_t *)(void *)(visible + image->records);
    run->next = (uint64_t *)(void *)(visible + image->next);
    run->abort = (const uint32_t *)(void *)(visible + image->abort);
}

/* Runs --------------------------------------------------------------------------------------------- */

bool lanes_image_fits(const lanes_image_t *image, const weft_lanes_call_t *call, char *why,
                      size_t bytes)
{
    uint64_t slice = call->cut.slice * image->program.elem;
    if (call->size < sizeof *call || call->cut.k < 1 || call->cut.slices < 1 ||
        call->cut.passes < 1) {
        snprintf(why, bytes, "the call is of an older layout or has no passes");
        return false;
    }
    for (uint32_t i = 0; i < image->program.nports; i++) {
        const weft_lanes_port_t *port = &call->ports[i];
        uint64_t need =
            WEFT_FIFO_HEADS + (uint64_t)port->slots * (WEFT_FIFO_HEAD_BYTES + port->slot_bytes);
        if (port->slots == 0 || (port->slots & (port->slots - 1)) != 0 ||
            port->slot_bytes < slice || port->fifo_bytes < need) {
            snprintf(why, bytes,
                     "port %u: %u slots of %llu bytes in %llu bytes; slices have %llu bytes", i,
                     port->slots, (unsigned long long)port->slot_bytes,
                     (unsigned long long)port->fifo_bytes, (unsigned long long)slice);
            return false;
        }
    }
    return true;
}

void lanes_image_call(lanes_run_t *run, const weft_lanes_call_t *call)
{
    run->cut = call->cut;
    run->scalar = call->scalar;
    memcpy(run->signature, call->signature, sizeof run->signature);
}

void lanes_image_port(lanes_port_t *to, const weft_lanes_port_t *from, uint8_t *fifo)
{
    to->fifo = fifo;
    to->payloads = fifo + WEFT_FIFO_HEADS + (uint64_t)from->slots * WEFT_FIFO_HEAD_BYTES;
    to->next = from->next;
    to->limit = 0;
    to->slot_bytes = from->slot_bytes;
    to->mask = from->slots - 1;
    to->slots = from->slots;
}

void lanes_image_reset(const lanes_image_t *image, uint8_t *visible, const weft_lanes_port_t *ports)
{
    uint64_t *next = (uint64_t *)(void *)(visible + image->next);
    lanes_record_t *records = (lanes_record_t *)(void *)(visible + image->records);
    memset(visible, 0, image->visible_bytes);
    for (uint32_t i = 0; i < image->program.nports; i++) {
        next[i] = ports[i].next;
    }
    for (uint32_t l = 0; l < image->program.nlanes; l++) {
        records[l].blocked = -1;
        records[l].mismatch = -1;
    }
}

void lanes_image_abort(const lanes_image_t *image, uint8_t *visible)
{
    uint32_t *word = (uint32_t *)(void *)(visible + image->abort);
    __atomic_store_n(word, 1, __ATOMIC_RELAXED);
}

/* A lane that has ended has a worse or equal state: MISMATCH, STOPPED, OVER. */
static uint32_t look_at_lane(lanes_record_t *record, weft_lanes_state_t *state)
{
    uint32_t status = __atomic_load_n(&record->status, __ATOMIC_ACQUIRE);
    int32_t blocked = __atomic_load_n(&record->blocked, __ATOMIC_RELAXED);
    state->moved += __atomic_load_n(&record->moved, __ATOMIC_RELAXED);
    if (status == LANES_RUNNING && state->blocked < 0) {
        state->blocked = blocked;
    }
    if (status == LANES_MISMATCH && state->mismatch < 0) {
        state->mismatch = record->mismatch;
        memcpy(state->mine, record->mine, sizeof state->mine);
        memcpy(state->theirs, record->theirs, sizeof state->theirs);
    }
    return status;
}

weft_status_t lanes_image_look(const lanes_image_t *image, uint8_t *visible,
                               weft_lanes_port_t *ports, weft_lanes_state_t *state)
{
    lanes_record_t *records = (lanes_record_t *)(void *)(visible + image->records);
    const uint64_t *next = (const uint64_t *)(const void *)(visible + image->next);
    weft_lanes_state_t mine = {.size = state->size, .blocked = -1, .mismatch = -1};
    uint32_t count[LANES_MISMATCH + 1] = {0};
    for (uint32_t l = 0; l < image->program.nlanes; l++) {
        count[look_at_lane(&records[l], &mine)]++;
    }
    memcpy(state, &mine, state->size < sizeof mine ? state->size : sizeof mine);
    if (count[LANES_RUNNING] > 0) {
        return WEFT_IN_PROGRESS;
    }
    for (uint32_t i = 0; i < image->program.nports; i++) {
        ports[i].next = next[i];
    }
    return count[LANES_MISMATCH] > 0  ? WEFT_ERR_MISMATCH
           : count[LANES_STOPPED] > 0 ? WEFT_ERR_ABORTED
                                      : WEFT_OK;
}
