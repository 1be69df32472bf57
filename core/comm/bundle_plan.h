/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plan of a bundle: sends and receives that a device does in one run. Messages of one peer and
 * direction pass one after another through one port, long ones through several (stripes.h); those
 * of different ones at once. It depends only on who sends to whom over how many stripes, so that
 * the next bundle of the same kind finds it. */
#ifndef WEFT_COMM_BUNDLE_PLAN_H
#define WEFT_COMM_BUNDLE_PLAN_H

#include <weft/status.h>

#include "core/plan/plan_ir.h"

/* Where a message goes, or comes from. */
typedef struct weft_bundle_way {
    uint32_t peer;
    uint32_t sends;   /* 1: to the peer */
    uint32_t stripes; /* a power of two */
} weft_bundle_entry_t;

typedef struct weft_bundle_plan {
    weft_bundle_entry_t *entries; /* of all messages, in the order of the calls */
    uint32_t messages;
    /* Operands name messages. Of its ports peer, `sends`, lane and, as the channel, the stripe are
     * set. */
    weft_plan_t plan;
} weft_bundle_plan_t;

/* Makes the plan of rank `rank`, which sends to itself as often as it receives from itself, with
 * `lanes` lanes at most. Queues (p2p_queues.h) have a lane each if there are enough. Up to `room`
 * lanes, more are shared by their stripes: a lane moves every slice of some stripes. With fewer
 * lanes than queues several progress together in one. ERR_UNSUPPORTED: several messages of one
 * queue would have to. ERR_RESOURCE. */
weft_status_t weft_bundle_plan_create(const weft_bundle_entry_t *entries, uint32_t messages,
                                      uint32_t rank, uint32_t lanes, uint32_t room,
                                      weft_bundle_plan_t **plan_p);
/* Frees it; NULL is allowed. */
void weft_bundle_plan_destroy(weft_bundle_plan_t *plan);

/* Returns whether it is the plan of such messages. */
bool weft_bundle_plan_is_of(const weft_bundle_plan_t *plan, const weft_bundle_entry_t *entries,
                            uint32_t messages);

#endif
