/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The interpreter of plans on a device, in the common subset of C11 and CUDA C++. Each lane of each
 * channel has one block of threads. Thread 0, the leader, follows the program, waits for ports and
 * publishes slices. The other threads wait for combinations and do them together with the leader.
 * Lanes share three kinds of words only: `finished` and `arrived`, by which they wait for each
 * other, and `stop`. All blocks of a launch must be resident at once.
 *
 * The semantics are those of the core's interpreter (core/exec). The two may run at the two ends of
 * one FIFO. */
#ifndef KERNEL_CUDA_DEVICE_DEVICE_INTERPRETER_H
#define KERNEL_CUDA_DEVICE_DEVICE_INTERPRETER_H

#include "device_meeting.h"
#include "device_open.h"
#include "device_slice.h"
#include "device_stepped.h"

#define LANES_TICKS 63u /* look at the stop words in one of 64 steps; see also LANES_WAITS */

/* Waiting
 * ------------------------------------------------------------------------------------------ */

/* Tells the host how many slices are done. Rarely: the next fence waits until the word is there. */
static WEFT_DEVICE void lanes_note_moved(lanes_block_t *b)
{
    if (b->idle.moved != b->idle.told) {
        b->idle.told = b->idle.moved;
        device_note64(&b->record->moved, b->idle.moved);
    }
}

/* Runs after every step. */
static WEFT_DEVICE uint32_t lanes_tick(lanes_block_t *b, const lanes_run_t *run)
{
    if ((++b->idle.ticks & LANES_TICKS) != 0) {
        return LANES_RUNNING;
    }
    lanes_note_moved(b);
    return lanes_stop_requested(b, run);
}

static WEFT_DEVICE void lanes_note_blocked(lanes_block_t *b, int32_t port)
{
    device_note32((uint32_t *)(void *)&b->record->blocked, (uint32_t)port);
    b->idle.noted = port >= 0;
}

/* Runs when the lane cannot progress. */
static WEFT_DEVICE uint32_t lanes_wait(lanes_block_t *b, const lanes_run_t *run)
{
    if (b->idle.moved != b->idle.seen) {
        b->idle.seen = b->idle.moved;
        b->idle.rounds = 0;
        if (b->idle.noted) {
            lanes_note_blocked(b, -1);
        }
    }
    if ((++b->idle.rounds & LANES_WAITS) != 0) {
        device_pause(b->idle.rounds);
        return LANES_RUNNING;
    }
    lanes_note_moved(b);
    lanes_note_blocked(b, b->idle.blocked);
    return lanes_stop_requested(b, run);
}

/* Meetings
 * ----------------------------------------------------------------------------------------- */

static WEFT_DEVICE uint32_t lanes_meeting_wait(lanes_block_t *b, const lanes_run_t *run,
                                               uint32_t sends)
{
    uint32_t status = LANES_RUNNING;
    while (status == LANES_RUNNING &&
           (b->idle.blocked = lanes_meeting_blocker(b, run, sends)) >= 0) {
        status = lanes_wait(b, run);
    }
    if (b->idle.noted) {
        lanes_note_blocked(b, -1);
    }
    return status;
}

/* Meets the peers, if any of them take part. If all agree, the run is whole from here on. */
static WEFT_DEVICE_CALL uint32_t lanes_meet(lanes_block_t *b, lanes_run_t *run)
{
    uint32_t whole = 0;
    if (!lanes_meeting_begin(b, run, &whole)) {
        return LANES_RUNNING;
    }
    uint32_t status = lanes_meeting_wait(b, run, 1);
    if (status == LANES_RUNNING) {
        if (whole != 0) {
            lanes_meeting_turn(run);
        }
        lanes_greet(b, run, whole);
        status = lanes_meeting_wait(b, run, 0);
    }
    if (status != LANES_RUNNING) {
        return status;
    }
    b->whole = lanes_meeting_agreed(b, run, whole);
    if (b->whole != 0) {
        b->inlined = 0;
        return status;
    }
    if (whole != 0) {
        lanes_meeting_turn(run);
    }
    lanes_meeting_part(b, run);
    return status;
}

/* Instructions
 * ------------------------------------------------------------------------------------- */

static WEFT_DEVICE uint64_t *lanes_finished(const lanes_block_t *b, const lanes_run_t *run)
{
    return run->finished + (uint64_t)b->at.channel * run->program.ncode;
}

static WEFT_DEVICE int lanes_waits_are_done(const lanes_block_t *b, const lanes_run_t *run,
                                            const weft_lanes_move_t *move)
{
    for (uint32_t i = 0; i < move->nafter; i++) {
        const weft_lanes_after_t *after = &run->program.afters[move->after + i];
        const uint32_t at = run->program.lane[after->lane] + after->pc;
        const uint64_t *word = &lanes_finished(b, run)[at];
        if (device_acquire64_near(word) < b->at.passed + b->at.pass + 1) {
            return 0;
        }
    }
    return 1;
}

/* Activates the MOVEs of the instruction at pc. Returns 0 if one has to wait for another lane. */
static WEFT_DEVICE_CALL int lanes_enter(lanes_block_t *b, const lanes_run_t *run)
{
    const weft_lanes_code_t *first = &b->tables.code[b->at.pc];
    uint32_t members = 1;
    if (first->opcode == WEFT_LANES_PAR) {
        members = first->n;
        first++;
    }
    for (uint32_t i = 0; i < members; i++) {
        if (!lanes_waits_are_done(b, run, &b->tables.moves[first[i].n])) {
            b->idle.blocked = -1;
            return 0;
        }
    }
    for (uint32_t i = 0; i < members; i++) {
        lanes_member_t *m = &b->active.member[i];
        m->move = &b->tables.moves[first[i].n];
        m->operands = &b->tables.operands[m->move->operand];
        m->done = 0;
        lanes_next(run, b, m);
    }
    b->active.n = members;
    return 1;
}

/* Progresses all active MOVEs. Returns LANES_COMPLETED when all have finished. */
static WEFT_DEVICE uint32_t lanes_moves(lanes_block_t *b, const lanes_run_t *run)
{
    uint32_t result = LANES_COMPLETED;
    for (uint32_t i = 0; i < b->active.n; i++) {
        lanes_member_t *m = &b->active.member[i];
        while (!m->finished) {
            uint32_t status = lanes_slice(b, run, m);
            if (status == LANES_BLOCKED) {
                result = LANES_BLOCKED;
                break;
            }
            if (status != LANES_COMPLETED || lanes_tick(b, run) == LANES_STOPPED) {
                return status != LANES_COMPLETED ? status : LANES_STOPPED;
            }
        }
    }
    return result;
}

/* Leaves an instruction. A word finishes in the last iteration of its LOOP. Only words that a MOVE
 * waits for are published. */
static WEFT_DEVICE_CALL void lanes_leave(lanes_block_t *b, const lanes_run_t *run)
{
    const weft_lanes_code_t *c = &b->tables.code[b->at.pc];
    uint32_t words = c->opcode == WEFT_LANES_PAR ? c->n + 1 : 1;
    int last = b->at.times == 0 || b->at.iteration + 1 == b->at.times;
    uint64_t *finished = &lanes_finished(b, run)[b->at.first + b->at.pc];
    for (uint32_t i = 0; last && i < words; i++) {
        if (c[i].mate_or_mask != 0) {
            device_release64_near(&finished[i], b->at.passed + b->at.pass + 1);
        }
    }
    b->at.pc += words;
    b->active.n = 0;
}

/* Barriers are identified by their masks, as every lane of a mask reaches equally many. Returns 0
 * until all lanes have arrived. */
static WEFT_DEVICE_CALL int lanes_bar(lanes_block_t *b, const lanes_run_t *run)
{
    const weft_lanes_code_t *c = &b->tables.code[b->at.pc];
    uint32_t nlanes = run->program.nlanes;
    uint64_t *arrived = &run->arrived[((uint64_t)b->at.channel * run->nmasks + c->n) * nlanes];
    uint64_t mine = arrived[b->at.lane];
    if (!b->at_bar) {
        device_release64_near(&arrived[b->at.lane], ++mine);
        b->at_bar = 1;
    }
    for (uint32_t l = 0; l < nlanes; l++) {
        if ((c->mate_or_mask >> l & 1) != 0 && device_acquire64_near(&arrived[l]) < mine) {
            b->idle.blocked = -1;
            return 0;
        }
    }
    b->at_bar = 0;
    lanes_leave(b, run);
    return 1;
}

static WEFT_DEVICE void lanes_control(lanes_block_t *b, const lanes_run_t *run)
{
    const weft_lanes_code_t *c = &b->tables.code[b->at.pc];
    if (c->opcode == WEFT_LANES_LOOP) {
        b->at.iteration = 0;
        b->at.times = c->n;
        b->at.pc++;
    } else if (c->opcode == WEFT_LANES_STOP) {
        b->at.pass += run->program.channels;
        b->at.pc = 0;
    } else if (++b->at.iteration < b->at.times) {
        b->at.pc = (uint32_t)c->mate_or_mask + 1;
    } else {
        b->at.iteration = 0;
        b->at.times = 0;
        b->at.pc++;
    }
}

/* Returns LANES_COMPLETED if the lane can go on at once. */
static WEFT_DEVICE uint32_t lanes_instruction(lanes_block_t *b, const lanes_run_t *run)
{
    uint32_t opcode = b->tables.code[b->at.pc].opcode;
    if (opcode == WEFT_LANES_BAR) {
        return lanes_bar(b, run) ? LANES_COMPLETED : LANES_BLOCKED;
    }
    if (opcode != WEFT_LANES_MOVE && opcode != WEFT_LANES_PAR) {
        lanes_control(b, run);
        return LANES_COMPLETED;
    }
    if (b->active.n == 0 && !lanes_enter(b, run)) {
        return LANES_BLOCKED;
    }
    uint32_t status = lanes_moves(b, run);
    if (status == LANES_COMPLETED) {
        lanes_leave(b, run);
    }
    return status;
}

/* Blocks
 * ------------------------------------------------------------------------------------------- */

/* Waits until no peer reads the buffers of the run, because they may change afterwards. The wait
 * ends: all that the peers need from this rank is in the slices that it has sent. */
static WEFT_DEVICE_CALL uint32_t lanes_drain(lanes_block_t *b, const lanes_run_t *run)
{
    uint32_t status = LANES_RUNNING;
    while (status == LANES_RUNNING && (b->idle.blocked = lanes_unreleased_port(b, run)) >= 0) {
        status = lanes_wait(b, run);
    }
    if (b->idle.noted) {
        lanes_note_blocked(b, -1);
    }
    return status;
}

/* The loop of the leader. Returns how the lane ended. */
static WEFT_DEVICE uint32_t lanes_lead(lanes_block_t *b, lanes_run_t *run)
{
    uint32_t status = b->begin;
    if (b->stepped.done > 0) {
        lanes_stepped_resume(b, run);
    }
    if (status == LANES_RUNNING && run->meeting.meets != 0 && b->stepped.done == 0) {
        status = lanes_meet(b, run);
    }
    while (status == LANES_RUNNING && b->at.pass < run->segmentation.passes) {
        status = lanes_instruction(b, run);
        if (status == LANES_BLOCKED) {
            status = lanes_wait(b, run);
        } else if (status == LANES_COMPLETED) {
            status = lanes_tick(b, run);
        }
    }
    if (status == LANES_RUNNING && b->whole != 0) {
        lanes_meeting_release(b, run);
    }
    status = status == LANES_RUNNING ? lanes_drain(b, run) : status;
    b->go = 0;
    device_barrier();
    return status == LANES_RUNNING ? LANES_COMPLETED : status;
}

/* The loop of the other threads. */
static WEFT_DEVICE void lanes_follow(lanes_block_t *b, const lanes_run_t *run)
{
    for (;;) {
        device_barrier();
        if (!b->go) {
            return;
        }
        lanes_share(b, run, device_works());
    }
}

/* Publishes the end of the lane. Afterwards the host may use everything that the lane used. */
static WEFT_DEVICE_CALL void lanes_report(lanes_block_t *b, const lanes_run_t *run, uint32_t status)
{
    lanes_record_t *record = b->record;
    lanes_note_moved(b);
    if (b->zero_copied != 0) {
        device_note64(&record->zero_copied, record->zero_copied + b->zero_copied);
    }
    if (b->whole != 0) {
        device_note64(&record->whole, record->whole + 1);
    }
    if (status == LANES_COMPLETED) {
        run->passed[b->at.block] = b->at.passed + run->segmentation.passes;
    } else {
        device_note32(run->stop, 1);
        device_note32(&record->failed, 1);
    }
    if (run->number == 0) {
        const uint64_t graph_runs = ++run->graph_runs[b->at.block];
        device_publish_fence();
        device_publish64(&record->graph_runs_ended, graph_runs);
        return;
    }
    if (status == LANES_COMPLETED) {
        device_note64(&record->completed, run->number);
    }
    device_publish_fence();
    device_publish64(&record->ended, run->number);
}

/* Runs the lane of a block; all its threads call this. `b` is memory of the block. */
static WEFT_DEVICE void lanes_run_lane(lanes_block_t *b, lanes_run_t *run, uint32_t block)
{
    uint32_t status = LANES_COMPLETED;
    lanes_open(b, run, block);
    if (run->stepped.nsteps == 0 || !lanes_stepped(b, run)) {
        if (run->stepped.nsteps != 0) {
            lanes_open_lead(b, run);
            device_barrier();
        }
        if (device_thread() == 0) {
            status = lanes_lead(b, run);
        } else {
            lanes_follow(b, run);
        }
    }
    lanes_close(b, run);
    if (device_thread() == 0) {
        lanes_report(b, run, status);
    }
}

/* Launches
 * ----------------------------------------------------------------------------------------- */

/* A barrier of all blocks between two runs, because the next run may use the same ports and buffers
 * in other lanes. Every block arrives, however its run has ended, and together they add
 * LANES_BLOCKS_MAX, a power of two, however many they are: block 0 adds what the others leave.
 * So no block divides, and while no launch executes, any may come next, also one of a graph. */
static WEFT_DEVICE void lanes_barrier_runs(const lanes_launch_t *launch, uint32_t block)
{
    device_barrier();
    if (device_thread() == 0) {
        const uint64_t mine = block == 0 ? LANES_BLOCKS_MAX + 1 - launch->nblocks : 1;
        const uint64_t before = device_add64_near(launch->arrived, mine);
        const uint64_t all = (before | (LANES_BLOCKS_MAX - 1)) + 1;
        for (uint32_t round = 0; device_acquire64_near(launch->arrived) < all; round++) {
            device_pause(round);
        }
    }
    device_barrier();
}

/* Several runs are in the host's memory, of which each block reads a line after the other: their
 * steps, which are most of a run, stay there. */
static WEFT_DEVICE void lanes_fetch(lanes_run_copy_t *to, const lanes_run_copy_t *from,
                                    uint32_t nruns)
{
    const uint32_t all = sizeof to->word / sizeof to->word[0];
    const uint32_t words =
        nruns == 1 ? all : (uint32_t)(offsetof(lanes_run_t, stepped.step) / sizeof to->word[0]);
    if (nruns > 1) {
        device_barrier();
    }
    WEFT_ROLLED
    for (uint32_t i = device_thread(); i < words; i += device_threads()) {
        to->word[i] = from->word[i];
    }
    device_barrier();
}

/* The vectors, which are in the host's memory, unless they are too long. */
static WEFT_DEVICE void lanes_fetch_vectors(lanes_shared_t *shared)
{
    weft_lanes_vectors_t *vectors = &shared->copy.run.vectors.of;
    const uint64_t *from = shared->copy.run.vectors.at;
    const uint64_t words = shared->copy.run.vectors.words;
    if (words == 0 || words > LANES_VECTORS_NEAR) {
        return;
    }
    for (uint32_t i = device_thread(); i < words; i += device_threads()) {
        shared->vectors[i] = from[i];
    }
    if (device_thread() == 0) {
        const uint64_t **const all[] = {&vectors->in_counts, &vectors->in_displs,
                                        &vectors->out_counts, &vectors->out_displs};
        for (uint32_t i = 0; i < 4; i++) {
            *all[i] = *all[i] != NULL ? shared->vectors + (*all[i] - from) : NULL;
        }
    }
    device_barrier();
}

/* Runs a block of a launch. Every block has fetched the last run before that run can begin, so no
 * block reads launch->runs after it has ended. */
static WEFT_DEVICE void lanes_run_launch(lanes_shared_t *shared, const lanes_launch_t *launch,
                                         uint32_t block)
{
    const lanes_run_copy_t *runs = launch->nruns == 1 ? &launch->run : launch->runs;
    for (uint32_t i = 0; i < launch->nruns; i++) {
        lanes_listen(&shared->block, &runs[i].run, block);
        lanes_fetch(&shared->copy, &runs[i], launch->nruns);
        lanes_fetch_vectors(shared);
        if (i > 0) {
            lanes_barrier_runs(launch, block);
        }
        if (block < shared->copy.run.nblocks) {
            lanes_run_lane(&shared->block, &shared->copy.run, block);
        }
    }
}

#endif
