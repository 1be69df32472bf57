/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The interpreter of plans on a device, in the common subset of C11 and CUDA C++. One block of threads
 * per lane. Thread 0, the leader, follows the program, waits for ports and publishes; the others wait
 * for combinations and do them with it. Lanes are independent but for three kinds of words: `finished`
 * and `arrived`, by which they wait for each other, and `stop`.
 *
 * The semantics are those of core/exec/lanes.c; both may run on the two ends of one FIFO.
 *
 * A message of at most 32 bytes lies with its flag and signature in one line. The leader alone reads it
 * after one acquire, combines in the block's memory, and writes the line of the next message: no thread
 * is woken. Larger messages lie in the slots' payloads, and all threads move them. */
#ifndef KERNEL_CUDA_DEVICE_LANES_H
#define KERNEL_CUDA_DEVICE_LANES_H

#include <weft/plugin/lanes.h>
#include <weft/plugin/plan.h>

#include "combine.h"
#include "platform.h"

/* One end of a FIFO, as the device sees it. */
typedef struct lanes_port {
    uint8_t *fifo;
    uint8_t *payloads;
    uint64_t next;  /* message to send or receive next */
    uint64_t limit; /* send: messages below it have a free slot */
    uint64_t slot_bytes;
    uint32_t mask; /* slots − 1 */
    uint32_t slots;
} lanes_port_t;

/* A MOVE under way: addresses of its current chunk. */
typedef struct lanes_member {
    const weft_lanes_move_t *move;
    const weft_lanes_operand_t *operands;
    lanes_port_t *port[2 * WEFT_MOVE_MAX]; /* destinations, then sources; NULL = memory */
    uint8_t *base[2 * WEFT_MOVE_MAX];      /* address of slice 0 */
    uint64_t chunk;                        /* elements of the current chunk */
    uint64_t count;                        /* elements of its block */
    uint32_t slice, done;
    uint32_t pre_mask;
    uint32_t finished;
    uint32_t skip; /* copy onto itself */
} lanes_member_t;

enum {
    LANES_RUNNING = 0,
    LANES_OVER = 1,
    LANES_STOPPED = 2,
    LANES_MISMATCH = 3,
    LANES_BLOCKED = 4
};

/* What a lane tells; the lane writes, the host reads. Two cache lines. */
typedef struct lanes_record {
    uint64_t moved;   /* slices */
    int32_t blocked;  /* port that it waits for, or −1 */
    uint32_t status;  /* RUNNING, OVER, STOPPED, MISMATCH; stored last */
    int32_t mismatch; /* MISMATCH: the port */
    uint32_t reserved;
    uint64_t mine[WEFT_FIFO_SIGNATURE_WORDS], theirs[WEFT_FIFO_SIGNATURE_WORDS];
    uint64_t pad[7];
} lanes_record_t;

/* One run, as its blocks get it. Pointers are the device's. */
typedef struct lanes_run {
    weft_lanes_program_t
        program;           /* BAR: `n` is the number of its mask; MOVE, PAR: `mate_or_mask` is
                                     1 if a MOVE waits for this word */
    const uint32_t *owner; /* lane of each port */
    const uint8_t *in;
    uint8_t *out;
    uint8_t *tmp;
    weft_lanes_cut_t cut;
    weft_lanes_vectors_t vectors;
    uint64_t signature[WEFT_FIFO_SIGNATURE_WORDS];
    uint64_t scalar;
    lanes_port_t *ports;
    lanes_member_t *members; /* largest_par for each lane */
    /* Words of one writer each, zero before the first run and after one that failed. */
    uint64_t *passed;   /* per lane: passes of earlier runs */
    uint64_t *finished; /* per word of code: the last of all passes in which it was finished */
    uint64_t *arrived;  /* per mask and lane: barriers that the lane has come to */
    uint32_t *stop;     /* set by any lane that fails */
    /* The host's side. */
    uint64_t *next; /* per port: read first, written last */
    lanes_record_t *records;
    const uint32_t *abort;
} lanes_run_t;

/* What the threads of a block share. Aligned to 16. */
typedef struct lanes_block {
    uint64_t inline_in[WEFT_MOVE_MAX][4]; /* inline payloads that were received */
    uint64_t inline_out[4];               /* the one to be sent */
    weft_combine_t combine;               /* what all threads do next */
    uint64_t scalar;
    uint32_t go; /* 0: nothing more to do */
    /* The leader's own. */
    uint32_t lane, pc;
    uint32_t iteration, times; /* of the LOOP around; times 0 = none */
    uint32_t members;          /* MOVEs under way; 0 = instruction not entered yet */
    uint32_t at_bar;           /* arrival is told */
    uint32_t ticks;            /* for looks at abort */
    uint32_t idle;             /* looks in vain since something moved */
    uint32_t noted;            /* the record says that this lane is blocked */
    int32_t blocked;
    uint64_t pass, passed;
    uint64_t moved, seen;
    const weft_lanes_code_t *code;
    lanes_member_t *member;
    lanes_record_t *record;
} lanes_block_t;

#define LANES_TICKS 63u /* looks at abort: one in 64 steps */
#define LANES_WAITS 15u /* … and one in 16 looks in vain */

/* Ports -------------------------------------------------------------------------------------------- */

static WEFT_DEVICE uint8_t *lanes_port_head(const lanes_port_t *port)
{
    return port->fifo + WEFT_FIFO_HEADS + (port->next & port->mask) * WEFT_FIFO_HEAD_BYTES;
}

static WEFT_DEVICE uint64_t *lanes_word(uint8_t *line, uint32_t offset)
{
    return (uint64_t *)(void *)(line + offset);
}

static WEFT_DEVICE int lanes_port_can_receive(const lanes_port_t *port)
{
    uint64_t *sequence = lanes_word(lanes_port_head(port), WEFT_FIFO_HEAD_SEQUENCE);
    return device_acquire64(sequence) == port->next + 1;
}

static WEFT_DEVICE int lanes_port_can_send(lanes_port_t *port)
{
    if (port->next < port->limit) {
        return 1;
    }
    port->limit = device_acquire64(lanes_word(port->fifo, WEFT_FIFO_RELEASED)) + port->slots;
    return port->next < port->limit;
}

static WEFT_DEVICE uint8_t *lanes_port_payload(const lanes_port_t *port)
{
    return port->payloads + (port->next & port->mask) * port->slot_bytes;
}

/* Operands ----------------------------------------------------------------------------------------- */

static WEFT_DEVICE uint32_t lanes_operand_chunk(const weft_lanes_operand_t *o, uint32_t iteration,
                                                uint32_t j)
{
    if (o->stride == 0 && j == 0) {
        return o->index;
    }
    int64_t c = ((int64_t)o->index + (int64_t)o->stride * iteration + j) % (int64_t)o->chunks;
    return (uint32_t)(c < 0 ? c + (int64_t)o->chunks : c);
}

static WEFT_DEVICE uint64_t lanes_block_count(const lanes_run_t *run, uint32_t kind, uint32_t block)
{
    const uint64_t *counts =
        kind == WEFT_OPERAND_IN ? run->vectors.in_counts : run->vectors.out_counts;
    return counts == NULL ? run->cut.count : counts[block];
}

static WEFT_DEVICE uint64_t lanes_block_start(const lanes_run_t *run, uint32_t kind, uint32_t block)
{
    const uint64_t *displs =
        kind == WEFT_OPERAND_IN ? run->vectors.in_displs : run->vectors.out_displs;
    return displs == NULL ? block * run->cut.count : displs[block];
}

static WEFT_DEVICE uint8_t *lanes_operand_address(const lanes_run_t *run, uint32_t kind,
                                                  uint32_t chunk, uint64_t pass)
{
    const weft_lanes_cut_t *cut = &run->cut;
    uint32_t elem = run->program.elem;
    if (kind == WEFT_OPERAND_TMP) {
        return run->tmp + chunk * cut->chunk * elem;
    }
    uint64_t element = lanes_block_start(run, kind, chunk / cut->k) + pass * cut->pass +
                       chunk % cut->k * cut->chunk;
    /* Reading IN never writes it; and a chunk beyond the end of a buffer has an address and no
     * elements. */
    uintptr_t base = kind == WEFT_OPERAND_IN ? (uintptr_t)run->in : (uintptr_t)run->out;
    return (uint8_t *)(base + element * elem);
}

/* Elements of `whole` that lie in the part of `part` elements from `start` on. */
static WEFT_DEVICE uint64_t lanes_clip(uint64_t start, uint64_t part, uint64_t whole)
{
    if (start >= whole) {
        return 0;
    }
    return whole - start < part ? whole - start : part;
}

/* Members ------------------------------------------------------------------------------------------ */

static WEFT_DEVICE const weft_lanes_operand_t *lanes_measure_of(const lanes_member_t *m)
{
    uint32_t all = (uint32_t)m->move->ndst + m->move->nsrc;
    if ((m->move->flags & WEFT_LANES_LIKE) != 0) {
        return &m->operands[all];
    }
    for (uint32_t i = 0; i < all; i++) {
        uint32_t kind = m->operands[i].kind;
        if (kind == WEFT_OPERAND_IN || kind == WEFT_OPERAND_OUT) {
            return &m->operands[i];
        }
    }
    return NULL;
}

/* Length of the chunk that the MOVE has reached. 0: both ends leave it out. */
static WEFT_DEVICE int lanes_measure(const lanes_run_t *run, const lanes_block_t *b,
                                     lanes_member_t *m)
{
    const weft_lanes_operand_t *o = lanes_measure_of(m);
    const weft_lanes_cut_t *cut = &run->cut;
    uint32_t chunk = 0, kind = WEFT_OPERAND_IN;
    if (o != NULL) {
        kind = o->kind;
        chunk = lanes_operand_chunk(o, b->iteration, m->done);
    }
    m->count = lanes_block_count(run, kind, chunk / cut->k);
    m->chunk = lanes_clip(b->pass * cut->pass + chunk % cut->k * cut->chunk, cut->chunk, m->count);
    return !run->program.pairs || b->pass == 0 || m->chunk > 0;
}

static WEFT_DEVICE int lanes_is_final(const lanes_run_t *run, const lanes_member_t *m)
{
    return run->program.final != 0 && (m->move->flags & WEFT_MOVE_FINAL) != 0;
}

static WEFT_DEVICE void lanes_aim(const lanes_run_t *run, const lanes_block_t *b, lanes_member_t *m)
{
    uint32_t ndst = m->move->ndst, all = ndst + m->move->nsrc;
    m->pre_mask = 0;
    for (uint32_t i = 0; i < all; i++) {
        const weft_lanes_operand_t *o = &m->operands[i];
        if (o->kind == WEFT_OPERAND_PORT) {
            m->port[i] = &run->ports[o->index];
            m->base[i] = NULL;
            continue;
        }
        uint32_t chunk = lanes_operand_chunk(o, b->iteration, m->done);
        m->port[i] = NULL;
        m->base[i] = lanes_operand_address(run, o->kind, chunk, b->pass);
        if (i >= ndst && o->kind == WEFT_OPERAND_IN && run->program.pre) {
            m->pre_mask |= 1u << (i - ndst);
        }
    }
    m->slice = 0;
    m->skip = all == 2 && m->port[0] == NULL && m->port[1] == NULL && m->base[0] == m->base[1] &&
              m->pre_mask == 0 && !lanes_is_final(run, m);
}

/* Goes to the next chunk that has something to move. */
static WEFT_DEVICE_CALL void lanes_next(const lanes_run_t *run, const lanes_block_t *b,
                                        lanes_member_t *m)
{
    while (m->done < m->move->cnt && !lanes_measure(run, b, m)) {
        m->done++;
    }
    m->finished = m->done == m->move->cnt;
    if (!m->finished) {
        lanes_aim(run, b, m);
    }
}

/* One slice ---------------------------------------------------------------------------------------- */

/* The first port that is not ready, or −1. */
static WEFT_DEVICE int32_t lanes_blocker(const lanes_member_t *m)
{
    uint32_t ndst = m->move->ndst, all = ndst + m->move->nsrc;
    for (uint32_t i = ndst; i < all; i++) {
        if (m->port[i] != NULL && !lanes_port_can_receive(m->port[i])) {
            return (int32_t)m->operands[i].index;
        }
    }
    for (uint32_t i = 0; i < ndst; i++) {
        if (m->port[i] != NULL && !lanes_port_can_send(m->port[i])) {
            return (int32_t)m->operands[i].index;
        }
    }
    return -1;
}

static WEFT_DEVICE uint64_t lanes_signature(const lanes_run_t *run, const lanes_member_t *m,
                                            uint32_t word)
{
    return word == 1 && run->program.pairs ? m->count : run->signature[word];
}

/* Copies first: the peer can write shared memory at any time. */
static WEFT_DEVICE int lanes_signatures_match(lanes_block_t *b, const lanes_run_t *run,
                                              const lanes_member_t *m)
{
    uint32_t ndst = m->move->ndst, all = ndst + m->move->nsrc;
    for (uint32_t i = ndst; i < all; i++) {
        uint64_t theirs[WEFT_FIFO_SIGNATURE_WORDS], differ = 0;
        if (m->port[i] == NULL) {
            continue;
        }
        uint64_t *head = lanes_word(lanes_port_head(m->port[i]), WEFT_FIFO_HEAD_SIGNATURE);
        for (uint32_t w = 0; w < WEFT_FIFO_SIGNATURE_WORDS; w++) {
            theirs[w] = head[w];
            differ |= theirs[w] ^ lanes_signature(run, m, w);
        }
        if (differ == 0) {
            continue;
        }
        b->record->mismatch = (int32_t)m->operands[i].index;
        for (uint32_t w = 0; w < WEFT_FIFO_SIGNATURE_WORDS; w++) {
            b->record->mine[w] = lanes_signature(run, m, w);
            b->record->theirs[w] = theirs[w];
        }
        return 0;
    }
    return 1;
}

/* What does not depend on where the operands are. */
static WEFT_DEVICE weft_combine_t *lanes_combination(lanes_block_t *b, const lanes_run_t *run,
                                                     const lanes_member_t *m, uint64_t count)
{
    weft_combine_t *c = &b->combine;
    c->count = count;
    c->nsrc = m->move->nsrc;
    c->ndst = m->move->ndst;
    c->pre_mask = m->pre_mask;
    c->stream_mask = 0;
    c->flags = lanes_is_final(run, m) ? WEFT_COMBINE_FINAL : 0;
    c->nranks = run->program.nranks;
    c->scalar = m->pre_mask != 0 ? &b->scalar : NULL;
    return c;
}

/* A function of its own: the arithmetic is large. */
static WEFT_DEVICE_CALL void lanes_combine(const lanes_block_t *b, const lanes_run_t *run,
                                           uint32_t thread, uint32_t threads)
{
    cuda_combine(run->program.dtype, run->program.op, &b->combine, thread, threads);
}

/* Payloads lie in slots; all threads work. */
static WEFT_DEVICE void lanes_combine_slots(lanes_block_t *b, const lanes_run_t *run,
                                            const lanes_member_t *m, uint64_t count)
{
    weft_combine_t *c = lanes_combination(b, run, m, count);
    uint64_t offset = m->slice * run->cut.slice * run->program.elem;
    for (uint32_t i = 0; i < c->ndst; i++) {
        c->dst[i] = m->port[i] == NULL ? m->base[i] + offset : lanes_port_payload(m->port[i]);
    }
    for (uint32_t i = 0; i < c->nsrc; i++) {
        uint32_t at = c->ndst + i;
        c->src[i] = m->port[at] == NULL ? m->base[at] + offset : lanes_port_payload(m->port[at]);
    }
    device_barrier();
    lanes_combine(b, run, 0, device_threads());
    device_barrier();
}

/* Payloads lie in heads; the leader works alone. */
static WEFT_DEVICE void lanes_combine_heads(lanes_block_t *b, const lanes_run_t *run,
                                            const lanes_member_t *m, uint64_t count)
{
    weft_combine_t *c = lanes_combination(b, run, m, count);
    uint64_t offset = m->slice * run->cut.slice * run->program.elem;
    uint32_t ndst = c->ndst, ports = 0;
    c->ndst = 0;
    for (uint32_t i = 0; i < ndst; i++) {
        if (m->port[i] == NULL) {
            c->dst[c->ndst++] = m->base[i] + offset;
        } else if (ports++ == 0) {
            c->dst[c->ndst++] = b->inline_out;
        }
    }
    for (uint32_t i = 0; i < c->nsrc; i++) {
        lanes_port_t *port = m->port[ndst + i];
        if (port == NULL) {
            c->src[i] = m->base[ndst + i] + offset;
            continue;
        }
        device_copy32(b->inline_in[i], lanes_port_head(port) + WEFT_FIFO_HEAD_PAYLOAD);
        c->src[i] = b->inline_in[i];
    }
    lanes_combine(b, run, 0, 1);
    for (uint32_t i = 0; ports > 0 && i < ndst; i++) {
        if (m->port[i] != NULL) {
            device_copy32(lanes_port_head(m->port[i]) + WEFT_FIFO_HEAD_PAYLOAD, b->inline_out);
        }
    }
}

/* Slots change hands after the data is in place: behind one fence, that of the whole system. */
static WEFT_DEVICE void lanes_publish(const lanes_run_t *run, const lanes_member_t *m)
{
    uint32_t ndst = m->move->ndst, all = ndst + m->move->nsrc, ports = 0;
    for (uint32_t i = 0; i < all; i++) {
        if (m->port[i] == NULL) {
            continue;
        }
        ports++;
        uint64_t *head = lanes_word(lanes_port_head(m->port[i]), WEFT_FIFO_HEAD_SIGNATURE);
        for (uint32_t w = 0; i < ndst && w < WEFT_FIFO_SIGNATURE_WORDS; w++) {
            head[w] = lanes_signature(run, m, w);
        }
    }
    if (ports == 0) {
        return;
    }
    device_publish_fence();
    for (uint32_t i = 0; i < all; i++) {
        lanes_port_t *port = m->port[i];
        if (port == NULL) {
            continue;
        }
        uint64_t *word = i < ndst ? lanes_word(lanes_port_head(port), WEFT_FIFO_HEAD_SEQUENCE)
                                  : lanes_word(port->fifo, WEFT_FIFO_RELEASED);
        device_publish64(word, ++port->next);
    }
}

static WEFT_DEVICE_CALL uint32_t lanes_slice(lanes_block_t *b, const lanes_run_t *run,
                                             lanes_member_t *m)
{
    int32_t blocker = lanes_blocker(m);
    if (blocker >= 0) {
        b->blocked = blocker;
        return LANES_BLOCKED;
    }
    if (!lanes_signatures_match(b, run, m)) {
        return LANES_MISMATCH;
    }
    uint64_t count = lanes_clip(m->slice * run->cut.slice, run->cut.slice, m->chunk);
    if (count > 0 && !m->skip) {
        if (count * run->program.elem <= WEFT_FIFO_INLINE) {
            lanes_combine_heads(b, run, m, count);
        } else {
            lanes_combine_slots(b, run, m, count);
        }
    }
    lanes_publish(run, m);
    device_note64(&b->record->moved, ++b->moved);
    if (++m->slice == run->cut.slices) {
        m->done++;
        lanes_next(run, b, m);
    }
    return LANES_OVER;
}

/* Waiting ------------------------------------------------------------------------------------------ */

static WEFT_DEVICE uint32_t lanes_told(const lanes_run_t *run)
{
    int told = device_look32(run->stop) != 0 || device_look32(run->abort) != 0;
    return told ? LANES_STOPPED : LANES_RUNNING;
}

/* Called after every step. */
static WEFT_DEVICE uint32_t lanes_tick(lanes_block_t *b, const lanes_run_t *run)
{
    return (++b->ticks & LANES_TICKS) == 0 ? lanes_told(run) : LANES_RUNNING;
}

static WEFT_DEVICE void lanes_note_blocked(lanes_block_t *b, int32_t port)
{
    device_note32((uint32_t *)(void *)&b->record->blocked, (uint32_t)port);
    b->noted = port >= 0;
}

/* Called when nothing can be done now. */
static WEFT_DEVICE uint32_t lanes_wait(lanes_block_t *b, const lanes_run_t *run)
{
    if (b->moved != b->seen) {
        b->seen = b->moved;
        b->idle = 0;
        if (b->noted) {
            lanes_note_blocked(b, -1);
        }
    }
    if ((++b->idle & LANES_WAITS) != 0) {
        device_pause(b->idle);
        return LANES_RUNNING;
    }
    lanes_note_blocked(b, b->blocked);
    return lanes_told(run);
}

/* Instructions ------------------------------------------------------------------------------------- */

static WEFT_DEVICE int lanes_waits_are_over(const lanes_block_t *b, const lanes_run_t *run,
                                            const weft_lanes_move_t *move)
{
    for (uint32_t i = 0; i < move->nafter; i++) {
        const weft_lanes_after_t *after = &run->program.afters[move->after + i];
        const uint64_t *word = &run->finished[run->program.lane[after->lane] + after->pc];
        if (device_acquire64_near(word) < b->passed + b->pass + 1) {
            return 0;
        }
    }
    return 1;
}

/* Makes the MOVEs of the instruction at pc active. 0: a wait is not over. */
static WEFT_DEVICE_CALL int lanes_enter(lanes_block_t *b, const lanes_run_t *run)
{
    const weft_lanes_code_t *first = &b->code[b->pc];
    uint32_t members = 1;
    if (first->opcode == WEFT_LANES_PAR) {
        members = first->n;
        first++;
    }
    for (uint32_t i = 0; i < members; i++) {
        if (!lanes_waits_are_over(b, run, &run->program.moves[first[i].n])) {
            b->blocked = -1;
            return 0;
        }
    }
    for (uint32_t i = 0; i < members; i++) {
        lanes_member_t *m = &b->member[i];
        m->move = &run->program.moves[first[i].n];
        m->operands = &run->program.operands[m->move->operand];
        m->done = 0;
        lanes_next(run, b, m);
    }
    b->members = members;
    return 1;
}

/* Advances all active MOVEs. OVER: all are finished. */
static WEFT_DEVICE uint32_t lanes_moves(lanes_block_t *b, const lanes_run_t *run)
{
    uint32_t result = LANES_OVER;
    for (uint32_t i = 0; i < b->members; i++) {
        lanes_member_t *m = &b->member[i];
        while (!m->finished) {
            uint32_t status = lanes_slice(b, run, m);
            if (status == LANES_BLOCKED) {
                result = LANES_BLOCKED;
                break;
            }
            if (status == LANES_MISMATCH || lanes_tick(b, run) == LANES_STOPPED) {
                return status == LANES_MISMATCH ? LANES_MISMATCH : LANES_STOPPED;
            }
        }
    }
    return result;
}

/* A word is finished in the last iteration of its LOOP; told only if a MOVE waits for it. */
static WEFT_DEVICE_CALL void lanes_leave(lanes_block_t *b, const lanes_run_t *run)
{
    const weft_lanes_code_t *c = &b->code[b->pc];
    uint32_t words = c->opcode == WEFT_LANES_PAR ? c->n + 1 : 1;
    int last = b->times == 0 || b->iteration + 1 == b->times;
    uint64_t *finished = &run->finished[run->program.lane[b->lane] + b->pc];
    for (uint32_t i = 0; last && i < words; i++) {
        if (c[i].mate_or_mask != 0) {
            device_release64_near(&finished[i], b->passed + b->pass + 1);
        }
    }
    b->pc += words;
    b->members = 0;
}

/* Barriers are known by their masks: every lane of a mask comes to as many of them. 0: not all have. */
static WEFT_DEVICE_CALL int lanes_bar(lanes_block_t *b, const lanes_run_t *run)
{
    const weft_lanes_code_t *c = &b->code[b->pc];
    uint32_t nlanes = run->program.nlanes;
    uint64_t *arrived = &run->arrived[(uint64_t)c->n * nlanes];
    uint64_t mine = arrived[b->lane];
    if (!b->at_bar) {
        device_release64_near(&arrived[b->lane], ++mine);
        b->at_bar = 1;
    }
    for (uint32_t l = 0; l < nlanes; l++) {
        if ((c->mate_or_mask >> l & 1) != 0 && device_acquire64_near(&arrived[l]) < mine) {
            b->blocked = -1;
            return 0;
        }
    }
    b->at_bar = 0;
    lanes_leave(b, run);
    return 1;
}

static WEFT_DEVICE void lanes_control(lanes_block_t *b)
{
    const weft_lanes_code_t *c = &b->code[b->pc];
    if (c->opcode == WEFT_LANES_LOOP) {
        b->iteration = 0;
        b->times = c->n;
        b->pc++;
    } else if (c->opcode == WEFT_LANES_STOP) {
        b->pass++;
        b->pc = 0;
    } else if (++b->iteration < b->times) {
        b->pc = (uint32_t)c->mate_or_mask + 1;
    } else {
        b->iteration = 0;
        b->times = 0;
        b->pc++;
    }
}

/* OVER: go on. */
static WEFT_DEVICE uint32_t lanes_instruction(lanes_block_t *b, const lanes_run_t *run)
{
    uint32_t opcode = b->code[b->pc].opcode;
    if (opcode == WEFT_LANES_BAR) {
        return lanes_bar(b, run) ? LANES_OVER : LANES_BLOCKED;
    }
    if (opcode != WEFT_LANES_MOVE && opcode != WEFT_LANES_PAR) {
        lanes_control(b);
        return LANES_OVER;
    }
    if (b->members == 0 && !lanes_enter(b, run)) {
        return LANES_BLOCKED;
    }
    uint32_t status = lanes_moves(b, run);
    if (status == LANES_OVER) {
        lanes_leave(b, run);
    }
    return status;
}

/* Blocks ------------------------------------------------------------------------------------------- */

static WEFT_DEVICE void lanes_begin(lanes_block_t *b, const lanes_run_t *run, uint32_t lane)
{
    b->scalar = run->scalar;
    b->go = 1;
    b->lane = lane;
    b->pc = 0;
    b->iteration = 0;
    b->times = 0;
    b->members = 0;
    b->at_bar = 0;
    b->ticks = 0;
    b->idle = 0;
    b->noted = 0;
    b->blocked = -1;
    b->pass = 0;
    b->passed = run->passed[lane];
    b->moved = 0;
    b->seen = 0;
    b->code = run->program.code + run->program.lane[lane];
    b->member = run->members + (uint64_t)lane * run->program.largest_par;
    b->record = run->records + lane;
    for (uint32_t i = 0; i < 4; i++) {
        b->inline_out[i] = 0;
    }
}

/* What thread 0 does. Returns how the lane ended. */
static WEFT_DEVICE uint32_t lanes_lead(lanes_block_t *b, const lanes_run_t *run)
{
    uint32_t status = LANES_RUNNING;
    while (status == LANES_RUNNING && b->pass < run->cut.passes) {
        status = lanes_instruction(b, run);
        if (status == LANES_BLOCKED) {
            status = lanes_wait(b, run);
        } else if (status == LANES_OVER) {
            status = lanes_tick(b, run);
        }
    }
    b->go = 0;
    device_barrier();
    return status == LANES_RUNNING ? LANES_OVER : status;
}

/* What the others do. */
static WEFT_DEVICE void lanes_follow(const lanes_block_t *b, const lanes_run_t *run)
{
    for (;;) {
        device_barrier();
        if (!b->go) {
            return;
        }
        lanes_combine(b, run, device_thread(), device_threads());
        device_barrier();
    }
}

/* Takes over the lane's ports, from where other runs have left them. */
static WEFT_DEVICE void lanes_open(const lanes_run_t *run, uint32_t lane)
{
    for (uint32_t p = device_thread(); p < run->program.nports; p += device_threads()) {
        if (run->owner[p] == lane) {
            run->ports[p].next = run->next[p];
            run->ports[p].limit = 0;
        }
    }
    device_barrier();
}

static WEFT_DEVICE void lanes_close(const lanes_run_t *run, uint32_t lane)
{
    for (uint32_t p = device_thread(); p < run->program.nports; p += device_threads()) {
        if (run->owner[p] == lane) {
            run->next[p] = run->ports[p].next;
        }
    }
    device_barrier();
}

/* After this the host may use everything that the lane used. */
static WEFT_DEVICE void lanes_report(lanes_block_t *b, const lanes_run_t *run, uint32_t status)
{
    if (status == LANES_OVER) {
        run->passed[b->lane] = b->passed + run->cut.passes;
    } else {
        device_note32(run->stop, 1);
    }
    device_publish_fence();
    device_publish32(&b->record->status, status);
}

/* Runs a lane; every thread of its block comes here. `b` is memory of the block. */
static WEFT_DEVICE void lanes_run_lane(lanes_block_t *b, const lanes_run_t *run, uint32_t lane)
{
    uint32_t status = LANES_OVER;
    lanes_open(run, lane);
    if (device_thread() == 0) {
        lanes_begin(b, run, lane);
        status = lanes_lead(b, run);
    } else {
        lanes_follow(b, run);
    }
    lanes_close(run, lane);
    if (device_thread() == 0) {
        lanes_report(b, run, status);
    }
}

#endif
