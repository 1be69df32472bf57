/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plan language. An algorithm plugin writes plans; the core verifies and runs them.
 *
 * A plan says, for one rank, what each of its lanes does. A lane is a sequential stream of
 * instructions. A port is one end of a bounded first-in first-out queue of slots. The queue
 * connects a lane of this rank with a lane of a peer, in one direction, on a numbered channel: the
 * send port (peer b, channel c) of rank a and the receive port (peer a, channel c) of rank b are
 * the two ends of one queue.
 *
 *   MOVE dst... <- combine(src...)
 *                     waits until every source port has a slice and every destination port has a
 *                     free slot, then combines and stores; slice by slice
 *   PAR n             the next n MOVEs progress together; an exchange needs this. They begin when
 *                     the waits of all of them are over, and have completed together
 *   LOOP n ... END    repeats n times; operand chunks advance by their stride each time. It holds
 *                     one of the others at least
 *   BAR mask          waits for the other lanes of the mask
 *   STOP              ends the lane; the builder adds it
 *   CALL              another algorithm's plan for a group of ranks; the builder's sub() and call()
 *                     write its instructions into this plan
 *
 * Chunks. The core divides the message into passes and runs the plan once per pass. A buffer
 * consists of blocks of `count` elements each, where `count` is the argument of the call:
 *
 *   collective       IN blocks            OUT blocks              in place
 *   all_reduce       1                    1                       IN = OUT
 *   reduce           1                    1 (root only)           IN = OUT
 *   broadcast        1 (root only)        1                       IN = OUT
 *   reduce_scatter   nranks               1 (the rank's block)    OUT = block `rank` of IN
 *   all_gather       1                    nranks                  IN = block `rank` of OUT
 *   all_to_all       nranks               nranks                  IN = OUT
 *   gather           1                    nranks (root only)      IN = block `root` of OUT (root)
 *   scatter          nranks (root only)   1                       OUT = block `root` of IN (root)
 *
 * A pass handles one piece of every block and divides it into k chunks; the builder's grid() sets
 * k. Chunk number b*k + i is chunk i of block b. Chunks i of all blocks have the same length,
 * which may be 0 near the end of the message. A MOVE of an empty chunk still passes empty slices.
 * TMP has as many full-size chunks as grid() asks for. The chunks that meet in a MOVE, and at the
 * two ends of a port, must have the same i. If a MOVE has only TMP and port operands,
 * weft_move_t.like gives its i.
 *
 * Packed MOVEs. A MOVE of `cnt` chunks sends one message for each slice of each chunk. With
 * WEFT_MOVE_PACKED it sends one message for each slice of all its chunks together: a slot holds
 * the same slice of chunk 0, 1 ... cnt-1, one behind the other. The chunks need not be neighbours:
 * chunk j of an operand is its number plus j strides, and in a LOOP each iteration goes on where
 * the one before has ended. So a LOOP of n MOVEs of one chunk and one packed MOVE of n chunks with
 * the same operands do the same. Both ends of a port must pack alike. Since a slot holds cnt
 * slices, slices of all chunks of the plan are shorter in turn. A plan with a packed MOVE serves no
 * vector collective and is no part of another plan, and devices do not run it.
 *
 * Vector collectives. A vector collective gives every block its own count and displacement and
 * runs the same plan. A plan does not declare whether it can serve vector collectives; the
 * verifier finds out. A plan serves all_gather_v and reduce_scatter_v if the IN, OUT and `like`
 * operands of each MOVE and the two ends of each port always refer to the same block of the job.
 * (Block b of OUT of an all-gather is IN of rank b; block b of IN of a reduce-scatter is OUT of
 * rank b.) A plan serves all_to_all_v, gather_v and scatter_v if each MOVE goes from IN to a port,
 * from a port to OUT, or from IN to OUT, so that a block is handled only by the two ranks that
 * know its length. Messages of empty blocks are then left out, so no order between two MOVEs that
 * use a chunk may depend on messages. A MOVE from a port to ports may pass a block on; the rank
 * learns the length from the message. That needs k = 1, MOVEs of one chunk outside of LOOPs, and on
 * such a rank neither waits nor BARs. Its `like` is then of no account.
 *
 * Reductions. Sources are folded from the left in the order given. Reads of IN are pre-multiplied
 * if the operator asks for it. The MOVE that completes a reduction carries WEFT_MOVE_FINAL; AVG
 * divides there. Every element of OUT must pass exactly one FINAL move.
 *
 * docs/plans.md explains the language with examples. */
#ifndef WEFT_PLUGIN_PLAN_H
#define WEFT_PLUGIN_PLAN_H

#include <stddef.h>

#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_MOVE_MAX 4   /* most sources and most destinations of one MOVE */
#define WEFT_AFTER_MAX 15 /* most waits of one MOVE */
#define WEFT_PAR_MAX 64   /* most members of one PAR */
#define WEFT_LANE_MAX 64  /* most lanes of one rank */

#define WEFT_PACK_MAX 256u /* most chunks of a packed MOVE */

/* Flags of a MOVE. */
#define WEFT_MOVE_FINAL 1u  /* it completes the reduction */
#define WEFT_MOVE_PACKED 2u /* since ABI 1.6: its chunks share messages; see above */

/* Source or destination of data. */
typedef enum weft_operand_kind {
    WEFT_OPERAND_NONE = 0,
    WEFT_OPERAND_IN = 1,  /* the send buffer, read only */
    WEFT_OPERAND_OUT = 2, /* the receive buffer */
    WEFT_OPERAND_TMP = 3, /* scratch memory of the rank; undefined at the start of every pass */
    WEFT_OPERAND_PORT = 4 /* the next slice of a port */
} weft_operand_kind_t;

typedef struct weft_operand {
    /* weft_operand_kind_t */
    uint32_t kind;
    /* Chunk number, or port number returned by weft_plan_builder_t.port(). */
    uint32_t index;
    /* Added to the chunk number at each iteration of the enclosing LOOP, modulo the number of
     * chunks of the buffer; in a packed MOVE from chunk to chunk. There it is a multiple of k,
     * except in TMP, since all chunks of a message have the same length. 0 for ports. */
    int32_t stride;
} weft_operand_t;

/* A wait until instruction `pc` of `lane` has completed, in the same rank and the same pass. For
 * an instruction inside a LOOP: until its last iteration has completed. */
typedef struct weft_after {
    uint32_t lane; /* number of the lane */
    uint32_t pc;   /* number of the instruction in that lane */
} weft_after_t;

typedef struct weft_move {
    weft_operand_t dst[WEFT_MOVE_MAX];
    weft_operand_t src[WEFT_MOVE_MAX];
    /* 1 to WEFT_MOVE_MAX. */
    uint32_t ndst, nsrc;
    /* Chunks to move; 0 means 1. They are consecutive, or a stride apart if the MOVE is packed.
     * Chunk numbers wrap as with strides. Packed: at most WEFT_PACK_MAX. */
    uint32_t cnt;
    /* WEFT_MOVE_*. */
    uint32_t flags;
    /* IN or OUT and a chunk that has the length of this MOVE. Needed only if no other operand is
     * IN or OUT. */
    weft_operand_t like;
    /* Number of entries in `after`. */
    uint32_t nafter;
    /* Waits before the MOVE starts. */
    weft_after_t after[WEFT_AFTER_MAX];
} weft_move_t;

/* A sub-plan (CALL): another algorithm's plan for some of the ranks, as a part of this plan. The
 * core writes its instructions into this plan and verifies the whole as one. */
typedef struct weft_plan_sub {
    size_t size;
    const char *algo;      /* name of a loaded algorithm plugin */
    weft_coll_t coll;      /* collective that the group runs */
    const uint32_t *group; /* ranks of this plan, in the order of the sub-plan */
    uint32_t n;            /* number of ranks in the group, at least 2 */
    uint32_t root;         /* index of the root in `group` if the collective is rooted; else 0 */
    uint32_t partial;      /* 1: more is combined later, so no MOVE of the sub-plan is FINAL */
} weft_plan_sub_t;

/* The builder. It is valid during emit(). A mistake is recorded and reported when emit() returns,
 * so an emitter need not check each call.
 * Blocking: no. Thread: the one that runs emit(). */
typedef struct weft_plan_builder weft_plan_builder_t;
struct weft_plan_builder {
    size_t size;
    void *core; /* the core's own */

    /* Sets the number of chunks per block, k, and the number of TMP chunks. Call it once, before
     * the functions below except sub(). */
    void (*grid)(weft_plan_builder_t *b, uint32_t k, uint32_t tmp_chunks);

    /* Adds a lane and returns its number, counted from 0. Lanes with the same number on different
     * ranks are unrelated. */
    uint32_t (*lane)(weft_plan_builder_t *b);

    /* Declares a port of `lane` and returns its number for operands. `sends` is 1 if this rank
     * sends and 0 if it receives. (peer, channel, direction) must be unique in the rank. */
    uint32_t (*port)(weft_plan_builder_t *b, uint32_t lane, uint32_t peer, uint32_t channel,
                     uint32_t sends);

    /* Append an instruction to `lane` and return its pc, for weft_after_t. A LOOP must not contain
     * another LOOP. */
    uint32_t (*move)(weft_plan_builder_t *b, uint32_t lane, const weft_move_t *move);
    uint32_t (*par)(weft_plan_builder_t *b, uint32_t lane, uint32_t members);
    uint32_t (*loop)(weft_plan_builder_t *b, uint32_t lane, uint32_t times);
    uint32_t (*end)(weft_plan_builder_t *b, uint32_t lane);
    uint32_t (*bar)(weft_plan_builder_t *b, uint32_t lane, uint64_t lane_mask);

    /* Asks the algorithm sub->algo for the group's plan and returns the number of the sub-plan,
     * for call(). It may be called before grid(), which may need the answers: *k_p is the number
     * of chunks per block and *tmp_p the number of TMP chunks of the sub-plan. Both are equal on
     * all ranks of the group. A rank outside of the group may call sub() only for these two
     * numbers. The algorithm sees the group as a job of its own, with the hosts of its ranks. Its
     * parameters have their defaults. */
    uint32_t (*sub)(weft_plan_builder_t *b, const weft_plan_sub_t *sub, uint32_t *k_p,
                    uint32_t *tmp_p);

    /* Appends the sub-plan `sub` to `lane`. It starts when everything before it in the lane has
     * completed; what follows in the lane starts when this rank has completed it. `in` and `out`
     * are IN, OUT or TMP operands: the chunks of this plan that are chunk 0 of the sub-plan's IN
     * and OUT. Further chunks follow in order. At least one of the two is not TMP; it sets the
     * length of the chunks. `tmp` is the TMP chunk that is TMP chunk 0 of the sub-plan. The ports
     * of the sub-plan use channels from `channel` on. Its lanes beyond the first become new lanes.
     * call() is not legal inside LOOP or PAR. */
    void (*call)(weft_plan_builder_t *b, uint32_t lane, uint32_t sub, weft_operand_t in,
                 weft_operand_t out, uint32_t tmp, uint32_t channel);

    /* Since ABI 1.4: see weft_plan_port_along(). */
    void (*along)(weft_plan_builder_t *b, uint32_t port, uint32_t way);
};

/* A way of the topology that a port is a hop of: a ring, as it stands or backwards, or a chain, by
 * its number in weft_algo_topo_t. 0 is no way. */
#define WEFT_PLAN_WAY_ORDERS 31u       /* rings, and chains, that ways can name */
#define WEFT_PLAN_WAY_CHAIN 0x20u      /* a chain; else a ring */
#define WEFT_PLAN_WAY_BACK 0x40u       /* of a ring: this port sends or receives against it */
#define WEFT_PLAN_WAY_ORDER_MASK 0x1fu /* 1 + number */

/* Says that a port is a hop of a way. Both ends of a connection say the same. A connection between
 * hosts then uses the NICs with which the ring enters and leaves them, where a transport has these
 * as devices of its own; the plan is the same with and without. Ways that cannot be named, and
 * builders of older cores, are passed over. */
static inline void weft_plan_port_along(weft_plan_builder_t *b, uint32_t port, uint32_t number,
                                        uint32_t flags)
{
    if (b->size >= offsetof(weft_plan_builder_t, along) + sizeof b->along &&
        number < WEFT_PLAN_WAY_ORDERS) {
        b->along(b, port, (number + 1) | flags);
    }
}

/* Return an operand. weft_in(), weft_out() and weft_tmp() take a chunk number and a stride,
 * weft_port() takes a port number. */
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
