/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a block begins a run, and what it leaves behind: the state of its leader, what that looks up,
 * and the positions of its ports. */
#ifndef KERNEL_CUDA_DEVICE_DEVICE_OPEN_H
#define KERNEL_CUDA_DEVICE_DEVICE_OPEN_H

#include "device_meeting.h"
#include "device_port.h"
#include "device_stepped.h"

static WEFT_DEVICE uint64_t lanes_begin_scalar(const lanes_run_t *run)
{
    uint64_t scalar = 0;
    if (run->scalar.at == NULL) {
        return run->scalar.value;
    }
    for (uint32_t i = 0; i < run->program.elem; i++) {
        scalar |= (uint64_t)run->scalar.at[i] << (8 * i);
    }
    return scalar;
}

static WEFT_DEVICE int lanes_ports_are_near(const lanes_run_t *run)
{
    return run->program.nports <= LANES_PORTS_NEAR;
}

static WEFT_DEVICE int lanes_moves_are_near(const weft_lanes_program_t *program)
{
    return program->nmoves <= LANES_MOVES_NEAR && program->noperands <= LANES_OPERANDS_NEAR;
}

/* Where the leader finds the tables: see lanes_open_tables(). */
static WEFT_DEVICE void lanes_begin_tables(lanes_block_t *b, const lanes_run_t *run)
{
    const weft_lanes_program_t *p = &run->program;
    const uint32_t words = p->lane[b->at.lane + 1] - b->at.first;
    const int near = lanes_moves_are_near(p);
    b->tables.code = words <= LANES_CODE_NEAR ? b->tables.near_code : p->code + b->at.first;
    b->tables.moves = near ? b->tables.near_moves : p->moves;
    b->tables.operands = near ? b->tables.near_operands : p->operands;
}

/* What both kinds of runs need: those that go step by step, and those with a leader. */
static WEFT_DEVICE void lanes_begin(lanes_block_t *b, const lanes_run_t *run, uint32_t block)
{
    const uint32_t nlanes = run->program.nlanes;
    b->at.block = block;
    b->at.channel = nlanes == 1 ? block : block / nlanes;
    b->at.lane = nlanes == 1 ? 0 : block % nlanes;
    b->tables.ports =
        lanes_ports_are_near(run) ? b->tables.near_ports : lanes_ports_far(run, b->at.channel);
    b->active.n = 0;
    b->found = 0;
    b->whole = 0;
    b->inlined = WEFT_FIFO_INLINE;
    b->transits.stopped = 0;
    b->stepped.irregular = 0;
    b->stepped.failed = 0;
    b->stepped.closed = 0;
    b->stepped.done = 0;
    b->idle.noted = 0;
    b->idle.moved = 0;
    b->idle.told = 0;
    b->zero_copied = 0;
    b->record = run->records + block;
    for (uint32_t i = 0; i < 4; i++) {
        b->inline_out[i] = 0;
    }
}

/* Tells the host, and reads what is far. Later: others wait for what comes before. */
static WEFT_DEVICE void lanes_begin_telling(lanes_block_t *b, const lanes_run_t *run)
{
    device_note64(&b->record->moved, 0);
    if (run->number != 0) {
        device_note64(&b->record->begun, run->number);
    } else {
        device_note64(&b->record->graph_runs_begun, run->graph_runs[b->at.block] + 1);
    }
    b->scalar = lanes_begin_scalar(run);
}

/* What a leader needs beside that. A function of its own, as lanes_report() is: each runs once, and
 * both together in the leader's function would take registers that its loop needs. */
static WEFT_DEVICE_CALL void lanes_begin_lead(lanes_block_t *b, const lanes_run_t *run)
{
    b->go = 1;
    b->at.first = run->program.lane[b->at.lane];
    lanes_begin_tables(b, run);
    b->at.pc = 0;
    b->at.iteration = 0;
    b->at.times = 0;
    b->at_bar = 0;
    b->held.told = 0;
    b->idle.ticks = 0;
    b->idle.rounds = 0;
    b->idle.blocked = -1;
    b->idle.seen = 0;
    b->at.pass = b->at.channel;
    b->active.member = run->program.largest_par <= LANES_MEMBERS_NEAR
                           ? b->active.near
                           : run->members + (uint64_t)b->at.block * run->program.largest_par;
}

/* Brings what the leader looks up for each MOVE into the block's memory, what has room there. */
static WEFT_DEVICE void lanes_open_tables(lanes_block_t *b, const lanes_run_t *run, uint32_t lane)
{
    const weft_lanes_program_t *p = &run->program;
    const uint32_t first = p->lane[lane], words = p->lane[lane + 1] - first;
    const uint32_t step = device_workers(), worker = device_worker();
    if (words <= LANES_CODE_NEAR) {
        for (uint32_t i = worker; i < words; i += step) {
            b->tables.near_code[i] = p->code[first + i];
        }
    }
    if (lanes_moves_are_near(p)) {
        for (uint32_t i = worker; i < p->nmoves; i += step) {
            b->tables.near_moves[i] = p->moves[i];
        }
        for (uint32_t i = worker; i < p->noperands; i += step) {
            b->tables.near_operands[i] = p->operands[i];
        }
    }
}

/* The leader itself, and what it looks up by the other threads: all of it has long latencies. */
static WEFT_DEVICE_CALL void lanes_open_lead(lanes_block_t *b, const lanes_run_t *run)
{
    if (device_thread() == 0) {
        lanes_begin_lead(b, run);
    }
    if (device_works()) {
        lanes_open_tables(b, run, b->at.lane);
    }
}

/* Brings the ports of the lane to where the run uses them: a warp for each port, and a thread of it
 * for each word. */
static WEFT_DEVICE void lanes_open_ports(lanes_block_t *b, const lanes_run_t *run, uint32_t block)
{
    const uint32_t nlanes = run->program.nlanes, warps = device_warps();
    const uint32_t channel = nlanes == 1 ? block : block / nlanes, lane = block - channel * nlanes;
    const lanes_port_t *far = lanes_ports_far(run, channel);
    if (!lanes_ports_are_near(run)) {
        return;
    }
    for (uint32_t p = (device_warp() + warps - 1) % warps; p < run->program.nports; p += warps) {
        const uint64_t *from = (const uint64_t *)(const void *)&far[p];
        uint64_t *to = (uint64_t *)(void *)&b->tables.near_ports[p];
        for (uint32_t w = device_lane();
             w < sizeof *far / sizeof *to && (nlanes == 1 || run->owner[p] == lane);
             w += device_lanes()) {
            to[w] = from[w];
        }
    }
}

/* Where a port is in the stream of slices, and what begins anew with each run. All loads of it are
 * under way at once. */
static WEFT_DEVICE void lanes_place_port(lanes_block_t *b, const lanes_run_t *run,
                                         lanes_port_t *port)
{
    const lanes_end_t *end = port->end;
    const uint64_t next = end->next, seeks = end->seeks, count = end->windows.count;
    port->next = next;
    port->count = count;
    port->found = 0;
    port->zero_copied = 0;
    if (seeks != b->news.seeks) {
        lanes_port_seek(port, b->news.seeks);
    }
    lanes_meeting_aim(run, port);
    if (count != 0 && run->meeting.meets != 0) {
        b->stepped.irregular = 1;
    }
}

static WEFT_DEVICE void lanes_place_ports(lanes_block_t *b, const lanes_run_t *run)
{
    if (device_works()) {
        for (uint32_t p = device_worker(); p < run->program.nports; p += device_workers()) {
            if (run->program.nlanes == 1 || run->owner[p] == b->at.lane) {
                lanes_place_port(b, run, &b->tables.ports[p]);
            }
        }
    }
}

static WEFT_DEVICE uint32_t lanes_listens(void)
{
    return device_thread() == device_threads() - 1;
}

/* One thread asks for the notice of a run before all else: the host's memory is far, and this is
 * the only look at it. lanes_open() waits until it is here. A function of its own for the sake of
 * registers. */
static WEFT_DEVICE_CALL void lanes_listen(lanes_block_t *b, const lanes_run_t *run, uint32_t block)
{
    if (lanes_listens()) {
        device_part_fetch(&b->news, &lanes_notice(run, block)->news);
    }
}

/* The part of all warps but one that rehearses, with so many threads. */
static WEFT_DEVICE void lanes_open_block(lanes_block_t *b, const lanes_run_t *run, uint32_t block,
                                         uint32_t threads)
{
    if (device_thread() == 0) {
        lanes_begin(b, run, block);
    }
    lanes_open_ports(b, run, block);
    if (lanes_listens()) {
        device_part_fetched();
    }
    device_barrier_of(threads);
    if (run->stepped.nsteps != 0) {
        lanes_stepped_prepare(b, run);
    } else {
        lanes_open_lead(b, run);
    }
    if (lanes_listens()) {
        const uint32_t stop = device_look32(run->stop);
        b->at.passed = run->passed[block];
        b->begin = stop != 0 || b->news.abort != 0 ? LANES_STOPPED : LANES_RUNNING;
    }
    lanes_place_ports(b, run);
    if (device_thread() == 0) {
        lanes_begin_telling(b, run);
    }
}

/* Sets up a run. All threads call this. */
static WEFT_DEVICE_CALL void lanes_open(lanes_block_t *b, const lanes_run_t *run, uint32_t block)
{
    const uint32_t rehearser = lanes_rehearser(run);
    if (rehearser == 0 || device_warp() != rehearser) {
        lanes_open_block(b, run, block,
                         rehearser == 0 ? device_threads() : device_threads() - device_lanes());
    } else if (device_lane() == 0) {
        lanes_rehearse(b, run);
    }
    device_barrier_together();
}

/* What the next run, or the host, has to know of a port; a run that was stepped to its end has told
 * that. */
static WEFT_DEVICE_CALL void lanes_close(lanes_block_t *b, const lanes_run_t *run)
{
    lanes_port_t *far = lanes_ports_far(run, b->at.channel);
    if (b->stepped.closed != 0) {
        return;
    }
    if (device_works()) {
        for (uint32_t p = device_worker(); p < run->program.nports; p += device_workers()) {
            if (run->program.nlanes == 1 || run->owner[p] == b->at.lane) {
                *b->tables.ports[p].at = b->tables.ports[p].end->next = b->tables.ports[p].next;
                far[p].limit = b->tables.ports[p].limit;
                far[p].looks = b->tables.ports[p].looks;
                far[p].by_host = b->tables.ports[p].by_host;
            }
        }
    }
    device_barrier();
}

#endif
