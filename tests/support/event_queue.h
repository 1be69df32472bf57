/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What happens when, for simulations: a heap of events by time. Events of one time come in the
 * order in which they were added. Without memory the program ends. */
#ifndef WEFT_TEST_EVENT_QUEUE_H
#define WEFT_TEST_EVENT_QUEUE_H

#include <stddef.h>
#include <stdint.h>

typedef struct event {
    uint64_t at, number;
    void (*happen)(void *object); /* NULL: as the queue's user says */
    void *object;
    uint32_t generation; /* the user's */
} event_t;

typedef struct event_queue {
    event_t *events;
    size_t count, room;
    uint64_t added;
} event_queue_t;

void event_queue_add(event_queue_t *queue, event_t event);
/* The first event; there has to be one. */
event_t event_queue_take(event_queue_t *queue);
/* When the first event is; UINT64_MAX: there is none. */
static inline uint64_t event_queue_next(const event_queue_t *queue)
{
    return queue->count > 0 ? queue->events[0].at : UINT64_MAX;
}

#endif
