/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a rank holds for a communicator: bytes and descriptors of each kind, now and at most. This
 * is the one place that adds them up; the log and the tools print what it says.
 *
 * Counted is what the core asked for: of slots and other memory by need, only what was committed.
 * Memory shared with a peer counts in full on both sides. Programs of plugins, stacks, libraries
 * and what an allocator keeps for itself are not counted. */
#ifndef WEFT_COMM_HOLDINGS_H
#define WEFT_COMM_HOLDINGS_H

#include "core/comm/comm.h"

typedef enum weft_holding_kind {
    WEFT_HOLDING_CONTROL,   /* control connections and the health thread's state */
    WEFT_HOLDING_LINKS,     /* links: control words, headers of slots, what the rank notes */
    WEFT_HOLDING_SMALL,     /* areas for small payloads */
    WEFT_HOLDING_SLOTS,     /* slots of mapped links; limit: exec.pool_bytes */
    WEFT_HOLDING_MESSAGES,  /* slots of links that carry messages */
    WEFT_HOLDING_ARENA,     /* memory of weft_mem_alloc, of the process */
    WEFT_HOLDING_PROGRAMS,  /* prepared calls; limit: exec.program_memory */
    WEFT_HOLDING_WORKSPACE, /* of the run under way */
    WEFT_HOLDING_PLANS,     /* the plan cache of the process */
    WEFT_HOLDING_EVENTS,    /* the event log */
    WEFT_HOLDING_HISTORY,   /* the calls that were made last */
    WEFT_HOLDING_TABLES,    /* what is known of every rank, and queues of messages */
    WEFT_HOLDING_COUNT
} weft_holding_kind_t;

/* No limit is known: it depends on the calls. */
#define WEFT_HOLDING_UNBOUNDED UINT64_MAX

typedef struct weft_holding {
    uint64_t bytes, limit;
    uint32_t descriptors, descriptors_limit;
} weft_holding_t;

typedef struct weft_holdings {
    weft_holding_t kind[WEFT_HOLDING_COUNT];
} weft_holdings_t;

/* Returns a name such as "small areas". */
const char *weft_holding_name(weft_holding_kind_t kind);

/* Adds up what this rank holds. The family's part counts for each of its communicators, the
 * process's for each rank in it. Nothing blocks; O(ranks). Thread: the owner. */
void weft_holdings_take(const weft_comm_state_t *state, weft_holdings_t *holdings);

/* Logs it and what the links are, at level info. Thread: the owner. */
void weft_holdings_log(const weft_comm_state_t *state, const char *when);

#endif
