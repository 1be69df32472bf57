/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stepped runs: short messages by programs without loops, as calls have for which latency is all
 * that matters. A leader that interprets a program takes microseconds for each of its MOVEs,
 * because one thread of a device is slow. Here the threads prepare all steps at once, a warp for
 * each part, and then go through them together: a warp for each port looks for the header or for
 * room and tells the peer, all threads move the payload. What travels is the same, so a peer need
 * not do likewise.
 *
 * A step is done only if everything is as expected: headers of devices, payloads in headers or in
 * flagged units. Else the leader goes on in front of it and finds out (lanes_stepped_resume). */
#ifndef KERNEL_CUDA_DEVICE_DEVICE_STEPPED_H
#define KERNEL_CUDA_DEVICE_DEVICE_STEPPED_H

#include "device_slice.h"

#define LANES_QUARTERS 4u        /* of a multiprocessor: warp w is in quarter w % 4 */
#define LANES_STEPPED_LOOKS 255u /* look at words of the host in one of 256 looks in vain */

/* Parts of a step: its sources, its destinations, and what they have in common. */
#define LANES_PARTS_TO WEFT_MOVE_MAX
#define LANES_PARTS_ALL (2 * WEFT_MOVE_MAX)
#define LANES_PARTS_EARLY (3 * WEFT_MOVE_MAX) /* behind those of the sources of the next step */

/* Preparation
 * ----------------------------------------------------------------------------------------- */

/* Operand i of a step: the destinations come first. */
static WEFT_DEVICE const lanes_stepped_operand_t *
lanes_step_operand(const lanes_run_t *run, const lanes_stepped_step_t *of, uint32_t i)
{
    return &run->stepped.operand[of->first + i];
}

static WEFT_DEVICE lanes_port_t *lanes_step_port(const lanes_block_t *b,
                                                 const lanes_stepped_operand_t *o)
{
    return o->kind == WEFT_OPERAND_PORT ? &b->tables.ports[o->index] : NULL;
}

static WEFT_DEVICE uint8_t *lanes_step_memory(const lanes_block_t *b, const lanes_run_t *run,
                                              const lanes_stepped_operand_t *o)
{
    const weft_lanes_segmentation_t *seg = &run->segmentation;
    const uint8_t *base = o->kind == WEFT_OPERAND_IN    ? run->in
                          : o->kind == WEFT_OPERAND_OUT ? run->out
                                                        : run->tmp;
    const uint64_t pass =
        o->kind == WEFT_OPERAND_TMP ? run->program.tmp_chunks * seg->chunk : seg->pass;
    return (uint8_t *)((uintptr_t)base + (o->offset + b->at.channel * pass) * run->program.elem);
}

static WEFT_DEVICE uint64_t lanes_step_count(const lanes_block_t *b, const lanes_run_t *run,
                                             const lanes_stepped_step_t *of)
{
    const weft_lanes_segmentation_t *seg = &run->segmentation;
    return lanes_clip(of->at + b->at.channel * seg->pass, seg->chunk, seg->count);
}

/* Memory for the payload of source i, or for what is sent (i = nsrc): of the block, where each has
 * a part of its own if all find room, else of a port. */
static WEFT_DEVICE uint8_t *lanes_step_bench(lanes_block_t *b, const lanes_run_t *run,
                                             const lanes_stepped_step_t *of, uint32_t i,
                                             uint64_t bytes)
{
    const uint64_t each = (bytes + CUDA_VECTOR - 1) & ~(uint64_t)(CUDA_VECTOR - 1);
    const lanes_port_t *port = NULL;
    if (each * (of->nsrc + 1u) <= LANES_BENCH_NEAR) {
        return (uint8_t *)b->bench + each * i;
    }
    for (uint32_t d = i < of->nsrc ? of->ndst + i : 0; port == NULL; d++) {
        port = lanes_step_port(b, lanes_step_operand(run, of, d));
    }
    return port->flagged.bench;
}

/* Where the payload of source i is when the combination begins. One that is copied is unpacked
 * where it goes. */
static WEFT_DEVICE uint8_t *lanes_step_source(lanes_block_t *b, const lanes_run_t *run,
                                              const lanes_stepped_step_t *of, uint32_t i,
                                              uint64_t bytes)
{
    const lanes_stepped_operand_t *o = lanes_step_operand(run, of, of->ndst + i);
    if (bytes <= b->inlined) {
        return (uint8_t *)b->head[i];
    }
    if (o->kind != WEFT_OPERAND_PORT) {
        return lanes_step_memory(b, run, o);
    }
    for (uint32_t d = 0; of->copies && d < of->ndst; d++) {
        const lanes_stepped_operand_t *to = lanes_step_operand(run, of, d);
        uint8_t *memory = to->kind == WEFT_OPERAND_PORT ? NULL : lanes_step_memory(b, run, to);
        if (memory != NULL && lanes_is_word_aligned(memory)) {
            return memory;
        }
    }
    return lanes_step_bench(b, run, of, i, bytes);
}

/* Where the payload is that is sent. */
static WEFT_DEVICE uint8_t *lanes_step_sent(lanes_block_t *b, const lanes_run_t *run,
                                            const lanes_stepped_step_t *of, uint64_t bytes)
{
    uint8_t *only = lanes_step_source(b, run, of, 0, bytes);
    return bytes <= b->inlined ? (uint8_t *)b->inline_out
           : of->copies && lanes_is_word_aligned(only)
               ? only
               : lanes_step_bench(b, run, of, of->nsrc, bytes);
}

/* Returns whether payloads of that length go through the port without slots. */
static WEFT_DEVICE int lanes_port_is_stepped(const lanes_block_t *b, const lanes_port_t *port,
                                             uint64_t bytes)
{
    return port->apart != 0 && (port->sends == 0 || bytes <= b->inlined ||
                                lanes_port_form(b, port, bytes) != WEFT_FIFO_FORM_SLOT);
}

static WEFT_DEVICE void lanes_step_prepare_source(lanes_block_t *b, const lanes_run_t *run,
                                                  const lanes_stepped_step_t *of,
                                                  lanes_step_t *step, uint32_t i, uint64_t bytes)
{
    const lanes_stepped_operand_t *o = lanes_step_operand(run, of, of->ndst + i);
    lanes_port_t *port = lanes_step_port(b, o);
    step->from[i] = port;
    step->combine.src[i] = port != NULL || bytes > b->inlined
                               ? lanes_step_source(b, run, of, i, bytes)
                               : lanes_step_memory(b, run, o);
    if (port != NULL && !lanes_port_is_stepped(b, port, bytes)) {
        b->stepped.irregular = 1;
    }
}

static WEFT_DEVICE void lanes_step_prepare_destination(lanes_block_t *b, const lanes_run_t *run,
                                                       const lanes_stepped_step_t *of,
                                                       lanes_step_t *step, uint32_t i,
                                                       uint64_t bytes)
{
    const lanes_stepped_operand_t *o = lanes_step_operand(run, of, i);
    lanes_port_t *port = i < of->ndst ? lanes_step_port(b, o) : NULL;
    step->to[i] = port;
    step->memory[i] = i < of->ndst && port == NULL ? lanes_step_memory(b, run, o) : NULL;
    step->form[i] = port != NULL ? lanes_port_form(b, port, bytes) : 0;
    if (port != NULL && !lanes_port_is_stepped(b, port, bytes)) {
        b->stepped.irregular = 1;
    }
}

/* What is in common: the combination but for its sources, and which payloads are in flagged
 * units. */
static WEFT_DEVICE void lanes_step_prepare_all(lanes_block_t *b, const lanes_run_t *run,
                                               const lanes_stepped_step_t *of, lanes_step_t *step,
                                               uint64_t count, uint64_t bytes)
{
    weft_combine_t *c = &step->combine;
    const uint8_t *only = of->copies ? lanes_step_source(b, run, of, 0, bytes) : NULL;
    uint8_t *sent = NULL;
    uint32_t n = 0;
    const uint32_t inlined = bytes <= b->inlined;
    for (uint32_t i = 0; inlined == 0 && i < of->ndst; i++) {
        const lanes_stepped_operand_t *o = lanes_step_operand(run, of, i);
        if ((of->sends >> i & 1) == 0 && !(of->copies && lanes_step_memory(b, run, o) == only)) {
            c->dst[n++] = lanes_step_memory(b, run, o);
        }
    }
    if (inlined != 0 || of->sends != 0) {
        sent = lanes_step_sent(b, run, of, bytes);
        if (!(of->copies && (inlined != 0 || sent == only))) {
            c->dst[n++] = sent;
        }
    }
    c->count = count;
    c->nsrc = of->nsrc;
    c->ndst = count > 0 ? n : 0;
    c->pre_mask = of->pre_mask;
    c->nt_mask = 0;
    c->flags = of->flags;
    c->nranks = run->program.nranks;
    c->scalar = of->pre_mask != 0 ? &b->scalar : NULL;
    step->bytes = bytes;
    step->sent = sent;
    step->copies = of->copies;
    step->inlined = inlined;
    step->unpacks = inlined ? 0 : of->receives;
    step->packs = inlined ? 0 : of->sends;
}

static WEFT_DEVICE void lanes_step_prepare(lanes_block_t *b, const lanes_run_t *run, uint32_t s,
                                           uint32_t part)
{
    const lanes_stepped_step_t *of = &run->stepped.step[s];
    const uint64_t count = lanes_step_count(b, run, of), bytes = count * run->program.elem;
    if (part < of->nsrc) {
        lanes_step_prepare_source(b, run, of, &b->stepped.step[s], part, bytes);
    } else if (part >= LANES_PARTS_TO && part < LANES_PARTS_ALL) {
        lanes_step_prepare_destination(b, run, of, &b->stepped.step[s], part - LANES_PARTS_TO,
                                       bytes);
    } else if (part == LANES_PARTS_ALL) {
        lanes_step_prepare_all(b, run, of, &b->stepped.step[s], count, bytes);
    }
}

static WEFT_DEVICE void lanes_stepped_prepare(lanes_block_t *b, const lanes_run_t *run)
{
    for (uint32_t part = device_warp(); part <= LANES_PARTS_ALL; part += device_warps()) {
        for (uint32_t s = device_lane(); s < run->stepped.nsteps; s += device_lanes()) {
            lanes_step_prepare(b, run, s, part);
        }
    }
}

/* Looks
 * ---------------------------------------------------------------------------------------------- */

/* Runs after a look in vain. Returns whether the run stops, or the peer's host does its part. */
static WEFT_DEVICE int lanes_stepped_waits(lanes_block_t *b, const lanes_run_t *run,
                                           const lanes_port_t *port, const uint64_t *host,
                                           uint64_t wanted, uint32_t rounds)
{
    device_pause(rounds);
    if ((rounds & LANES_STEPPED_LOOKS) != 0) {
        return 0;
    }
    b->idle.noted = 1;
    device_note32((uint32_t *)(void *)&b->record->blocked,
                  (uint32_t)lanes_port_number(b, run, port));
    return lanes_stop_requested(b, run) != LANES_RUNNING || device_glance64(host) >= wanted;
}

/* Whoever was waited for has come: the next run may wait for another. */
static WEFT_DEVICE void lanes_stepped_came(lanes_block_t *b)
{
    if (b->idle.noted != 0) {
        b->idle.noted = 0;
        device_note32((uint32_t *)(void *)&b->record->blocked, UINT32_MAX);
    }
}

/* Waits for a header, into `head`. Returns whether it is what the step expects. */
static WEFT_DEVICE int lanes_stepped_take(lanes_block_t *b, const lanes_run_t *run,
                                          lanes_port_t *port, uint64_t *head, uint64_t bytes)
{
    const uint64_t *host = lanes_word(lanes_port_header(port), WEFT_FIFO_HEADER_SEQUENCE);
    const uint64_t wanted = port->next + 1;
    uint64_t differ = 0;
    for (uint32_t round = 1; !lanes_header_load(lanes_port_flagged(port), wanted, head); round++) {
        if (lanes_stepped_waits(b, run, port, host, wanted, round)) {
            return 0;
        }
    }
    for (uint32_t w = 0; w < WEFT_FIFO_SIGNATURE_WORDS; w++) {
        differ |= head[WEFT_FIFO_FLAGGED_HEADER_SIGNATURE + w] ^ run->signature[w];
    }
    return differ == 0 && lanes_head_is_valid(b, port, head, bytes) &&
           !lanes_is_plain(b, lanes_head_form(head), bytes);
}

/* Waits for a slot. Returns whether there is one. */
static WEFT_DEVICE int lanes_stepped_room(lanes_block_t *b, const lanes_run_t *run,
                                          lanes_port_t *port)
{
    const uint64_t *host = lanes_word(port->fifo, WEFT_FIFO_RELEASED);
    const uint64_t wanted = port->next + 1 - port->slots;
    for (uint32_t round = 1; port->next >= port->limit; round++) {
        port->limit = device_poll64(port->released) + port->slots;
        if (port->next >= port->limit && lanes_stepped_waits(b, run, port, host, wanted, round)) {
            return 0;
        }
    }
    return 1;
}

/* Steps
 * ---------------------------------------------------------------------------------------------- */

/* A source: its payload is on its way, or, if it is short, in the block's memory. */
static WEFT_DEVICE_CALL int lanes_stepped_source(lanes_block_t *b, const lanes_run_t *run,
                                                 lanes_step_t *step, uint32_t i)
{
    lanes_port_t *port = i < step->combine.nsrc ? step->from[i] : NULL;
    if (i >= step->combine.nsrc) {
        return 1;
    }
    if (port != NULL) {
        if (!lanes_stepped_take(b, run, port, b->head[i], step->bytes)) {
            return 0;
        }
        if (step->inlined == 0) {
            lanes_transit_t *t = &b->transits.unpack[i];
            lanes_transit(t, b, run, port, lanes_head_form(b->head[i]), step->bytes);
            t->payload = (uint8_t *)(uintptr_t)step->combine.src[i];
        }
    } else if (step->inlined != 0) {
        lanes_short_copy(b->head[i], step->combine.src[i], (uint32_t)step->bytes);
        step->combine.src[i] = b->head[i];
    }
    if (step->inlined != 0 && step->copies != 0) {
        device_copy32(b->inline_out, b->head[i]);
    }
    return 1;
}

static WEFT_DEVICE int lanes_stepped_destination(lanes_block_t *b, const lanes_run_t *run,
                                                 const lanes_step_t *step, uint32_t i)
{
    lanes_port_t *port = step->to[i];
    if (port == NULL) {
        return 1;
    }
    if (step->inlined == 0) {
        lanes_transit(&b->transits.pack[i], b, run, port, step->form[i], step->bytes);
        b->transits.pack[i].payload = step->sent;
    }
    return lanes_stepped_room(b, run, port);
}

/* The port goes on to its next slice, also for the runs behind this one. */
static WEFT_DEVICE void lanes_stepped_go_on(lanes_block_t *b, const lanes_run_t *run,
                                            lanes_port_t *port)
{
    *port->at = port->end->next = ++port->next;
    lanes_ports_far(run, b->at.channel)[port - b->tables.ports].limit = port->limit;
    if (port->by_host != 0) {
        lanes_ports_far(run, b->at.channel)[port - b->tables.ports].by_host = 0;
    }
    port->in_fifo = port->by_host = 0;
}

/* The part of a thread in telling the peers, when all threads have done what comes before. */
static WEFT_DEVICE void lanes_stepped_tell(lanes_block_t *b, const lanes_run_t *run,
                                           const lanes_step_t *step, uint32_t part)
{
    const uint32_t i = part % WEFT_MOVE_MAX;
    if (part < LANES_PARTS_TO) {
        lanes_port_t *port = i < step->combine.nsrc ? step->from[i] : NULL;
        if (port != NULL) {
            device_publish64(port->released, port->next + 1);
            lanes_stepped_go_on(b, run, port);
        }
    } else if (step->to[i] != NULL) {
        lanes_port_t *port = step->to[i];
        lanes_tell_flagged(b, port, port->next, run->signature, step->bytes, step->form[i], NULL);
        lanes_stepped_go_on(b, run, port);
    } else if (step->inlined != 0 && step->memory[i] != NULL) {
        lanes_short_copy(step->memory[i], b->inline_out, (uint32_t)step->bytes);
    }
}

/* The payload of a step, by all threads. */
static WEFT_DEVICE void lanes_stepped_payload(lanes_block_t *b, const lanes_run_t *run,
                                              const lanes_step_t *step)
{
    const uint32_t thread = device_thread(), threads = device_threads();
    for (uint32_t i = 0; step->unpacks >> i != 0; i++) {
        if ((step->unpacks >> i & 1) != 0) {
            lanes_unpack(b, run, &b->transits.unpack[i], thread, threads);
        }
    }
    if (step->unpacks != 0) {
        device_barrier_together();
        if (b->transits.stopped != 0) {
            return;
        }
    }
    if (step->combine.ndst > 0) {
        /* What fits a header is the work of one warp: all others would only load the code. */
        if (step->inlined == 0) {
            lanes_combine(&step->combine, run, thread, threads);
        } else if (device_warp() == 0) {
            lanes_combine(&step->combine, run, thread, device_lanes());
        }
        device_barrier_together();
    }
    for (uint32_t i = 0; step->packs >> i != 0; i++) {
        if ((step->packs >> i & 1) != 0) {
            lanes_pack(&b->transits.pack[i], thread, threads);
        }
    }
}

/* Looks for what a step needs, but for sources that are here already. */
static WEFT_DEVICE void lanes_stepped_find(lanes_block_t *b, const lanes_run_t *run, uint32_t s)
{
    const uint32_t first = run->stepped.step[s].early != 0 ? LANES_PARTS_TO : 0;
    for (uint32_t part = device_warp(); part < LANES_PARTS_ALL; part += device_warps()) {
        const uint32_t i = part % WEFT_MOVE_MAX;
        if (part >= first &&
            !(part >= LANES_PARTS_TO ? lanes_stepped_destination(b, run, &b->stepped.step[s], i)
                                     : lanes_stepped_source(b, run, &b->stepped.step[s], i))) {
            b->stepped.failed = 1;
        }
    }
}

/* Tells the peers of a step, and looks for the sources of the next one, if that is early. */
static WEFT_DEVICE void lanes_stepped_end(lanes_block_t *b, const lanes_run_t *run, uint32_t s)
{
    const uint32_t early = s + 1 < run->stepped.nsteps ? run->stepped.step[s + 1].early : 0;
    const uint32_t parts = early != 0 ? LANES_PARTS_EARLY : LANES_PARTS_ALL;
    if (device_warp() == 0) {
        b->stepped.closed = s + 1 == run->stepped.nsteps;
    }
    for (uint32_t part = device_warp(); part < parts; part += device_warps()) {
        if (part < LANES_PARTS_ALL) {
            lanes_stepped_tell(b, run, &b->stepped.step[s], part);
        } else if (!lanes_stepped_source(b, run, &b->stepped.step[s + 1], part % WEFT_MOVE_MAX)) {
            b->stepped.failed = 1;
        }
    }
}

/* Returns 0 if the step is not done. A warp for each part: see device_warp(). */
static WEFT_DEVICE int lanes_stepped_step(lanes_block_t *b, const lanes_run_t *run, uint32_t s)
{
    if (device_lane() == 0) {
        lanes_stepped_find(b, run, s);
    }
    device_barrier_together();
    if (b->stepped.failed != 0) {
        return 0;
    }
    lanes_stepped_payload(b, run, &b->stepped.step[s]);
    if (b->transits.stopped != 0) {
        return 0;
    }
    if (device_lane() == 0) {
        lanes_stepped_end(b, run, s);
    }
    device_barrier_together();
    return 1;
}

/* Runs the steps, as far as they are regular. All threads of the block call this. Returns whether
 * the run is done, alike to all: then the ports are closed, too. */
static WEFT_DEVICE_CALL int lanes_stepped(lanes_block_t *b, const lanes_run_t *run)
{
    const uint32_t nsteps = (uint32_t)run->stepped.nsteps;
    uint32_t done = 0;
    const uint32_t begins = b->stepped.irregular == 0 && b->begin == LANES_RUNNING;
    if (device_thread() == 0 && begins != 0) {
        b->found = LANES_FOUND_DATA | LANES_FOUND_ROOM; /* nobody keeps what is found */
    }
    if (begins != 0) {
        while (done < nsteps && lanes_stepped_step(b, run, done)) {
            done++;
        }
    }
    if (device_thread() == 0) {
        b->stepped.done = done;
        b->idle.moved = done;
        b->begin = b->transits.stopped != 0 ? LANES_STOPPED : b->begin;
        if (done == nsteps) {
            DEVICE_COUNT(STEPPED, b);
            lanes_stepped_came(b);
        }
    }
    return done == nsteps;
}

/* Rehearsals
 * ------------------------------------------------------------------------------------------ */

/* Code that a block runs for the first time is as far as data: a sum of two numbers takes 2,500
 * clocks, and 900 when its code is near. So a warp that has no part in the preparation runs it once
 * on no data, while the others wait for memory. It is of the quarter of the multiprocessor that has
 * the leader's warp, and not the last one, which listens. Returns its number, or 0: none
 * rehearses. */
static WEFT_DEVICE uint32_t lanes_rehearser(const lanes_run_t *run)
{
    const uint32_t last = device_warps() - 1, warp = last & ~(LANES_QUARTERS - 1);
    return run->stepped.nsteps != 0 && warp > LANES_PARTS_ALL && warp > run->program.nports &&
                   warp != last
               ? warp
               : 0;
}

static WEFT_DEVICE_CALL void lanes_rehearse(lanes_block_t *b, const lanes_run_t *run)
{
    weft_combine_t *c = &b->stepped.rehearsed;
    uint8_t *nothing = (uint8_t *)b->bench;
    c->count = 1;
    c->nsrc = 2;
    c->ndst = 1;
    c->pre_mask = c->nt_mask = c->flags = 0;
    c->nranks = 1;
    c->scalar = NULL;
    c->src[0] = c->src[1] = c->dst[0] = nothing;
    lanes_combine(c, run, 0, 1);
    lanes_short_copy(nothing, nothing, run->program.elem);
    lanes_header_load(b->bench, 0, b->bench + 2 * WEFT_FIFO_FLAGGED_HEADER_WORDS);
}

/* The way back
 * ---------------------------------------------------------------------------------------- */

static WEFT_DEVICE void lanes_resume_member(lanes_block_t *b, const lanes_run_t *run, uint32_t pc,
                                            uint32_t i)
{
    lanes_member_t *m = &b->active.member[i];
    m->move = &b->tables.moves[b->tables.code[pc + 1 + i].n];
    m->operands = &b->tables.operands[m->move->operand];
    m->done = 0;
    lanes_next(run, b, m);
    for (uint32_t s = 0; s < b->stepped.done; s++) {
        const lanes_stepped_step_t *of = &run->stepped.step[s];
        m->finished |= of->pc == pc && of->member == i ? 1 : 0;
    }
}

/* Puts the leader behind the steps that are done. In a PAR some members may be, in any order. */
static WEFT_DEVICE_CALL void lanes_stepped_resume(lanes_block_t *b, const lanes_run_t *run)
{
    const lanes_stepped_step_t *next = &run->stepped.step[b->stepped.done];
    b->at.pc = next->pc;
    if (b->stepped.done > 0 && next[-1].pc == next->pc) {
        b->active.n = b->tables.code[next->pc].n;
    }
    for (uint32_t i = 0; i < b->active.n; i++) {
        lanes_resume_member(b, run, next->pc, i);
    }
}

#endif
