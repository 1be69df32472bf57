/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft tune`: the request, the ranks' state, and the results. */
#ifndef WEFT_TOOLS_TUNE_JOB_H
#define WEFT_TOOLS_TUNE_JOB_H

#include "core/comm/why.h"
#include "tools/tool.h"

#define TUNE_CANDIDATES_MAX 64
#define TUNE_NAME_MAX 64
#define TUNE_COMMS 3

typedef struct tune_request {
    bool colls[WEFT_COLL_COUNT];
    weft_dtype_t dtype;
    bool typed; /* the type was asked for: rules hold for it only */
    int64_t processes, rounds;
    uint64_t first, last; /* bytes of the block of one rank */
    double factor;
    double budget; /* seconds of one measurement of a candidate */
    const char *out;
    bool variants; /* of the best algorithm of each size, too */
    bool fresh;    /* begin anew although a state file is there */
    tool_settings_t settings;
} tune_request_t;

/* One algorithm, forced in communicators of its own, which take turns: what memory and which
 * sockets one gets is luck that lasts as long as it does. A variant also says how it runs, in the
 * words of a rule with commas: "algo-ring,slices=2,slice_bytes=64K". */
typedef struct tune_candidate {
    char algo[TUNE_NAME_MAX];
    weft_comm_t *comms[TUNE_COMMS];
} tune_candidate_t;

/* One rank. */
typedef struct tune_rank {
    const tune_request_t *request;
    weft_comm_t *comm;
    uint32_t rank, nranks;
    weft_comm_figures_t figures;
    tune_candidate_t candidates[TUNE_CANDIDATES_MAX];
    uint32_t count;
    int64_t clock; /* to add to this rank's clock to have that of rank 0, ns */
    uint8_t *send, *recv;
    uint64_t room; /* bytes of each */
} tune_rank_t;

/* A candidate at one size. */
typedef struct tune_result {
    char algo[TUNE_NAME_MAX];
    weft_coll_t coll;
    uint64_t bytes;
    double seconds, low, high; /* low to high holds the median with 95 % or what the rounds
                               * allow */
    double model;
    bool chosen; /* the tuner chooses it as it is configured now */
} tune_result_t;

typedef struct tune_results {
    tune_result_t *list;
    size_t count, room;
} tune_results_t;

#endif
