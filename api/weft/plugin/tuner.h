/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ABI of tuner plugins. A tuner chooses the algorithm and the slices of a call. The core lists the
 * candidates with their modelled cost. The tuner answers with one of them and a reason in words.
 * All ranks must give the same answer, so a tuner uses only what these structs hold. The core
 * compares the answers of all ranks: they are part of the operation's signature. */
#ifndef WEFT_PLUGIN_TUNER_H
#define WEFT_PLUGIN_TUNER_H

#include <weft/plugin/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_tuner weft_tuner_t; /* plugin instance */

/* The call to choose for. Equal on all ranks. */
typedef struct weft_tuner_call {
    size_t size;
    weft_coll_t coll;    /* the collective */
    weft_dtype_t dtype;  /* its data type */
    weft_op_t op;        /* its operator */
    uint32_t root;       /* its root, if it has one */
    uint64_t count;      /* as in the user's call, in elements */
    uint64_t bytes;      /* of one block: count * element size */
    uint32_t nranks;     /* ranks of the communicator */
    uint32_t nhosts;     /* hosts they are on */
    uint64_t slot_bytes; /* bytes of the largest slice that a FIFO slot holds */
    uint32_t slots;      /* FIFO depth; a chunk must have fewer slices */
    uint32_t memory;     /* where the buffers are: WEFT_TUNER_MEMORY_* */
    uint32_t channels;   /* most that the call may have; since 2.1 */
    uint32_t protocol;   /* one WEFT_TUNER_PROTOCOL_*; since 2.3 */
    uint32_t decided;    /* 1: [plan] algo forces the algorithm, which is the candidate; the tuner
                          * must ignore its own rules for other algorithms; since 2.4 */
    uint32_t reserved;
} weft_tuner_call_t;

#define WEFT_TUNER_MEMORY_HOST 0u
#define WEFT_TUNER_MEMORY_DEVICE 1u

/* How slices travel between the devices of a host: weft_kernel_protocol_t, and one more. What fits
 * a header travels in it, whatever is wanted. */
#define WEFT_TUNER_PROTOCOL_BEST 0u /* what costs least */
#define WEFT_TUNER_PROTOCOL_SIMPLE 1u
#define WEFT_TUNER_PROTOCOL_LL 2u
#define WEFT_TUNER_PROTOCOL_LL128 3u
#define WEFT_TUNER_PROTOCOL_WHOLE 4u

/* One way to run the call. */
typedef struct weft_tuner_candidate {
    size_t size;
    const char *algo;   /* name of the algorithm plugin */
    const char *params; /* "X=Y,Z=W", as variant() has asked for them; "": as configured */
    uint32_t chunks;    /* chunks per block and pass */
    uint32_t steps;     /* MOVEs on the critical path of one pass */
    const void *core;   /* the core's own, for the cost function */
    uint32_t channels;  /* copies of the plan; they divide the passes of a message among them */
} weft_tuner_candidate_t;

/* The answer of the tuner. */
typedef struct weft_tuner_choice {
    size_t size;
    uint32_t index;       /* index of the candidate */
    uint32_t slices;      /* slices per chunk and pass, 1 to slots-1 */
    uint64_t slice_bytes; /* at most slot_bytes; a multiple of 64 */
    char reason[160];     /* why, in words */
    uint32_t channels;    /* 0: as many as the candidate has; since 2.1, as are the rest */
    uint32_t next;       /* index of the second best, which has another algorithm or parameters; the
                           * core sets it to WEFT_TUNER_NONE before the call */
    double next_seconds; /* modelled time of the second best */
    char rule[160];      /* the rule that decided and where it stands, "weft.ini:12: …"; "": the
                           * model did */
    uint32_t protocol;   /* as in the call; the core sets it to WEFT_TUNER_PROTOCOL_BEST before the
                        * call; since 2.3 */
    uint32_t reserved;
} weft_tuner_choice_t;

#define WEFT_TUNER_NONE UINT32_MAX

/* Returns the modelled time in seconds of the call with this candidate and these slices. It is the
 * alpha-beta-gamma model of the core over the transports in use. INFINITY where the plan has no
 * such slices: none, more than its slots allow, or slice_bytes below 64 or above what a slot holds.
 * The tuner may change `channels` in a copy of the candidate, and `protocol` in a copy of the call:
 * INFINITY where these slices cannot travel by it.
 * Blocking: no. Thread: [any]. */
typedef double (*weft_tuner_cost_fn_t)(const weft_tuner_call_t *call,
                                       const weft_tuner_candidate_t *candidate, uint32_t slices,
                                       uint64_t slice_bytes);

/* Of variant(): how many algorithms with parameters, and bytes of one text with its zero. */
#define WEFT_TUNER_VARIANTS_MAX 48u
#define WEFT_TUNER_VARIANT_TEXT 160u

typedef struct weft_tuner_ops {
    size_t size;

    /* As weft_net_ops_t.create and destroy. */
    weft_status_t (*create)(const weft_host_t *host, const void *config, weft_tuner_t **tuner_p);
    void (*destroy)(weft_tuner_t *tuner);

    /* Chooses one of `count` candidates; `count` is at least 1. The core owns all arguments.
     * Errors: ERR_UNSUPPORTED, or any error.
     * Blocking: no. Thread: [any]. */
    weft_status_t (*choose)(weft_tuner_t *tuner, const weft_tuner_call_t *call,
                            const weft_tuner_candidate_t *candidates, uint32_t count,
                            weft_tuner_cost_fn_t cost, weft_tuner_choice_t *choice_p);

    /* Optional, since 2.1: gets the names of all loaded algorithms once, after create(), so that
     * options which name another one are refused.
     * Errors: ERR_CONFIG.
     * Blocking: no. Thread: [control]. */
    weft_status_t (*check)(weft_tuner_t *tuner, const char *const *algos, uint32_t count);

    /* Optional, since 2.2: returns the algorithms that the tuner may choose with parameters of
     * their own, one by one, as "NAME:X=Y,Z=W"; parameters that are not named keep their configured
     * values. NULL for `index` past the last. Each that serves a call is a candidate besides the
     * algorithm as it is configured, and has what is behind the colon as `params`. The core checks
     * names and values: ERR_CONFIG with the nearest word. *origin_p says where the text was given
     * ("weft.ini:12"); it may be left as it is. The tuner owns both texts. At most
     * WEFT_TUNER_VARIANTS_MAX, on all ranks alike; asked once, after check().
     * Blocking: no. Thread: [control]. */
    const char *(*variant)(weft_tuner_t *tuner, uint32_t index, const char **origin_p);
} weft_tuner_ops_t;

#ifdef __cplusplus
}
#endif
#endif
