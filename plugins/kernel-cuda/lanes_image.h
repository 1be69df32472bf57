/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs as a device wants them: one block of memory with all arrays, and the few words that host and
 * device both see. Host code without a word of CUDA, so that it serves every device of this
 * interpreter.
 *
 *   1. lanes_image_plan   checks a program and lays it out
 *   2. lanes_image_write  makes the first `fixed_bytes` of the device's memory; the rest starts as zeros
 *   3. lanes_image_bind   gives a run the addresses of both memories
 *   4. lanes_image_start  before each run: the call, the ports, the visible words
 *   5. lanes_image_look   while it runs */
#ifndef KERNEL_CUDA_LANES_IMAGE_H
#define KERNEL_CUDA_LANES_IMAGE_H

#include <stdbool.h>

#include "device/lanes.h"

/* Offsets are in the device's memory, but for `records`, `next` and `abort`. */
typedef struct lanes_image {
    weft_lanes_program_t program; /* numbers of it; the arrays are NULL */
    uint32_t nmasks;              /* distinct masks of BAR */
    size_t lane, code, moves, operands, afters, owner;
    size_t fixed_bytes; /* written once */
    size_t ports;       /* written at each start; the device goes on in them */
    size_t words;       /* passed, finished, arrived, stop: zero at first and after a failure */
    size_t finished, arrived, stop;
    size_t words_bytes;
    size_t members; /* never written by the host */
    size_t device_bytes;
    size_t records, next, abort; /* in the memory that both see */
    size_t visible_bytes;
} lanes_image_t;

/* False: the reason is in `why`. */
bool lanes_image_plan(lanes_image_t *image, const weft_lanes_program_t *program, char *why,
                      size_t bytes);
void lanes_image_write(const lanes_image_t *image, const weft_lanes_program_t *program,
                       uint8_t *fixed);
/* `device` and `visible` are the device's addresses of the two; aligned to 128. */
void lanes_image_bind(const lanes_image_t *image, lanes_run_t *run, uint8_t *device,
                      uint8_t *visible);

/* Whether the call fits the program and its ports; false: the reason is in `why`. */
bool lanes_image_fits(const lanes_image_t *image, const weft_lanes_call_t *call, char *why,
                      size_t bytes);
/* Takes the call but for its buffers, vectors and scratch, which need the device's addresses. */
void lanes_image_call(lanes_run_t *run, const weft_lanes_call_t *call);
/* Fills one port of the array at `ports`; `fifo` is its address for the device. */
void lanes_image_port(lanes_port_t *to, const weft_lanes_port_t *from, uint8_t *fifo);
/* Sets the visible words to the start, at the host's address of them. */
void lanes_image_reset(const lanes_image_t *image, uint8_t *visible,
                       const weft_lanes_port_t *ports);
void lanes_image_abort(const lanes_image_t *image, uint8_t *visible);

/* Where the run is: OK, IN_PROGRESS, ERR_MISMATCH or ERR_ABORTED; only IN_PROGRESS while a lane still
 * works. Fills state->size bytes; writes ports[].next back when it is over, however it ended. */
weft_status_t lanes_image_look(const lanes_image_t *image, uint8_t *visible,
                               weft_lanes_port_t *ports, weft_lanes_state_t *state);

#endif
