/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Queues of sends and receives. */
#include "core/comm/p2p_queues.h"

#include <errno.h>

#include "core/base/error.h"

weft_status_t weft_p2p_open(weft_p2p_t *p2p, uint32_t nranks, uint32_t channel)
{
    uint32_t count = 2 * nranks;
    if (p2p->queues != NULL) {
        return WEFT_OK;
    }
    p2p->active = weft_os_alloc(count * sizeof *p2p->active, 0);
    p2p->queues = weft_os_alloc(count * sizeof *p2p->queues, 0);
    if (p2p->queues == NULL || p2p->active == NULL) {
        weft_p2p_close(p2p);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate messages to %u ranks", nranks);
    }
    p2p->count = count;
    for (uint32_t i = 0; i < count; i++) {
        p2p->queues[i].peer = i / 2;
        p2p->queues[i].sends = i % 2;
        p2p->queues[i].channel = channel;
    }
    return WEFT_OK;
}

size_t weft_p2p_bytes_per_rank(void)
{
    return 2 * (sizeof(weft_p2p_queue_t) + sizeof(uint32_t));
}

void weft_p2p_close(weft_p2p_t *p2p)
{
    for (uint32_t i = 0; i < p2p->count; i++) {
        weft_os_free(p2p->queues[i].stripes);
    }
    weft_os_free(p2p->active);
    weft_os_free(p2p->queues);
    *p2p = (weft_p2p_t){.queues = NULL};
}

uint64_t weft_p2p_next_sequence(weft_p2p_t *p2p, const weft_request_t *request)
{
    return ++weft_p2p_queue_of(p2p, request)->sequence;
}

void weft_p2p_append(weft_p2p_t *p2p, weft_request_t *request)
{
    weft_p2p_queue_t *queue = weft_p2p_queue_of(p2p, request);
    weft_request_t **position = weft_request_position(&queue->first, queue->last, request);
    request->moved = 0;
    request->next = *position;
    *position = request;
    if (request->next == NULL) {
        queue->last = request;
    }
    if (!queue->active) {
        queue->active = true;
        queue->idle_since = 0;
        p2p->active[p2p->nactive++] = (uint32_t)(queue - p2p->queues);
    }
}

void weft_p2p_hold(weft_p2p_t *p2p, weft_request_t *request)
{
    request->next = NULL;
    if (p2p->held_last != NULL) {
        p2p->held_last->next = request;
    } else {
        p2p->held_first = request;
    }
    p2p->held_last = request;
}

void weft_p2p_unhold(weft_p2p_t *p2p, uint32_t peer)
{
    weft_request_t *request = p2p->held_first;
    p2p->held_first = request->next;
    if (p2p->held_first == NULL) {
        p2p->held_last = NULL;
    }
    request->args.root = peer;
    request->sequence = weft_p2p_next_sequence(p2p, request);
    weft_p2p_append(p2p, request);
}

void weft_p2p_tidy(weft_p2p_t *p2p)
{
    for (uint32_t i = 0; i < p2p->nactive;) {
        weft_p2p_queue_t *queue = &p2p->queues[p2p->active[i]];
        if (queue->first != NULL) {
            i++;
            continue;
        }
        queue->active = false;
        p2p->active[i] = p2p->active[--p2p->nactive];
    }
}
