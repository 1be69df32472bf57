/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists of the ends of all queues. Sorting brings the two ends of a queue together. Private to
 * core/plan. */
#ifndef WEFT_PLAN_ENDS_H
#define WEFT_PLAN_ENDS_H

#include <stdbool.h>

#include <weft/types.h>

typedef struct weft_plan_end {
    uint32_t from, to; /* ranks */
    uint32_t key;      /* 2 × channel, + 1 at the receiver */
    uint32_t port;     /* number of the port in its rank */
} weft_plan_end_t;

static inline weft_plan_end_t weft_plan_end(uint32_t rank, uint32_t peer, uint32_t channel,
                                            uint32_t sends, uint32_t port)
{
    weft_plan_end_t end = {.from = sends ? rank : peer,
                           .to = sends ? peer : rank,
                           .key = 2 * channel + (sends ? 0 : 1),
                           .port = port};
    return end;
}

static inline bool weft_plan_end_sends(const weft_plan_end_t *end)
{
    return (end->key & 1) == 0;
}

/* True if `a` sends into the queue from which `b` receives. */
static inline bool weft_plan_ends_match(const weft_plan_end_t *a, const weft_plan_end_t *b)
{
    return a->from == b->from && a->to == b->to && weft_plan_end_sends(a) && b->key == a->key + 1;
}

/* Sorts by from, to and key. *ends_p is replaced by another array, which weft_os_free() frees.
 * ERR_RESOURCE. */
weft_status_t weft_plan_ends_sort(weft_plan_end_t **ends_p, uint64_t count);

#endif
