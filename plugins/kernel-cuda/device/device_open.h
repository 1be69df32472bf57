/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a block begins a run, and what it leaves behind: the state of its leader, what that looks up, and the
 * positions of its ports. */
#ifndef KERNEL_CUDA_DEVICE_DEVICE_OPEN_H
#define KERNEL_CUDA_DEVICE_DEVICE_OPEN_H

#include "device_meeting.h"
#include "device_port.h"

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
    b->tables.ports =
        lanes_ports_are_near(run) ? b->tables.near_ports : lanes_ports_far(run, b->at.channel);
}

/* A function of its own, as lanes_report() is: each runs once, and both together in the leader's
 * function would take registers that its loop needs. */
static WEFT_DEVICE_CALL void lanes_begin(lanes_block_t *b, const lanes_run_t *run, uint32_t block)
{
    const uint32_t nlanes = run->program.nlanes;
    b->scalar = lanes_begin_scalar(run);
    b->go = 1;
    b->at.block = block;
    b->at.channel = block / nlanes;
    b->at.lane = block % nlanes;
    b->at.first = run->program.lane[b->at.lane];
    lanes_begin_tables(b, run);
    b->at.pc = 0;
    b->at.iteration = 0;
    b->at.times = 0;
    b->active.n = 0;
    b->at_bar = 0;
    b->found = 0;
    b->whole = 0;
    b->held.told = 0;
    b->inlined = WEFT_FIFO_INLINE;
    b->transits.stopped = 0;
    b->stepped.irregular = 0;
    b->stepped.failed = 0;
    b->stepped.done = 0;
    b->idle.ticks = 0;
    b->idle.rounds = 0;
    b->idle.noted = 0;
    b->idle.blocked = -1;
    b->at.pass = b->at.channel;
    b->at.passed = run->passed[block];
    b->idle.moved = 0;
    b->idle.seen = 0;
    b->idle.told = 0;
    b->zero_copied = 0;
    b->active.member = run->program.largest_par <= LANES_MEMBERS_NEAR
                           ? b->active.near
                           : run->members + (uint64_t)block * run->program.largest_par;
    b->record = run->records + block;
    for (uint32_t i = 0; i < 4; i++) {
        b->inline_out[i] = 0;
    }
    device_note64(&b->record->moved, 0);
    if (run->number != 0) {
        device_note64(&b->record->begun, run->number);
    } else {
        device_note64(&b->record->graph_runs_begun, run->graph_runs[block] + 1);
    }
}

/* Brings what the leader looks up for each MOVE into the block's memory, what has room there. */
static WEFT_DEVICE void lanes_open_tables(lanes_block_t *b, const lanes_run_t *run, uint32_t lane)
{
    const weft_lanes_program_t *p = &run->program;
    const uint32_t first = p->lane[lane], words = p->lane[lane + 1] - first;
    /* From the last one on: the first ones have the ports. */
    const uint32_t step = device_workers(), worker = step - 1 - device_worker();
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

/* Brings the lane's ports to where the leader uses them, with their positions, and says whether the run
 * may begin. The notice is the only look at the host's memory: the threads that need it load it together,
 * before they load all else. */
static WEFT_DEVICE_CALL void lanes_open_ports(lanes_block_t *b, const lanes_run_t *run,
                                              uint32_t block)
{
    const uint32_t channel = block / run->program.nlanes, lane = block % run->program.nlanes;
    lanes_port_t *far = lanes_ports_far(run, channel);
    lanes_port_t *ports = lanes_ports_are_near(run) ? b->tables.near_ports : far;
    const uint32_t stop = device_look32(run->stop);
    uint64_t abort = 0, seeks = 0;
    if (device_worker() == 0 || device_worker() < run->program.nports) {
        device_part_load((const uint64_t *)(const void *)lanes_notice(run, block), &abort, &seeks);
    }
    for (uint32_t p = device_worker(); p < run->program.nports; p += device_workers()) {
        if (run->owner[p] != lane) {
            continue;
        }
        if (ports != far) {
            ports[p] = far[p];
        }
        ports[p].found = 0;
        ports[p].zero_copied = 0;
        ports[p].count = ports[p].end->windows.count;
        lanes_meeting_aim(run, &ports[p]);
        ports[p].next = lanes_port_position(&ports[p], seeks);
    }
    if (device_worker() == 0) {
        b->begin = stop != 0 || abort != 0 ? LANES_STOPPED : LANES_RUNNING;
    }
}

/* Sets up a run, the leader itself and the other threads what it looks up. The stop words are read at the
 * same time: all of it has long latencies. */
static WEFT_DEVICE_CALL void lanes_open(lanes_block_t *b, const lanes_run_t *run, uint32_t block)
{
    const uint32_t nlanes = run->program.nlanes;
    if (device_thread() == 0) {
        lanes_begin(b, run, block);
    }
    if (device_works()) {
        lanes_open_ports(b, run, block);
        lanes_open_tables(b, run, block % nlanes);
    }
    device_barrier();
}

/* What the next run, or the host, has to know of a port. */
static WEFT_DEVICE_CALL void lanes_close(lanes_block_t *b, const lanes_run_t *run)
{
    lanes_port_t *far = lanes_ports_far(run, b->at.channel);
    for (uint32_t p = device_thread(); p < run->program.nports; p += device_threads()) {
        if (run->owner[p] == b->at.lane) {
            *b->tables.ports[p].at = b->tables.ports[p].end->next = b->tables.ports[p].next;
            far[p].limit = b->tables.ports[p].limit;
            far[p].looks = b->tables.ports[p].looks;
            far[p].by_host = b->tables.ports[p].by_host;
        }
    }
    device_barrier();
}

#endif
