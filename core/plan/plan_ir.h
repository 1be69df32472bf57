/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plan of one rank in memory. The builder writes it, the verifier proves it, the executor runs
 * it. api/weft/plugin/plan.h describes the language. */
#ifndef WEFT_PLAN_IR_H
#define WEFT_PLAN_IR_H

#include <stdio.h>

#include <weft/plugin/algo.h>

#include "core/base/coll.h"

typedef enum weft_opcode {
    WEFT_CODE_MOVE = 0, /* moves[n] */
    WEFT_CODE_PAR = 1,  /* the next n instructions, all MOVE */
    WEFT_CODE_LOOP = 2, /* n times; `mate` is the pc of END */
    WEFT_CODE_END = 3,  /* `mate` is the pc of LOOP */
    WEFT_CODE_BAR = 4,  /* mask */
    WEFT_CODE_STOP = 5
} weft_opcode_t;

typedef struct weft_code {
    uint32_t opcode; /* weft_opcode_t */
    uint32_t n;
    union {
        uint32_t mate; /* LOOP, END */
        uint64_t mask; /* BAR */
    };
} weft_code_t;

/* weft_operand_t in 8 bytes. */
typedef struct weft_plan_operand {
    uint32_t kind : 3; /* weft_operand_kind_t */
    uint32_t index : 29;
    int32_t stride;
} weft_plan_operand_t;

#define WEFT_PLAN_INDEX_MAX ((UINT32_C(1) << 29) - 1)

/* A weft_move_t in compact form: most have two operands and no waits, and an all-to-all has
 * thousands. */
typedef struct weft_plan_move {
    uint32_t operand; /* first of its operands: destinations, sources and, with LIKE, the `like` */
    uint32_t after;   /* first of its waits */
    uint32_t cnt;     /* at least 1 */
    uint8_t ndst, nsrc, nafter;
    uint8_t flags; /* WEFT_MOVE_*, WEFT_PLAN_LIKE */
} weft_plan_move_t;

#define WEFT_PLAN_LIKE 0x80u

typedef struct weft_plan_lane {
    weft_code_t *code; /* ends with STOP */
    uint32_t ncode;
} weft_plan_lane_t;

typedef struct weft_plan_port {
    uint32_t peer;
    uint16_t channel;
    uint8_t lane;
    uint8_t sends; /* 1: this rank sends */
    uint8_t way;   /* of the topology that it is a hop of: WEFT_PLAN_WAY_*; 0: of none */
} weft_plan_port_t;

typedef struct weft_plan {
    weft_coll_t coll;
    uint32_t nranks, rank, root;
    uint32_t k; /* chunks per block */
    uint32_t tmp_chunks;
    uint32_t nlanes, nports, nmoves, noperands, nafters;
    weft_plan_lane_t *lanes;
    weft_plan_port_t *ports;
    weft_plan_move_t *moves;
    weft_plan_operand_t *operands;
    weft_after_t *afters;
} weft_plan_t;

/* A MOVE with pointers to its operands and waits. */
typedef struct weft_plan_view {
    const weft_plan_operand_t *dst, *src; /* src follows dst */
    const weft_plan_operand_t *like;      /* kind NONE if there is none */
    const weft_after_t *after;
    uint32_t ndst, nsrc, nafter, cnt, flags;
} weft_plan_view_t;

static inline weft_plan_view_t weft_plan_view(const weft_plan_t *plan, uint32_t move)
{
    static const weft_plan_operand_t none = {.kind = WEFT_OPERAND_NONE};
    const weft_plan_move_t *from = &plan->moves[move];
    const weft_plan_operand_t *operands = &plan->operands[from->operand];
    uint32_t ends = (uint32_t)from->ndst + from->nsrc;
    return (weft_plan_view_t){.dst = operands,
                              .src = operands + from->ndst,
                              .like = (from->flags & WEFT_PLAN_LIKE) != 0 ? operands + ends : &none,
                              .after = from->nafter != 0 ? &plan->afters[from->after] : NULL,
                              .ndst = from->ndst,
                              .nsrc = from->nsrc,
                              .nafter = from->nafter,
                              .cnt = from->cnt,
                              .flags = from->flags & ~WEFT_PLAN_LIKE};
}

/* Returns the chunk that an operand of a buffer of `chunks` chunks names in an iteration of its
 * LOOP, `j` chunks further on. It divides only if that lies more than once around the buffer. */
static inline uint32_t weft_plan_chunk_at(const weft_plan_operand_t *o, uint32_t chunks,
                                          uint32_t iteration, uint32_t j)
{
    if (o->stride == 0 && j == 0) {
        return o->index;
    }
    int64_t c = (int64_t)o->index + (int64_t)o->stride * iteration + j;
    c += c < 0 ? chunks : 0;
    if (c >= 0 && c < 2 * (int64_t)chunks) {
        return (uint32_t)(c < chunks ? c : c - chunks);
    }
    c %= chunks;
    return (uint32_t)(c < 0 ? c + chunks : c);
}

/* Returns whether the chunks of the MOVE share messages. */
static inline bool weft_plan_packs(const weft_plan_view_t *move)
{
    return (move->flags & WEFT_MOVE_PACKED) != 0;
}

/* Returns the messages that a port of the MOVE passes for each slice. */
static inline uint32_t weft_plan_messages(const weft_plan_view_t *move)
{
    return weft_plan_packs(move) ? 1 : move->cnt;
}

/* Returns chunk `j` of an operand of the MOVE in an iteration of its LOOP. */
static inline uint32_t weft_plan_chunk_of(const weft_plan_view_t *move,
                                          const weft_plan_operand_t *o, uint32_t chunks,
                                          uint32_t iteration, uint32_t j)
{
    return weft_plan_packs(move) ? weft_plan_chunk_at(o, chunks, iteration * move->cnt + j, 0)
                                 : weft_plan_chunk_at(o, chunks, iteration, j);
}

/* Convert between the compact form and the builder's. */
weft_move_t weft_plan_expand(const weft_plan_view_t *view);
weft_plan_operand_t weft_plan_pack_operand(const weft_operand_t *operand);
/* Returns the bytes that the plan takes in memory. */
uint64_t weft_plan_bytes(const weft_plan_t *plan);

/* Returns the chunks of IN, OUT or TMP (weft_operand_kind_t); 0 for other kinds. */
uint32_t weft_plan_chunks(const weft_plan_t *plan, uint32_t buffer);
/* Returns the chunk of OUT that is the same memory as chunk `chunk` of IN in a call in place on
 * rank `rank`, or WEFT_PLAN_NO_CHUNK. */
#define WEFT_PLAN_NO_CHUNK UINT32_MAX
uint32_t weft_plan_alias(const weft_plan_t *plan, uint32_t rank, uint32_t chunk);
/* Frees the plan; NULL is allowed. */
void weft_plan_destroy(weft_plan_t *plan);

/* Returns a hash of everything in the plan. */
uint64_t weft_plan_hash(const weft_plan_t *plan);

#endif
