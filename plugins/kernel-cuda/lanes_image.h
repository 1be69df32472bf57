/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs as a device wants them: one block of memory with all arrays, and the few words that host and
 * device both see. Host code without a word of CUDA, so that it serves every device of this
 * interpreter.
 *
 *   1. lanes_image_plan   checks a program and lays it out
 *   2. lanes_image_write  makes the first `fixed_bytes` of the device's memory; the rest starts as zeros
 *   3. lanes_image_bind   gives a run the addresses of both memories
 *   4. lanes_image_reset  sets the visible words to the start, and after a failure
 *   5. lanes_image_call   before each run
 *   6. lanes_image_look   while it runs, and afterwards */
#ifndef KERNEL_CUDA_LANES_IMAGE_H
#define KERNEL_CUDA_LANES_IMAGE_H

#include <stdbool.h>

#include "device/lanes.h"

#define LANES_BLOCKS_MAX 1024u

/* Offsets are in the device's memory, but for `records` and `abort`. */
typedef struct lanes_image {
    weft_lanes_program_t program; /* numbers of it; the arrays are NULL */
    uint32_t nmasks;              /* distinct masks of BAR */
    uint32_t nblocks;             /* lanes of all channels */
    size_t lane, code, moves, operands, afters, owner;
    size_t fixed_bytes; /* written once */
    size_t words; /* passed, replays, finished, arrived, stop: zero at first, after a failure */
    size_t replays, finished, arrived, stop;
    size_t words_bytes;
    size_t members; /* never written by the host */
    size_t device_bytes;
    size_t records, abort; /* in the memory that both see */
    size_t visible_bytes;
    uint32_t looks; /* each begins at another lane: no port that one waits for stays unseen */
} lanes_image_t;

/* Of all channels. */
static inline uint32_t lanes_nports(const weft_lanes_program_t *program)
{
    return program->channels * program->nports;
}

/* False: the reason is in `why`. */
bool lanes_image_plan(lanes_image_t *image, const weft_lanes_program_t *program, char *why,
                      size_t bytes);
void lanes_image_write(const lanes_image_t *image, const weft_lanes_program_t *program,
                       uint8_t *fixed);
/* `device` and `visible` are the device's addresses of the two; aligned to 128. */
void lanes_image_bind(const lanes_image_t *image, lanes_run_t *run, uint8_t *device,
                      uint8_t *visible);

/* Whether the call fits the program and ports of slots of `slot_bytes`; false: the reason is in `why`. */
bool lanes_image_fits(const lanes_image_t *image, const weft_lanes_call_t *call,
                      uint64_t slot_bytes, char *why, size_t bytes);
/* Takes the call but for vectors, scratch, ports and number. */
void lanes_image_call(lanes_run_t *run, const weft_lanes_call_t *call);
/* A port as the device has it; `at` is the word of its end. False: the reason is in `why`. */
bool lanes_image_port(lanes_port_t *to, const weft_lanes_port_t *from, uint64_t *at, char *why,
                      size_t bytes);

/* The visible words, at the host's address of them. Only while no run is under way: makes them those of
 * a program that never failed; numbers of runs stay. */
void lanes_image_reset(const lanes_image_t *image, uint8_t *visible);
void lanes_image_abort(const lanes_image_t *image, uint8_t *visible);

/* The last run that has ended, and the last one that has ended well. */
uint64_t lanes_image_ended(const lanes_image_t *image, uint8_t *visible);
uint64_t lanes_image_over(const lanes_image_t *image, uint8_t *visible);
/* Whether a run has failed since the words were reset. */
bool lanes_image_failed(const lanes_image_t *image, uint8_t *visible);
/* Whether a replay is under way. */
bool lanes_image_replays(const lanes_image_t *image, uint8_t *visible);

/* Where a run is: OK, IN_PROGRESS, ERR_MISMATCH or ERR_ABORTED; only IN_PROGRESS while a lane still
 * works. Run 0: the replay under way, and whether all went well so far. Fills state->size bytes. */
weft_status_t lanes_image_look(lanes_image_t *image, uint8_t *visible, uint64_t run,
                               weft_lanes_state_t *state);

#endif
