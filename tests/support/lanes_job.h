/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An all-reduce by the interpreter of lanes: ranks of one process, ports as FIFOs in memory, no
 * engine. What cannot be made fails the test. */
#ifndef WEFT_TESTS_LANES_JOB_H
#define WEFT_TESTS_LANES_JOB_H

#include "core/exec/interpreter.h"

enum {
    LANES_SLOTS = 4,
    LANES_SLOT_BYTES = 256,
    LANES_RANKS_MAX = 8,
    LANES_CHANNELS_MAX = 3,
    LANES_PORTS_MAX = 16
};

/* One rank: its plan and program, its run, and the buffers. */
typedef struct lanes_rank {
    weft_plan_t *plan;
    weft_program_t program;
    weft_workspace_t workspace;
    weft_interpreter_t run;
    weft_mapped_port_t ports[LANES_CHANNELS_MAX * LANES_PORTS_MAX];
    weft_windows_t windows;
    int32_t *in, *out;
    int32_t *result; /* what was in `out` when the run was over */
} lanes_rank_t;

/* An all-reduce of int32. */
typedef struct lanes_job {
    uint32_t nranks;
    uint64_t count;
    lanes_rank_t rank[LANES_RANKS_MAX];
    void *fifo[LANES_RANKS_MAX][LANES_RANKS_MAX][LANES_CHANNELS_MAX * 4];
} lanes_job_t;

typedef weft_status_t (*lanes_emit_t)(weft_algo_t *, const weft_algo_call_t *,
                                      const weft_algo_topo_t *, weft_plan_builder_t *);

/* `slices` a chunk, `channels` copies of the plan that `emit` makes. */
void lanes_job_init(lanes_job_t *job, lanes_emit_t emit, uint32_t nranks, uint64_t count,
                    uint32_t slices, uint32_t channels);
void lanes_job_fini(lanes_job_t *job);
/* All ranks show each other their buffers: window 3 is IN, window 0 is OUT. */
void lanes_job_show_windows(lanes_job_t *job);

/* Begins a run of one rank, with its buffers. */
void lanes_job_start(lanes_rank_t *r, uint32_t sequence);
/* Steps the ranks in turn until all are done. Fails the test when nothing moves any more. */
void lanes_job_run(lanes_job_t *job, uint32_t sequence);
/* Element e of what a rank gives. */
int32_t lanes_job_input(uint32_t rank, uint64_t e);
/* What an application does when its call is over: it uses both buffers again. */
void lanes_job_use_again(const lanes_job_t *job, lanes_rank_t *r);
bool lanes_job_is_right(const lanes_job_t *job);
/* Messages by reference. */
uint64_t lanes_job_references(const lanes_job_t *job);

/* Ring with loops: n chunks, one lane. */
weft_status_t lanes_emit_ring(weft_algo_t *algo, const weft_algo_call_t *call,
                              const weft_algo_topo_t *view, weft_plan_builder_t *b);

#endif
