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
 *   CALL                        another algorithm's plan for a group of ranks, written out in place by
 *                               the builder's sub() and call()
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
 *   all_to_all       nranks               nranks                  IN = OUT
 *   gather           1                    nranks (root only)      IN = block `root` of OUT on the root
 *   scatter          nranks (root only)   1                       OUT = block `root` of IN on the root
 *
 * In each pass every block contributes a window, cut in `k` chunks (k is the builder's choice,
 * grid()). Chunk number b·k + i is piece i of block b. Pieces i of all blocks have the same length,
 * which may be 0 near the end of the message; a MOVE of an empty piece still passes (empty) slices.
 * TMP has as many full-size chunks as asked for. The pieces that meet in a MOVE, and at the two ends
 * of a port, must have the same i (`like` says it where only TMP and ports meet).
 *
 * Vectors. A v-form binds a count and a displacement to every block and runs the same plan. What
 * a plan must keep to for that is found by the verifier, not declared: a plan serves all_gather_v and
 * reduce_scatter_v if the IN, OUT and `like` operands of each MOVE and the two ends of each port
 * always speak of the same block of the job (block b of OUT of an all-gather is IN of rank b; block b
 * of IN of a reduce-scatter is OUT of rank b); it serves all_to_all_v, gather_v and scatter_v if each
 * MOVE goes from IN to a port, from a port to OUT or from IN to OUT, so that only the two ranks that
 * know a block's length handle it.
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

/* Another algorithm's plan for some of the ranks, as a part of this one (CALL). The core writes its
 * instructions into this plan; the whole is proved as one. */
typedef struct weft_plan_sub {
    size_t size;
    const char *algo;      /* name of a loaded algorithm plugin */
    weft_coll_t coll;      /* what the group does */
    const uint32_t *group; /* ranks of this plan in the order of the sub-plan */
    uint32_t n;            /* of them, at least 2 */
    uint32_t root;         /* place of the root in `group`; rooted collectives, else 0 */
    uint32_t partial;      /* 1: more is combined afterwards, so that no MOVE of it is FINAL */
} weft_plan_sub_t;

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

    /* What: has the algorithm sub->algo write its plan for the group, to be placed by call(). Legal
     * before grid(), which may need the answers: *k_p is its number of chunks per block, *tmp_p its
     * number of TMP chunks; both equal on all ranks of the group. Returns the number of the sub-plan.
     * A rank outside of the group may ask too, for the two numbers only. The sub-plan sees the group
     * as a job of its own, with the hosts of its ranks; parameters have their defaults. */
    uint32_t (*sub)(weft_plan_builder_t *b, const weft_plan_sub_t *sub, uint32_t *k_p,
                    uint32_t *tmp_p);

    /* What: appends the sub-plan to `lane`. It begins when all that stands before it in the lane is
     * finished, and what follows in the lane begins when this rank is done with it. `in` and `out` are
     * IN, OUT or TMP operands: the chunk of this plan that is chunk 0 of the sub-plan's IN and OUT; the
     * following chunks follow. At least one of the two is not TMP: it says how long the pieces are.
     * `tmp` is the TMP chunk that is its TMP chunk 0. Its ports use channels from `channel` on. Lanes
     * beyond its first become new lanes. Outside of LOOP and PAR only. */
    void (*call)(weft_plan_builder_t *b, uint32_t lane, uint32_t sub, weft_operand_t in,
                 weft_operand_t out, uint32_t tmp, uint32_t channel);
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
