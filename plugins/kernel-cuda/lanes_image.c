/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See lanes_image.h. */
#include "lanes_image.h"

#include "lanes_stepped.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define NO_LANE UINT32_MAX

/* Checks --------------------------------------------------------------------------------------- */

static const char *lanes_image_refuse_operand(const weft_lanes_program_t *p,
                                              const weft_lanes_operand_t *o)
{
    if (o->kind == WEFT_OPERAND_PORT) {
        const uint32_t ports = p->messages != 0 ? (uint32_t)o->stride : 1;
        return o->index < p->nports && ports > 0 && ports <= p->nports - o->index &&
                       (ports & (ports - 1)) == 0
                   ? NULL
                   : "an operand names a port that does not exist";
    }
    if (o->kind < WEFT_OPERAND_IN || o->kind > WEFT_OPERAND_TMP) {
        return "an operand is of no known kind";
    }
    if (p->messages != 0) {
        return o->kind != WEFT_OPERAND_TMP && o->index < p->messages
                   ? NULL
                   : "an operand names a message that does not exist";
    }
    return o->chunks == 0                 ? "an operand lies in a buffer without chunks"
           : o->chunks > LANES_CHUNKS_MAX ? "an operand lies in a buffer of too many chunks"
                                          : NULL;
}

static const char *lanes_image_refuse_move(const weft_lanes_program_t *p,
                                           const weft_lanes_move_t *m)
{
    uint32_t all = (uint32_t)m->ndst + m->nsrc + ((m->flags & WEFT_LANES_LIKE) != 0);
    uint32_t afters = p->messages != 0 ? m->cnt : p->nafters; /* a bundle: its part of `cnt` */
    if (m->ndst < 1 || m->ndst > WEFT_MOVE_MAX || m->nsrc < 1 || m->nsrc > WEFT_MOVE_MAX ||
        m->cnt < 1 || all > p->noperands || m->operand > p->noperands - all || m->nafter > afters ||
        m->after > afters - m->nafter ||
        (p->messages != 0 && (m->nafter > 0 || m->after == m->cnt))) {
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
        why = lanes_image_refuse_operand(p, &p->operands[m->operand + i]);
    }
    return why;
}

/* `left` counts the words from this one to the lane's end. */
static const char *lanes_image_refuse_code(const weft_lanes_program_t *p,
                                           const weft_lanes_code_t *c, uint32_t left,
                                           uint32_t words)
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

static const char *lanes_image_refuse_lane(const weft_lanes_program_t *p, uint32_t lane)
{
    const char *why = NULL;
    if (p->lane[lane + 1] <= p->lane[lane] || p->lane[lane + 1] > p->ncode ||
        p->code[p->lane[lane + 1] - 1].opcode != WEFT_LANES_STOP) {
        return "a lane has no end";
    }
    uint32_t words = p->lane[lane + 1] - p->lane[lane];
    for (uint32_t pc = 0; pc < words && why == NULL; pc++) {
        why = lanes_image_refuse_code(p, &p->code[p->lane[lane] + pc], words - pc, words);
    }
    return why;
}

static const char *lanes_image_refuse_program(const weft_lanes_program_t *p)
{
    const char *why = NULL;
    if (p->size < sizeof *p) {
        return "the program is of an older layout";
    }
    if (p->nlanes < 1 || p->nlanes > WEFT_LANE_MAX || p->largest_par < 1 || p->elem < 1 ||
        p->elem > 8 || (p->elem & (p->elem - 1)) != 0 || p->channels < 1 ||
        p->channels > LANES_BLOCKS_MAX / p->nlanes) {
        return "numbers of the program are out of range";
    }
    if (p->meets != 0 && (p->nlanes != 1 || p->messages != 0 || p->pairs != 0 || p->pre != 0)) {
        return "a program that meets has several lanes, counts of its own or factors";
    }
    if (p->messages != 0 && (p->channels != 1 || p->pre != 0 || p->final != 0)) {
        return "a bundle computes or has channels";
    }
    for (uint32_t l = 0; l < p->nlanes && why == NULL; l++) {
        why = lanes_image_refuse_lane(p, l);
    }
    for (uint32_t m = 0; m < p->nmoves && why == NULL; m++) {
        why = lanes_image_refuse_move(p, &p->moves[m]);
    }
    return why;
}

/* Layout --------------------------------------------------------------------------------------- */

/* Number of the mask of code[at] among those before it; counts them if it is none of them. */
static uint32_t lanes_image_mask_number(const weft_lanes_program_t *p, uint32_t at)
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

static size_t lanes_image_lay(size_t *end, uint64_t count, size_t each)
{
    size_t at = *end;
    *end = (at + count * each + 127) / 128 * 128;
    return at;
}

/* What all MOVEs that send have in common. */
static void lanes_image_find_sent(lanes_image_t *image, const weft_lanes_program_t *p)
{
    image->stable = WEFT_LANES_STABLE | WEFT_LANES_STABLE_IN_PLACE;
    for (uint32_t m = 0; m < p->nmoves; m++) {
        const weft_lanes_operand_t *o = &p->operands[p->moves[m].operand];
        const uint32_t ndst = p->moves[m].ndst;
        bool sends = false, out = o[ndst].kind == WEFT_OPERAND_OUT;
        for (uint32_t i = 0; i < ndst; i++) {
            sends = sends || o[i].kind == WEFT_OPERAND_PORT;
            out = out || o[i].kind == WEFT_OPERAND_OUT;
        }
        if (sends) {
            image->stable &= p->moves[m].flags;
            image->sends_out = image->sends_out || out;
        }
    }
}

static void lanes_image_plan_fixed(lanes_image_t *image, const weft_lanes_program_t *p, size_t *end)
{
    image->lane = lanes_image_lay(end, p->nlanes + 1, sizeof *p->lane);
    image->code = lanes_image_lay(end, p->ncode, sizeof *p->code);
    image->moves = lanes_image_lay(end, p->nmoves, sizeof *p->moves);
    image->operands = lanes_image_lay(end, p->noperands, sizeof *p->operands);
    image->afters = lanes_image_lay(end, p->nafters, sizeof *p->afters);
    image->owner = lanes_image_lay(end, p->nports, sizeof(uint32_t));
    image->fixed_bytes = *end;
}

bool lanes_image_plan(lanes_image_t *image, const weft_lanes_program_t *program, char *why,
                      size_t bytes)
{
    const char *reason = lanes_image_refuse_program(program);
    size_t end = 0;
    if (reason != NULL) {
        snprintf(why, bytes, "%s", reason);
        return false;
    }
    memset(image, 0, sizeof *image);
    image->program = *program;
    image->nblocks = program->channels * program->nlanes;
    for (uint32_t at = 0; at < program->ncode; at++) {
        if (program->code[at].opcode == WEFT_LANES_BAR &&
            lanes_image_mask_number(program, at) == image->nmasks) {
            image->nmasks++;
        }
    }
    lanes_image_find_sent(image, program);
    lanes_stepped_plan(&image->stepped, program);
    lanes_image_plan_fixed(image, program, &end);
    image->words = lanes_image_lay(&end, image->nblocks, sizeof(uint64_t));
    image->graph_runs = lanes_image_lay(&end, image->nblocks, sizeof(uint64_t));
    image->finished =
        lanes_image_lay(&end, (uint64_t)program->channels * program->ncode, sizeof(uint64_t));
    image->arrived =
        lanes_image_lay(&end, (uint64_t)image->nmasks * image->nblocks, sizeof(uint64_t));
    image->stop = lanes_image_lay(&end, 1, sizeof(uint32_t));
    image->words_bytes = end - image->words;
    image->members = lanes_image_lay(&end, (uint64_t)image->nblocks * program->largest_par,
                                     sizeof(lanes_member_t));
    image->device_bytes = end;
    end = 0;
    image->records = lanes_image_lay(&end, image->nblocks, sizeof(lanes_record_t));
    image->notices = lanes_image_lay(&end, LANES_NOTICES, sizeof(lanes_notice_t));
    image->visible_bytes = end;
    return true;
}

static void lanes_image_copy(uint8_t *to, const void *from, uint64_t count, size_t each)
{
    if (count > 0) {
        memcpy(to, from, count * each);
    }
}

/* Marks the words that a MOVE waits for, and numbers the masks. */
static void lanes_image_mark_code(const weft_lanes_program_t *p, weft_lanes_code_t *code)
{
    for (uint32_t at = 0; at < p->ncode; at++) {
        if (code[at].opcode == WEFT_LANES_BAR) {
            code[at].n = lanes_image_mask_number(p, at);
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

/* The ports of an operand: one, or in a bundle the MOVE's part of the stripes. */
static void lanes_image_mark_ports(const weft_lanes_program_t *p, const weft_lanes_move_t *move,
                                   const weft_lanes_operand_t *operand, uint32_t *owner,
                                   uint32_t lane)
{
    if (p->messages == 0) {
        owner[operand->index] = lane;
        return;
    }
    for (uint32_t s = move->after; s < (uint32_t)operand->stride; s += move->cnt) {
        owner[operand->index + s] = lane;
    }
}

static void lanes_image_mark_owners(const weft_lanes_program_t *p, uint32_t *owner)
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
                    lanes_image_mark_ports(p, move, &operand[i], owner, lane);
                }
            }
        }
    }
}

void lanes_image_write(const lanes_image_t *image, const weft_lanes_program_t *program,
                       uint8_t *fixed)
{
    lanes_image_copy(fixed + image->lane, program->lane, program->nlanes + 1,
                     sizeof *program->lane);
    lanes_image_copy(fixed + image->code, program->code, program->ncode, sizeof *program->code);
    lanes_image_copy(fixed + image->moves, program->moves, program->nmoves, sizeof *program->moves);
    lanes_image_copy(fixed + image->operands, program->operands, program->noperands,
                     sizeof *program->operands);
    lanes_image_copy(fixed + image->afters, program->afters, program->nafters,
                     sizeof *program->afters);
    lanes_image_mark_code(program, (weft_lanes_code_t *)(void *)(fixed + image->code));
    lanes_image_mark_owners(program, (uint32_t *)(void *)(fixed + image->owner));
}

void lanes_image_bind(const lanes_image_t *image, lanes_run_t *run, uint8_t *device,
                      uint8_t *visible)
{
    memset(run, 0, sizeof *run);
    run->program = image->program;
    run->nmasks = image->nmasks;
    run->nblocks = image->nblocks;
    run->program.lane = (const uint32_t *)(void *)(device + image->lane);
    run->program.code = (const weft_lanes_code_t *)(void *)(device + image->code);
    run->program.moves = (const weft_lanes_move_t *)(void *)(device + image->moves);
    run->program.operands = (const weft_lanes_operand_t *)(void *)(device + image->operands);
    run->program.afters = (const weft_lanes_after_t *)(void *)(device + image->afters);
    run->owner = (const uint32_t *)(void *)(device + image->owner);
    run->stepped = image->stepped;
    run->passed = (uint64_t *)(void *)(device + image->words);
    run->graph_runs = (uint64_t *)(void *)(device + image->graph_runs);
    run->finished = (uint64_t *)(void *)(device + image->finished);
    run->arrived = (uint64_t *)(void *)(device + image->arrived);
    run->stop = (uint32_t *)(void *)(device + image->stop);
    run->members = (lanes_member_t *)(void *)(device + image->members);
    run->records = (lanes_record_t *)(void *)(visible + image->records);
    run->notices = (const lanes_notice_t *)(void *)(visible + image->notices);
}

/* Runs ----------------------------------------------------------------------------------------- */

static lanes_record_t *lanes_image_records_of(const lanes_image_t *image, uint8_t *visible)
{
    return (lanes_record_t *)(void *)(visible + image->records);
}

static lanes_notice_t *lanes_image_notices_of(const lanes_image_t *image, uint8_t *visible)
{
    return (lanes_notice_t *)(void *)(visible + image->notices);
}

static void lanes_image_tell_abort(const lanes_image_t *image, uint8_t *visible, uint32_t abort)
{
    for (uint32_t i = 0; i < LANES_NOTICES; i++) {
        __atomic_store_n(&lanes_image_notices_of(image, visible)[i].news.abort, abort,
                         __ATOMIC_RELAXED);
    }
}

bool lanes_image_fits(const lanes_image_t *image, const weft_lanes_call_t *call,
                      uint64_t slot_bytes, char *why, size_t bytes)
{
    const uint64_t slice = call->segmentation.slice * image->program.elem;
    if (call->segmentation.k < 1 || call->segmentation.slices < 1 ||
        call->segmentation.passes < 1) {
        snprintf(why, bytes, "the call has no passes");
        return false;
    }
    if (call->nmessages != image->program.messages ||
        (call->nmessages != 0 && call->segmentation.chunk != call->segmentation.slice)) {
        snprintf(why, bytes,
                 "the call has %llu messages in chunks of %llu elements, the program %u",
                 (unsigned long long)call->nmessages, (unsigned long long)call->segmentation.chunk,
                 image->program.messages);
        return false;
    }
    for (uint64_t i = 0; i < call->nmessages; i++) {
        const weft_lanes_message_t *m = &call->messages[i];
        if (m->slice < 1 || m->slice > call->segmentation.slice) {
            snprintf(why, bytes, "message %llu has slices of %llu elements, the call of %llu",
                     (unsigned long long)i, (unsigned long long)m->slice,
                     (unsigned long long)call->segmentation.slice);
            return false;
        }
    }
    if (slice > slot_bytes) {
        snprintf(why, bytes, "slices have %llu bytes, the slots of a port %llu",
                 (unsigned long long)slice, (unsigned long long)slot_bytes);
        return false;
    }
    return true;
}

void lanes_image_call(lanes_run_t *run, const weft_lanes_call_t *call)
{
    run->in = call->in;
    run->out = call->out;
    run->segmentation = call->segmentation;
    run->scalar = (lanes_scalar_t){call->scalar, call->scalar_at};
    run->stable = call->stable;
    if (call->vectors.in_counts != NULL || call->vectors.out_counts != NULL) {
        run->stepped.nsteps = 0;
    }
    lanes_stepped_aim(run);
    memcpy(run->signature, call->signature, sizeof run->signature);
}

bool lanes_image_port(lanes_port_t *to, const weft_lanes_port_t *from, uint64_t *at, char *why,
                      size_t bytes)
{
    const uint64_t headers = WEFT_FIFO_HEADERS + (uint64_t)from->slots * WEFT_FIFO_HEADER_BYTES;
    const uint64_t between = from->gpudirect ? WEFT_MESSAGE_HEADER_BYTES : 0;
    const bool apart = from->headers != NULL && from->released != NULL;
    if (from->size < sizeof *from || from->slots == 0 || (from->slots & (from->slots - 1)) != 0 ||
        from->stride < from->slot_bytes + between || from->fifo_bytes < headers ||
        (from->gpudirect && from->slot_bytes < WEFT_FIFO_INLINE)) {
        snprintf(why, bytes, "a port has %u slots of %llu bytes, %llu apart, behind %llu bytes",
                 from->slots, (unsigned long long)from->slot_bytes,
                 (unsigned long long)from->stride, (unsigned long long)from->fifo_bytes);
        return false;
    }
    *to = (lanes_port_t){.fifo = from->fifo,
                         .released = (uint64_t *)(void *)(from->fifo + WEFT_FIFO_RELEASED),
                         .payloads = from->payloads,
                         .lengths = from->lengths,
                         .at = at,
                         .stride = from->stride,
                         .mask = from->slots - 1,
                         .slots = from->slots,
                         .gpudirect = from->gpudirect,
                         .apart = apart,
                         .sends = from->sends};
    if (apart) {
        to->headers = from->headers;
        to->released = from->released;
        to->flagged.words = from->words;
        to->flagged.lines = from->lines;
    }
    return true;
}

void lanes_image_reset(const lanes_image_t *image, uint8_t *visible)
{
    for (uint32_t l = 0; l < image->nblocks; l++) {
        lanes_record_t *record = &lanes_image_records_of(image, visible)[l];
        *record = (lanes_record_t){.begun = record->begun,
                                   .completed = record->completed,
                                   .ended = record->ended,
                                   .zero_copied = record->zero_copied,
                                   .whole = record->whole,
                                   .blocked = -1,
                                   .mismatch = -1};
    }
    lanes_image_tell_abort(image, visible, 0);
}

void lanes_image_abort(const lanes_image_t *image, uint8_t *visible)
{
    lanes_image_tell_abort(image, visible, 1);
}

void lanes_image_seeks(const lanes_image_t *image, uint8_t *visible, uint64_t seeks)
{
    for (uint32_t i = 0; i < LANES_NOTICES; i++) {
        __atomic_store_n(&lanes_image_notices_of(image, visible)[i].news.seeks, seeks,
                         __ATOMIC_RELEASE);
    }
}

/* The least of a number that every lane's record has. */
static uint64_t lanes_image_least_of(const lanes_image_t *image, const uint8_t *visible,
                                     size_t number)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t l = 0; l < image->nblocks; l++) {
        const uint8_t *record = visible + image->records + l * sizeof(lanes_record_t);
        const uint64_t *word = (const uint64_t *)(const void *)(record + number);
        uint64_t value = __atomic_load_n(word, __ATOMIC_ACQUIRE);
        least = value < least ? value : least;
    }
    return least;
}

uint64_t lanes_image_ended(const lanes_image_t *image, uint8_t *visible)
{
    return lanes_image_least_of(image, visible, offsetof(lanes_record_t, ended));
}

uint64_t lanes_image_completed(const lanes_image_t *image, uint8_t *visible)
{
    return lanes_image_least_of(image, visible, offsetof(lanes_record_t, completed));
}

bool lanes_image_failed(const lanes_image_t *image, uint8_t *visible)
{
    uint32_t failed = 0;
    for (uint32_t l = 0; l < image->nblocks; l++) {
        failed |=
            __atomic_load_n(&lanes_image_records_of(image, visible)[l].failed, __ATOMIC_RELAXED);
    }
    return failed != 0;
}

/* Returns whether the lane executes run `run` (0: a captured run). */
static bool lanes_image_lane_is_in(const lanes_record_t *record, uint64_t run)
{
    /* What ended is read first: what has begun by then is no older. */
    const uint64_t *ended = run == 0 ? &record->graph_runs_ended : &record->ended;
    const uint64_t *begun = run == 0 ? &record->graph_runs_begun : &record->begun;
    const uint64_t before = __atomic_load_n(ended, __ATOMIC_ACQUIRE);
    const uint64_t now = __atomic_load_n(begun, __ATOMIC_RELAXED);
    return run == 0 ? now > before : now >= run && before < run;
}

bool lanes_image_in_graph(const lanes_image_t *image, uint8_t *visible)
{
    bool graph_runs = false;
    for (uint32_t l = 0; l < image->nblocks; l++) {
        graph_runs =
            graph_runs || lanes_image_lane_is_in(&lanes_image_records_of(image, visible)[l], 0);
    }
    return graph_runs;
}

/* Adds what a lane tells of the run. */
static void lanes_image_look_at_lane(lanes_record_t *record, uint64_t run,
                                     weft_lanes_state_t *state)
{
    const bool is_in = lanes_image_lane_is_in(record, run);
    const int32_t blocked = __atomic_load_n(&record->blocked, __ATOMIC_RELAXED);
    if (is_in && state->blocked < 0) {
        state->blocked = blocked;
    }
    if (run == 0 || __atomic_load_n(&record->begun, __ATOMIC_RELAXED) == run) {
        state->moved += __atomic_load_n(&record->moved, __ATOMIC_RELAXED);
    }
    state->zero_copied += __atomic_load_n(&record->zero_copied, __ATOMIC_RELAXED);
    state->whole += __atomic_load_n(&record->whole, __ATOMIC_RELAXED);
    state->begun |= is_in || (run != 0 && __atomic_load_n(&record->begun, __ATOMIC_RELAXED) >= run);
}

/* Only when the lane has ended the run. */
static void lanes_image_look_for_mismatch(const lanes_record_t *record, uint64_t run, bool *lied_p,
                                          weft_lanes_state_t *state)
{
    if (record->mismatch >= 0 && record->mismatch_run == run && state->mismatch < 0) {
        *lied_p = record->bad_zero_copy != 0;
        state->mismatch = record->mismatch;
        memcpy(state->mine, record->mine, sizeof state->mine);
        memcpy(state->theirs, record->theirs, sizeof state->theirs);
    }
}

weft_status_t lanes_image_poll(lanes_image_t *image, uint8_t *visible, uint64_t run,
                               weft_lanes_state_t *state)
{
    lanes_record_t *records = lanes_image_records_of(image, visible);
    weft_lanes_state_t mine = {.size = state->size, .blocked = -1, .mismatch = -1};
    bool bad = false;
    const bool under_way =
        run == 0 ? lanes_image_in_graph(image, visible) : lanes_image_ended(image, visible) < run;
    const uint32_t first = image->looks++ % image->nblocks;
    for (uint32_t i = 0; i < image->nblocks; i++) {
        const uint32_t l = (first + i) % image->nblocks;
        lanes_image_look_at_lane(&records[l], run, &mine);
    }
    const bool failed =
        run == 0 ? lanes_image_failed(image, visible) : lanes_image_completed(image, visible) < run;
    for (uint32_t l = 0; l < image->nblocks && failed && !under_way; l++) {
        lanes_image_look_for_mismatch(&records[l], run, &bad, &mine);
    }
    memcpy(state, &mine, state->size < sizeof mine ? state->size : sizeof mine);
    return under_way            ? WEFT_IN_PROGRESS
           : !failed            ? WEFT_OK
           : bad                ? WEFT_ERR_PROTO
           : mine.mismatch >= 0 ? WEFT_ERR_MISMATCH
                                : WEFT_ERR_ABORTED;
}
