/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The schedule language: what an algorithm plugin writes and the core proves and runs.
 *
 * A plan says, for one rank, what each of its lanes does. A lane is one sequential stream of
 * instructions. A port is a bounded first-in first-out queue of slots between one lane here and one
 * lane of a peer, in one direction, on a numbered channel: the send port (peer b, channel c) of rank
 * a and the receive port (peer a, channel c) of rank b are the two ends of one queue.
 *
 *   MOVE dst… ← combine(src…)   wait until every source port has a slice and every destination port
 *                               has a free slot, then combine and store; slice by slice
 *   PAR n                       the next n MOVEs progress together (an exchange needs this)
 *   LOOP n … END                repeat n times; operand chunks advance by their stride each time
 *   BAR mask                    meet the other lanes of the mask here
 *   STOP                        end of the lane (the builder adds it)
 *
 * Chunks. The core cuts the message in passes and runs the plan once per pass. A buffer consists of
 * `blocks` blocks of `count` elements (count = the call's argument):
 *
 *   collective       IN blocks            OUT blocks              in place
 *   all_reduce       1                    1                       IN = OUT
 *   reduce           1                    1 (root only)           IN = OUT
 *   broadcast        1 (root only)        1                       IN = OUT
 *   reduce_scatter   nranks               1 (the rank's block)    OUT = block `rank` of IN
 *   all_gather       1                    nranks                  IN = block `rank` of OUT
 *   barrier          as all_reduce with count 0
 *
 * In each pass every block contributes a window, cut in `k` chunks (k is the builder's choice,
 * grid()). Chunk number b·k + i is piece i of block b. Pieces i of all blocks have the same length,
 * which may be 0 near the end of the message; a MOVE of an empty piece still passes (empty) slices.
 * TMP has as many full-size chunks as asked for. The pieces that meet in a MOVE, and at the two ends
 * of a port, must have the same i (`like` says it where only TMP and ports meet).
 *
 * Reductions. Sources are folded from the left in the order given. Reads of IN are pre-multiplied
 * where the operator asks for it. The MOVE that completes a reduction carries WEFT_MOVE_FINAL (AVG
 * divides there): every element of OUT must have passed exactly one FINAL move.
 *
 * Source of the idea: docs/architecture.md. */
#ifndef WEFT_PLUGIN_PLAN_H
#define WEFT_PLUGIN_PLAN_H

#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_MOVE_MAX 4   /* sources and destinations of one MOVE */
#define WEFT_AFTER_MAX 15 /* waits of one MOVE */
#define WEFT_PAR_MAX 64   /* members of one PAR */
#define WEFT_LANE_MAX 64  /* lanes of one rank */

#define WEFT_MOVE_FINAL 1u /* this MOVE completes the reduction */

/* Where data comes from or goes to. */
typedef enum weft_operand_kind {
    WEFT_OPERAND_NONE = 0,
    WEFT_OPERAND_IN = 1,  /* the send buffer, read only */
    WEFT_OPERAND_OUT = 2, /* the receive buffer */
    WEFT_OPERAND_TMP = 3, /* scratch of this rank, garbage at the start of every pass */
    WEFT_OPERAND_PORT = 4 /* next slice of a port */
} weft_operand_kind_t;

typedef struct weft_operand {
    uint32_t kind;  /* weft_operand_kind_t */
    uint32_t index; /* chunk number, or port number from weft_plan_builder_t.port */
    int32_t stride; /* added to the chunk at each iteration of the enclosing LOOP, modulo the number
                       of chunks of that buffer; 0 for ports */
} weft_operand_t;

/* A wait: until instruction `pc` of `lane` (same rank, same pass) is finished. If that instruction is
 * inside a LOOP: until its last iteration is. */
typedef struct weft_after {
    uint32_t lane;
    uint32_t pc;
} weft_after_t;

typedef struct weft_move {
    weft_operand_t dst[WEFT_MOVE_MAX];
    weft_operand_t src[WEFT_MOVE_MAX];
    uint32_t ndst, nsrc; /* 1 … WEFT_MOVE_MAX */
    uint32_t cnt;   /* consecutive chunks moved, 0 means 1; chunk numbers wrap as with strides */
    uint32_t flags; /* WEFT_MOVE_* */
    weft_operand_t like; /* kind IN or OUT with the chunk whose length this MOVE has; needed only if
                            no operand is IN or OUT */
    uint32_t nafter;
    weft_after_t after[WEFT_AFTER_MAX];
} weft_move_t;

/* The builder. Valid during emit(); a mistake is remembered and reported when emit() returns, so an
 * emitter need not check each call. All: blocks no; thread: the one that runs emit(). */
typedef struct weft_plan_builder weft_plan_builder_t;
struct weft_plan_builder {
    size_t size;
    void *core; /* the core's own */

    /* What: sets k chunks per block and the number of TMP chunks; call it first, once. */
    void (*grid)(weft_plan_builder_t *b, uint32_t k, uint32_t tmp_chunks);

    /* What: adds a lane and returns its number, 0, 1, …. The same lane number on all ranks is not
     * required to mean the same. */
    uint32_t (*lane)(weft_plan_builder_t *b);

    /* What: declares a port of `lane`; `sends` 1 = this rank sends. Returns the port number for
     * operands. (peer, channel, direction) is unique per rank. */
    uint32_t (*port)(weft_plan_builder_t *b, uint32_t lane, uint32_t peer, uint32_t channel,
                     uint32_t sends);

    /* What: appends one instruction. Each returns its pc, for weft_after_t. */
    uint32_t (*move)(weft_plan_builder_t *b, uint32_t lane, const weft_move_t *move);
    uint32_t (*par)(weft_plan_builder_t *b, uint32_t lane, uint32_t members);
    uint32_t (*loop)(weft_plan_builder_t *b, uint32_t lane, uint32_t times); /* not nested */
    uint32_t (*end)(weft_plan_builder_t *b, uint32_t lane);
    uint32_t (*bar)(weft_plan_builder_t *b, uint32_t lane, uint64_t lane_mask);
};

/* Operands in short form. */
static inline weft_operand_t weft_in(uint32_t chunk, int32_t stride)
{
    weft_operand_t o = {WEFT_OPERAND_IN, chunk, stride};
    return o;
}
static inline weft_operand_t weft_out(uint32_t chunk, int32_t stride)
{
    weft_operand_t o = {WEFT_OPERAND_OUT, chunk, stride};
    return o;
}
static inline weft_operand_t weft_tmp(uint32_t chunk, int32_t stride)
{
    weft_operand_t o = {WEFT_OPERAND_TMP, chunk, stride};
    return o;
}
static inline weft_operand_t weft_port(uint32_t port)
{
    weft_operand_t o = {WEFT_OPERAND_PORT, port, 0};
    return o;
}

#ifdef __cplusplus
}
#endif
#endif
