/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program in the form that the device interprets: one block of device memory that holds all
 * arrays, and a few words that host and device share. Plain host code without CUDA, so that it
 * serves every device that runs this interpreter. The order of use:
 *
 *   1. lanes_image_plan   checks a program and lays it out
 *   2. lanes_image_write  writes the first `fixed_bytes` of device memory; the rest starts as zeros
 *   3. lanes_image_bind   stores the addresses of both memories in a run
 *   4. lanes_image_reset  sets the shared words to their start values, also after a failure
 *   5. lanes_image_call   before each run
 *   6. lanes_image_poll   while the run executes, and afterwards */
#ifndef KERNEL_CUDA_LANES_IMAGE_H
#define KERNEL_CUDA_LANES_IMAGE_H

#include <stdbool.h>

#include "device/device_interpreter.h"

/* Offsets into the device memory; `records` and `notices` are offsets into the shared words. */
typedef struct lanes_image {
    weft_lanes_program_t program; /* the program without its arrays, which are NULL */
    uint32_t nmasks;              /* number of distinct masks of BAR */
    uint32_t nblocks;             /* channels * lanes */
    size_t lane, code, moves, operands, afters, owner;
    size_t fixed_bytes; /* written once */
    size_t words;       /* passed, graph_runs, ..., stop: zero at first and after a failure */
    size_t graph_runs, finished, arrived, stop;
    size_t words_bytes;
    size_t members; /* the host never writes it */
    size_t device_bytes;
    size_t records, notices;
    size_t visible_bytes;
    uint32_t looks;  /* polls so far; each begins at another lane, to see all blocked ports */
    uint64_t stable; /* WEFT_LANES_STABLE*: flags of all MOVEs that send */
    bool sends_out;  /* some of them send what is in OUT */
    lanes_stepped_t stepped;
} lanes_image_t;

/* Returns the number of ports of all channels. */
static inline uint32_t lanes_image_nports(const weft_lanes_program_t *program)
{
    return program->channels * program->nports;
}

/* Returns false, with the reason in `why`, if the program cannot be run. */
bool lanes_image_plan(lanes_image_t *image, const weft_lanes_program_t *program, char *why,
                      size_t bytes);
void lanes_image_write(const lanes_image_t *image, const weft_lanes_program_t *program,
                       uint8_t *fixed);
/* `device` and `visible` are the device's addresses of the two memories, aligned to 128. */
void lanes_image_bind(const lanes_image_t *image, lanes_run_t *run, uint8_t *device,
                      uint8_t *visible);

/* Checks a call against the program and ports with slots of `slot_bytes`. Returns false, with the
 * reason in `why`, if it does not fit. */
bool lanes_image_fits(const lanes_image_t *image, const weft_lanes_call_t *call,
                      uint64_t slot_bytes, char *why, size_t bytes);

/* Copies the call into the run, except for vectors, scratch, ports and number. */
void lanes_image_call(lanes_run_t *run, const weft_lanes_call_t *call);

/* Writes a port in the device's form, but for what is in memory of the device; `at` is the word of
 * its endpoint. Returns false, with the reason in `why`, on failure. */
bool lanes_image_port(lanes_port_t *to, const weft_lanes_port_t *from, uint64_t *at, char *why,
                      size_t bytes);

/* From here on, `visible` is the host's address of the shared words.
 *
 * lanes_image_reset() makes them those of a program that never failed; numbers of runs stay. No run
 * may execute. lanes_image_abort() tells all runs to stop, lanes_image_seeks() how often the host
 * has set numbers of ends; it has stored these before. */
void lanes_image_reset(const lanes_image_t *image, uint8_t *visible);
void lanes_image_abort(const lanes_image_t *image, uint8_t *visible);
void lanes_image_seeks(const lanes_image_t *image, uint8_t *visible, uint64_t seeks);

/* Return the number of the last run that has ended, and of the last one that has completed. */
uint64_t lanes_image_ended(const lanes_image_t *image, uint8_t *visible);
uint64_t lanes_image_completed(const lanes_image_t *image, uint8_t *visible);

/* Returns whether a run has failed since the last reset. */
bool lanes_image_failed(const lanes_image_t *image, uint8_t *visible);

/* Returns whether a graph launch executes. */
bool lanes_image_in_graph(const lanes_image_t *image, uint8_t *visible);

/* Fills state->size bytes about a run. Returns OK, ERR_MISMATCH, ERR_PROTO or ERR_ABORTED when all
 * its lanes have ended, else IN_PROGRESS. Run 0 is the graph launch that executes; OK then means
 * that nothing has failed so far. */
weft_status_t lanes_image_poll(lanes_image_t *image, uint8_t *visible, uint64_t run,
                               weft_lanes_state_t *state);

#endif
