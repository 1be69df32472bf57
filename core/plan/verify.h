/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verifier. Lanes with bounded queues and no "receive from any" are a bounded Kahn network, hence
 * confluent: one abstract run at the executor's real depth and slicing decides deadlock for every
 * interleaving, and if no race is found the values too. Source: G. Kahn, "The semantics of a simple
 * language for parallel programming", IFIP 1974; what is checked and why: docs/architecture.md. */
#ifndef WEFT_PLAN_VERIFY_H
#define WEFT_PLAN_VERIFY_H

#include "core/plan/plan_ir.h"

typedef enum weft_verdict {
    WEFT_VERDICT_OK = 0,
    WEFT_VERDICT_MALFORMED, /* operand, port or shape that cannot be */
    WEFT_VERDICT_UNMATCHED, /* queue with only one end, or slices left in it */
    WEFT_VERDICT_DEADLOCK,
    WEFT_VERDICT_WRONG,     /* result is not the collective's definition */
    WEFT_VERDICT_UNWRITTEN, /* reads a chunk that nobody has written */
    WEFT_VERDICT_RACE,
    WEFT_VERDICT_TOO_BIG /* would cost more than the limit; nothing proved */
} weft_verdict_t;

/* Which v-forms a plan may be bound to: see "Vectors" in weft/plugin/plan.h. */
typedef enum weft_vector {
    WEFT_VECTOR_NONE = 0,
    WEFT_VECTOR_BLOCKS = 1, /* counts that all ranks know: all_gather_v, reduce_scatter_v */
    WEFT_VECTOR_PAIRS = 2   /* counts that two ranks know: all_to_all_v, gather_v, scatter_v */
} weft_vector_t;

typedef struct weft_verify_input {
    weft_plan_t *const *plans; /* nranks of them */
    uint32_t nranks;
    uint32_t slots;  /* S: depth of every queue */
    uint32_t slices; /* L: slices per chunk */
    bool in_place;   /* IN and OUT alias as the collective's in-place form says */
    uint64_t limit;  /* abstract slice steps; 0 = no limit */
} weft_verify_input_t;

typedef struct weft_verify_report {
    weft_verdict_t verdict;
    uint32_t rank, lane, pc; /* where, if not OK */
    char text[256];          /* in words: rank, lane, instruction, chunk, whom it waits for */
    uint64_t steps;          /* slice steps of the run */
    uint64_t
        fingerprint; /* of the expression trees of all results; equal for two plans: same bits */
    bool same_on_all_ranks;   /* every rank computes each element by the same expression */
    bool same_for_all_chunks; /* … and every element by the same expression up to chunk names */
    weft_vector_t vector;     /* v-forms it serves */
    uint32_t peak_slots;      /* most slots used in any queue */
    uint32_t critical_moves;  /* MOVEs on the longest chain of one pass */
    double critical_chunks;   /* chunk transfers on the chain that carries most bytes */
} weft_verify_report_t;

/* Runs two passes. Returns OK when it could judge (see report->verdict), ERR_RESOURCE otherwise. */
weft_status_t weft_plan_verify(const weft_verify_input_t *input, weft_verify_report_t *report);

/* Both proofs for little more than the price of one: reports[0] out of place, reports[1] in place;
 * input->in_place does not matter. In place differs in what IN holds after a write to OUT and in the
 * races this may be; only where the first run meets such a case, a second one is made. With many slices
 * per chunk, one rank per class decides whether the plan comes to its end, and one slice proves the
 * rest; `steps` and `peak_slots` are then those of one slice. */
weft_status_t weft_plan_prove(const weft_verify_input_t *input, weft_verify_report_t reports[2]);

const char *weft_verdict_name(weft_verdict_t verdict);

#endif
