/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ABI of tuner plugins: which algorithm serves a call, and with which slices. The core lists the
 * candidates with their modelled cost; the tuner answers with one of them and a reason in words.
 * Every rank must come to the same answer: use only what is in these structs. The core compares the
 * answers of all ranks (they are part of the operation's signature). */
#ifndef WEFT_PLUGIN_TUNER_H
#define WEFT_PLUGIN_TUNER_H

#include <weft/plugin/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_tuner weft_tuner_t; /* plugin instance */

/* The call, equal on all ranks. */
typedef struct weft_tuner_call {
    size_t size;
    weft_coll_t coll;
    weft_dtype_t dtype;
    weft_op_t op;
    uint32_t root;
    uint64_t count; /* as in the user's call */
    uint64_t bytes; /* of one block: count × element size */
    uint32_t nranks;
    uint32_t nhosts;
    uint64_t slot_bytes; /* largest slice that a FIFO slot holds */
    uint32_t slots;      /* FIFO depth; slices in a chunk must be fewer */
    uint32_t reserved;   /* 0 */
} weft_tuner_call_t;

/* One way to serve it. */
typedef struct weft_tuner_candidate {
    size_t size;
    const char *algo;   /* plugin name */
    const char *params; /* its parameters as text, "" if none */
    uint32_t chunks;    /* k: chunks per block and pass */
    uint32_t steps;     /* MOVEs on the critical path of one pass */
    const void *core;   /* for cost() */
    uint32_t channels;  /* copies of the plan that share the message, each a part of its passes */
} weft_tuner_candidate_t;

/* The answer. */
typedef struct weft_tuner_choice {
    size_t size;
    uint32_t index;       /* of the candidate */
    uint32_t slices;      /* per chunk and pass, 1 … slots−1 */
    uint64_t slice_bytes; /* at most slot_bytes; a multiple of 64 */
    char reason[160];     /* in words, for people */
} weft_tuner_choice_t;

/* What: modelled time in seconds of the call with that candidate and those slices: the α–β–γ model
 * of core/plan/cost over the transports in use. Thread: [any]. */
typedef double (*weft_tuner_cost_fn_t)(const weft_tuner_call_t *call,
                                       const weft_tuner_candidate_t *candidate, uint32_t slices,
                                       uint64_t slice_bytes);

typedef struct weft_tuner_ops {
    size_t size;

    /* As weft_net_ops_t.create and destroy. */
    weft_status_t (*create)(const weft_host_t *host, const void *config, weft_tuner_t **tuner_p);
    void (*destroy)(weft_tuner_t *tuner);

    /* What: chooses. `count` is at least 1. Failure: ERR_UNSUPPORTED or any, error set.
     * Ownership: all arguments are the core's. Blocks: no. Thread: [any]. */
    weft_status_t (*choose)(weft_tuner_t *tuner, const weft_tuner_call_t *call,
                            const weft_tuner_candidate_t *candidates, uint32_t count,
                            weft_tuner_cost_fn_t cost, weft_tuner_choice_t *choice_p);
} weft_tuner_ops_t;

#ifdef __cplusplus
}
#endif
#endif
