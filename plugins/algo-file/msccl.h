/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program in the XML format of msccl-tools and RCCL, in memory. Words of the format: a gpu is a
 * rank, a tb (thread block) is a sequential stream with at most one peer to send to and one to
 * receive from, a step is one instruction of it. Offsets and counts are in chunks.
 *
 * msccl_read() works in four parts: the XML (msccl_parse.c), the checks of each gpu
 * (msccl_check.c), a run over all gpus (msccl_run.c, msccl_result.c, msccl_share.c), and the
 * numbers of instructions (msccl_emit.c). After that the program does not change, and any thread
 * can write the plan of any rank. */
#ifndef ALGO_FILE_MSCCL_H
#define ALGO_FILE_MSCCL_H

#include <stdbool.h>

#include <weft/plugin/algo.h>

#define MSCCL_NONE UINT32_MAX
#define MSCCL_RANKS_MAX 1024u
#define MSCCL_CHUNKS_MAX (1u << 20) /* of one buffer */
#define MSCCL_CELLS_MAX (1u << 23)  /* of all buffers of all gpus */
#define MSCCL_MARKS_MAX (1u << 23)  /* chunks that all steps move */
#define MSCCL_STEPS_MAX (1u << 20)  /* of the file */

typedef enum msccl_type {
    MSCCL_SEND,
    MSCCL_RECEIVE,
    MSCCL_RECEIVE_COPY_SEND,
    MSCCL_RECEIVE_REDUCE_COPY,
    MSCCL_RECEIVE_REDUCE_SEND,
    MSCCL_RECEIVE_REDUCE_COPY_SEND,
    MSCCL_COPY,
    MSCCL_REDUCE,
    MSCCL_NOP,
    MSCCL_TYPES
} msccl_type_t;

/* The actions of each type of step. */
typedef struct msccl_act {
    const char *name;
    bool sends, receives;
    bool reads;       /* the source, here */
    bool accumulates; /* reads the destination too */
    bool writes;      /* the destination, here */
} msccl_act_t;

extern const msccl_act_t msccl_acts[MSCCL_TYPES];

typedef enum msccl_buffer { MSCCL_IN, MSCCL_OUT, MSCCL_TMP } msccl_buffer_t;

typedef struct msccl_step {
    uint8_t type, src_buf, dst_buf;
    int32_t src, dst, cnt; /* offsets; −1 where the step has none */
    int32_t dep_tb, dep_step;
    uint32_t line;
    uint32_t mark; /* of its first chunk */
    uint32_t pc;   /* of its last instruction */
} msccl_step_t;

typedef struct msccl_tb {
    uint32_t gpu, line;
    uint32_t first, nsteps; /* steps */
    int32_t send, recv;     /* gpus, or −1 */
    uint32_t channel;
    uint32_t to, from;          /* tbs at the other ends, or NONE */
    uint32_t nsends, nreceives; /* chunks */
    uint32_t dummy;             /* TMP chunk for instructions that only wait, or NONE */
} msccl_tb_t;

typedef struct msccl_gpu {
    uint32_t line;
    uint32_t first, ntbs;
    uint32_t chunks[3]; /* as the file says, by msccl_buffer_t */
    uint32_t cells;     /* its first cell */
    uint32_t nshadows;  /* chunks of the input buffer that are written and are no output */
    uint32_t ndummies;
    uint64_t meet; /* lanes that wait for each other at the end of a pass */
    bool safe;     /* lanes need not meet */
    bool copies;   /* a part of the input is a part of the output and must be copied out of place */
} msccl_gpu_t;

/* One chunk of memory of one gpu. */
typedef struct msccl_cell {
    uint32_t set;    /* of ranks whose contributions it holds; 0: nothing was written */
    uint32_t name;   /* chunk of the collective's larger buffer that it is a part of */
    uint32_t shadow; /* 1 + number of its shadow; 0: none */
    bool written;
} msccl_cell_t;

/* The effect of a step on one chunk, found by the run. */
typedef struct msccl_mark {
    uint32_t name;
    bool src_written, dst_written; /* the operand read was written before in this pass */
    bool final;
} msccl_mark_t;

typedef struct msccl_program {
    const weft_host_t *host;
    const char *path;
    weft_coll_t coll;
    uint32_t n, k, root;
    uint32_t loop_chunks, nchannels;
    bool in_place, out_of_place; /* as the file says */
    bool alias;                  /* input and output are one memory */
    uint32_t in_size, out_size;  /* chunks */
    msccl_gpu_t *gpus;
    msccl_tb_t *tbs;
    msccl_step_t *steps;
    msccl_mark_t *marks;
    msccl_cell_t *cells;
    uint32_t ngpus, ntbs, nsteps, nmarks, ncells;
} msccl_program_t;

struct msccl_sets;

/* Errors: "path:line: text". */
weft_status_t msccl_fail(const msccl_program_t *program, uint32_t line, const char *format, ...)
    WEFT_PRINTF(3, 4);
weft_status_t msccl_fail_step(const msccl_program_t *program, uint32_t tb, uint32_t step,
                              const char *format, ...) WEFT_PRINTF(4, 5);
const char *msccl_buffer_name(uint32_t buffer);
/* The member of a list ended by NULL that resembles `word` most. */
const char *msccl_nearest(const char *word, const char *const *list);

/* Steps that must be over before step `at` of `tb` (indices within gpu and tb) may begin: steps[tb]
 * is 1 + the number of a step that is no nop, or 0. Returns how many are not 0. Adds the steps that
 * it looked at to *walked_p. */
#define MSCCL_LANES_MAX WEFT_LANE_MAX

/* The instructions of one step: `move` for each, in order; returns their number. */
typedef struct msccl_writer {
    weft_plan_builder_t *builder; /* NULL: only count */
    uint32_t lane, send_port, receive_port;
} msccl_writer_t;

#endif
