/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The interpreter of plans on a device, in the common subset of C11 and CUDA C++. One block of threads
 * per lane of every channel. Thread 0, the leader, follows the program, waits for ports and publishes; the others wait
 * for combinations and do them with it. Lanes are independent but for three kinds of words: `finished`
 * and `arrived`, by which they wait for each other, and `stop`. All blocks of a launch must be resident
 * at once.
 *
 * The semantics are those of core/exec/interpreter.c; both may run on the two ends of one FIFO. */
#ifndef KERNEL_CUDA_DEVICE_LANES_H
#define KERNEL_CUDA_DEVICE_LANES_H

#include "moves.h"

#define LANES_TICKS 63u /* looks at abort: one in 64 steps */
#define LANES_WAITS 15u /* … and one in 16 looks in vain */

/* Waiting ------------------------------------------------------------------------------------------ */

static WEFT_DEVICE uint32_t lanes_told(const lanes_run_t *run)
{
    uint32_t told = device_look32(run->stop) | device_look32(run->abort);
    return told != 0 ? LANES_STOPPED : LANES_RUNNING;
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

static WEFT_DEVICE uint64_t *lanes_finished(const lanes_block_t *b, const lanes_run_t *run)
{
    return run->finished + (uint64_t)b->channel * run->program.ncode;
}

static WEFT_DEVICE int lanes_waits_are_over(const lanes_block_t *b, const lanes_run_t *run,
                                            const weft_lanes_move_t *move)
{
    for (uint32_t i = 0; i < move->nafter; i++) {
        const weft_lanes_after_t *after = &run->program.afters[move->after + i];
        const uint32_t at = run->program.lane[after->lane] + after->pc;
        const uint64_t *word = &lanes_finished(b, run)[at];
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
    uint64_t *finished = &lanes_finished(b, run)[run->program.lane[b->lane] + b->pc];
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
    uint64_t *arrived = &run->arrived[((uint64_t)b->channel * run->nmasks + c->n) * nlanes];
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

static WEFT_DEVICE void lanes_control(lanes_block_t *b, const lanes_run_t *run)
{
    const weft_lanes_code_t *c = &b->code[b->pc];
    if (c->opcode == WEFT_LANES_LOOP) {
        b->iteration = 0;
        b->times = c->n;
        b->pc++;
    } else if (c->opcode == WEFT_LANES_STOP) {
        b->pass += run->program.channels;
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
        lanes_control(b, run);
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

static WEFT_DEVICE uint64_t lanes_scalar(const lanes_run_t *run)
{
    uint64_t scalar = 0;
    if (run->scalar_at == NULL) {
        return run->scalar;
    }
    for (uint32_t i = 0; i < run->program.elem; i++) {
        scalar |= (uint64_t)run->scalar_at[i] << (8 * i);
    }
    return scalar;
}

static WEFT_DEVICE void lanes_begin(lanes_block_t *b, const lanes_run_t *run, uint32_t block)
{
    const uint32_t nlanes = run->program.nlanes;
    b->scalar = lanes_scalar(run);
    b->go = 1;
    b->block = block;
    b->channel = block / nlanes;
    b->lane = block % nlanes;
    b->pc = 0;
    b->iteration = 0;
    b->times = 0;
    b->members = 0;
    b->at_bar = 0;
    b->ticks = 0;
    b->idle = 0;
    b->noted = 0;
    b->blocked = -1;
    b->pass = b->channel;
    b->passed = run->passed[block];
    b->moved = 0;
    b->seen = 0;
    b->referred = 0;
    b->code = run->program.code + run->program.lane[b->lane];
    b->member = run->members + (uint64_t)block * run->program.largest_par;
    b->record = run->records + block;
    for (uint32_t i = 0; i < 4; i++) {
        b->inline_out[i] = 0;
    }
    device_note64(&b->record->moved, 0);
    if (run->number != 0) {
        device_note64(&b->record->begun, run->number);
    } else {
        device_note64(&b->record->replays_begun, run->replays[block] + 1);
    }
}

/* The first port of the lane with messages by reference that the peer has not given back, or −1. */
static WEFT_DEVICE int32_t lanes_referring(const lanes_block_t *b, const lanes_run_t *run)
{
    lanes_port_t *ports = lanes_ports(run, b->channel);
    for (uint32_t p = 0; b->referred > 0 && p < run->program.nports; p++) {
        if (run->owner[p] == b->lane && !lanes_port_returned(&ports[p])) {
            return (int32_t)(&ports[p] - run->ports);
        }
    }
    return -1;
}

/* The buffers may change after a run, so it is over when nobody reads them any more. That comes: the
 * peers need nothing of this rank for it but the messages that it has sent. */
static WEFT_DEVICE uint32_t lanes_settle(lanes_block_t *b, const lanes_run_t *run)
{
    uint32_t status = LANES_RUNNING;
    while (status == LANES_RUNNING && (b->blocked = lanes_referring(b, run)) >= 0) {
        status = lanes_wait(b, run);
    }
    if (b->noted) {
        lanes_note_blocked(b, -1);
    }
    return status;
}

/* What thread 0 does. Returns how the lane ended. */
static WEFT_DEVICE uint32_t lanes_lead(lanes_block_t *b, const lanes_run_t *run)
{
    uint32_t status = b->begin;
    while (status == LANES_RUNNING && b->pass < run->cut.passes) {
        status = lanes_instruction(b, run);
        if (status == LANES_BLOCKED) {
            status = lanes_wait(b, run);
        } else if (status == LANES_OVER) {
            status = lanes_tick(b, run);
        }
    }
    status = status == LANES_RUNNING ? lanes_settle(b, run) : status;
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

/* Takes over the lane's ports, from where other runs have left them; looks at the same time whether the
 * run is to begin, as both may be far away. */
static WEFT_DEVICE void lanes_open(lanes_block_t *b, const lanes_run_t *run, uint32_t block)
{
    const uint32_t lane = block % run->program.nlanes;
    lanes_port_t *ports = lanes_ports(run, block / run->program.nlanes);
    if (device_thread() == device_threads() - 1) {
        b->begin = lanes_told(run);
    }
    for (uint32_t p = device_thread(); p < run->program.nports; p += device_threads()) {
        if (run->owner[p] == lane) {
            ports[p].next = *ports[p].at;
            ports[p].referred = 0;
            ports[p].count = ports[p].windows != NULL ? ports[p].windows->count : 0;
        }
    }
    device_barrier();
}

static WEFT_DEVICE void lanes_close(const lanes_run_t *run, uint32_t block)
{
    const uint32_t lane = block % run->program.nlanes;
    lanes_port_t *ports = lanes_ports(run, block / run->program.nlanes);
    for (uint32_t p = device_thread(); p < run->program.nports; p += device_threads()) {
        if (run->owner[p] == lane) {
            *ports[p].at = ports[p].next;
        }
    }
    device_barrier();
}

/* After this the host may use everything that the lane used. */
static WEFT_DEVICE void lanes_report(lanes_block_t *b, const lanes_run_t *run, uint32_t status)
{
    lanes_record_t *record = b->record;
    if (b->referred != 0) {
        device_note64(&record->referred, record->referred + b->referred);
    }
    if (status == LANES_OVER) {
        run->passed[b->block] = b->passed + run->cut.passes;
    } else {
        device_note32(run->stop, 1);
        device_note32(&record->failed, 1);
    }
    if (run->number == 0) {
        const uint64_t replays = ++run->replays[b->block];
        device_publish_fence();
        device_publish64(&record->replays_ended, replays);
        return;
    }
    if (status == LANES_OVER) {
        device_note64(&record->over, run->number);
    }
    device_publish_fence();
    device_publish64(&record->ended, run->number);
}

/* Runs the lane of a block, whose threads all come here. `b` is memory of the block. */
static WEFT_DEVICE void lanes_run_lane(lanes_block_t *b, const lanes_run_t *run, uint32_t block)
{
    uint32_t status = LANES_OVER;
    lanes_open(b, run, block);
    if (device_thread() == 0) {
        lanes_begin(b, run, block);
        status = lanes_lead(b, run);
    } else {
        lanes_follow(b, run);
    }
    lanes_close(run, block);
    if (device_thread() == 0) {
        lanes_report(b, run, status);
    }
}

/* Launches ----------------------------------------------------------------------------------------- */

/* All blocks of the launch meet between two runs: the next may use the same ports and buffers in other
 * lanes. Each comes, however its run has ended. The word is a multiple of the blocks whenever no launch
 * is under way, also if a recording brings this one again. */
static WEFT_DEVICE void lanes_meet(const lanes_launch_t *launch)
{
    device_barrier();
    if (device_thread() == 0) {
        const uint64_t before = device_add64_near(launch->arrived);
        const uint64_t all = (before / launch->nblocks + 1) * launch->nblocks;
        for (uint32_t round = 0; device_acquire64_near(launch->arrived) < all; round++) {
            device_pause(round);
        }
    }
    device_barrier();
}

static WEFT_DEVICE void lanes_fetch(lanes_run_copy_t *to, const lanes_run_copy_t *from)
{
    const uint32_t words = sizeof to->word / sizeof to->word[0];
    device_barrier();
    for (uint32_t i = device_thread(); i < words; i += device_threads()) {
        to->word[i] = from->word[i];
    }
    device_barrier();
}

/* What a block does of a launch. Every block has fetched the last run before that can begin, so nobody
 * looks there when it has ended. */
static WEFT_DEVICE void lanes_run_launch(lanes_shared_t *shared, const lanes_launch_t *launch,
                                         uint32_t block)
{
    if (launch->nruns == 1) {
        lanes_run_lane(&shared->block, &launch->run, block);
        return;
    }
    for (uint32_t i = 0; i < launch->nruns; i++) {
        lanes_fetch(&shared->copy, &launch->runs[i]);
        if (i > 0) {
            lanes_meet(launch);
        }
        if (block < shared->copy.run.nblocks) {
            lanes_run_lane(&shared->block, &shared->copy.run, block);
        }
    }
}

#endif
