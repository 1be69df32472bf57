/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Input and report of the verifier. */
#ifndef WEFT_PLAN_VERDICT_H
#define WEFT_PLAN_VERDICT_H

#include "core/plan/plan_ir.h"

typedef enum weft_verdict {
    WEFT_VERDICT_OK = 0,
    WEFT_VERDICT_MALFORMED, /* impossible operand, port or collective */
    WEFT_VERDICT_UNMATCHED, /* queue with only one end, or slices left in it */
    WEFT_VERDICT_DEADLOCK,
    WEFT_VERDICT_WRONG,     /* result is not the collective's definition */
    WEFT_VERDICT_UNWRITTEN, /* reads a chunk that nothing has written */
    WEFT_VERDICT_RACE,
    WEFT_VERDICT_TOO_BIG /* the proof would exceed the limit; nothing is proved */
} weft_verdict_t;

/* Which vector collectives a plan may serve: see "Vector collectives" in weft/plugin/plan.h. */
typedef enum weft_vector {
    WEFT_VECTOR_NONE = 0,
    WEFT_VECTOR_BLOCKS = 1, /* counts that all ranks know: all_gather_v, reduce_scatter_v */
    WEFT_VECTOR_PAIRS = 2,  /* counts that two ranks know: all_to_all_v, gather_v, scatter_v */
    WEFT_VECTOR_PASSED = 3  /* as PAIRS; others pass blocks on, and learn counts from messages */
} weft_vector_t;

/* An instruction of a job's plans. */
typedef struct weft_plan_place {
    uint32_t rank, lane, pc;
} weft_plan_place_t;

/* What an instruction has to do with a value that is wrong elsewhere. */
typedef enum weft_origin {
    WEFT_ORIGIN_NONE = 0, /* nothing is known, or it is the place of the verdict itself */
    WEFT_ORIGIN_FOLDED,   /* it was folded there last */
    WEFT_ORIGIN_READ,     /* it was never folded: it was read from IN there */
    WEFT_ORIGIN_WRITTEN   /* in place, it was written over IN there */
} weft_origin_t;

/* Returns a constant that "at rank 0" can follow. */
static inline const char *weft_origin_name(weft_origin_t from)
{
    return from == WEFT_ORIGIN_FOLDED    ? "last folded"
           : from == WEFT_ORIGIN_READ    ? "read"
           : from == WEFT_ORIGIN_WRITTEN ? "written"
                                         : "";
}

typedef struct weft_verify_input {
    weft_plan_t *const *plans; /* nranks of them */
    uint32_t nranks;
    uint32_t slots;  /* S: depth of every queue */
    uint32_t slices; /* L: slices per chunk */
    bool in_place;   /* IN and OUT overlap as in the collective's in-place form */
    uint64_t limit;  /* slices moved and barriers arrived at; 0 = no limit */
    /* Where a plan serves out of place only, say also what was written over its input. Takes a
     * second run; plans that do not serve at all are always explained so. */
    bool explain_in_place;
} weft_verify_input_t;

typedef struct weft_verify_report {
    weft_verdict_t verdict;
    uint32_t rank, lane, pc; /* where, if not OK */
    char text[256];          /* rank, lane, instruction, chunk, and what it waits for */
    weft_origin_t from;      /* if WRONG: what `origin` has to do with the wrong value */
    weft_plan_place_t origin;
    uint64_t steps; /* slices moved by the run */
    /* Of the expression trees of all results: two plans with equal ones compute the same bits. */
    uint64_t fingerprint;
    bool same_on_all_ranks;   /* all ranks compute an element by the same expression */
    bool same_for_all_chunks; /* … and all elements by one expression, up to chunk names */
    weft_vector_t vector;     /* vector collectives that it serves */
    bool meets;               /* the ranks can meet before a run: meeting.h */
    uint32_t peak_slots;      /* most slots used in any queue */
    uint32_t critical_moves;  /* MOVEs on the longest chain of one pass */
    double critical_chunks;   /* chunk transfers on the chain that carries most bytes */
} weft_verify_report_t;

#endif
