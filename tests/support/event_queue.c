/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See event_queue.h. */
#include "tests/support/event_queue.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static bool event_before(const event_t *a, const event_t *b)
{
    return a->at != b->at ? a->at < b->at : a->number < b->number;
}

void event_queue_add(event_queue_t *queue, event_t event)
{
    if (queue->count == queue->room) {
        queue->room = queue->room > 0 ? 2 * queue->room : 1024;
        queue->events = realloc(queue->events, queue->room * sizeof *queue->events);
        if (queue->events == NULL) {
            fprintf(stderr, "the simulation is out of memory\n");
            exit(1);
        }
    }
    event.number = queue->added++;
    size_t i = queue->count++;
    for (; i > 0 && event_before(&event, &queue->events[(i - 1) / 2]); i = (i - 1) / 2) {
        queue->events[i] = queue->events[(i - 1) / 2];
    }
    queue->events[i] = event;
}

event_t event_queue_take(event_queue_t *queue)
{
    event_t first = queue->events[0], last = queue->events[--queue->count];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= queue->count) {
            break;
        }
        if (child + 1 < queue->count &&
            event_before(&queue->events[child + 1], &queue->events[child])) {
            child++;
        }
        if (!event_before(&queue->events[child], &last)) {
            break;
        }
        queue->events[i] = queue->events[child];
        i = child;
    }
    queue->events[i] = last;
    return first;
}
