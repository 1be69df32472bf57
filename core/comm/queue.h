/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The queue of collectives of a communicator. They run one after another, in the order of their
 * sequence numbers, also where some of them wait in streams. */
#ifndef WEFT_COMM_QUEUE_H
#define WEFT_COMM_QUEUE_H

#include "core/comm/args_check.h"
#include "core/comm/programs.h"
#include "core/comm/request.h"

typedef struct weft_queue {
    weft_request_t *first, *last;
    weft_prepared_t *current;      /* program of `first`; NULL: it has not begun */
    uint64_t sequence;             /* of the last operation called */
    uint64_t completed;            /* of the last one completed */
    uint64_t made;                 /* of the last one by which the communicator itself was made */
    uint32_t steps;                /* idle steps since the clock was read */
    struct weft_group_note *fuses; /* while a group fuses its calls: whom the next one may join */
    weft_args_memo_t checked[2];   /* of the last operation called, and of the last send */
    weft_flight_comm_t *flight;    /* constant: both numbers stand there too */
} weft_queue_t;

/* Notes that the operation of that number is called. */
static inline void weft_queue_call(weft_queue_t *queue, uint64_t sequence)
{
    queue->sequence = sequence;
    queue->flight->called = sequence;
}

/* Inserts the operation at the position of its number. */
static inline void weft_queue_insert(weft_queue_t *queue, weft_request_t *request)
{
    weft_request_t **position = weft_request_position(&queue->first, queue->last, request);
    request->next = *position;
    *position = request;
    if (request->next == NULL) {
        queue->last = request;
    }
}

/* Notes that the operation of that number is completed; 0: a captured one, which has no number. */
static inline void weft_queue_complete(weft_queue_t *queue, uint64_t sequence)
{
    queue->completed = sequence != 0 ? sequence : queue->completed;
    queue->flight->completed = queue->completed;
}

/* Takes the first operation out and completes it with `status`. */
static inline void weft_queue_finish(weft_queue_t *queue, weft_status_t status)
{
    weft_request_t *request = queue->first;
    queue->first = request->next;
    if (queue->first == NULL) {
        queue->last = NULL;
    }
    queue->current = NULL;
    weft_queue_complete(queue, request->sequence);
    weft_request_complete(request, status);
}

/* True if all operations called before it are completed, also those in streams. */
static inline bool weft_queue_is_due(const weft_queue_t *queue, const weft_request_t *request)
{
    return request->sequence == 0 || request->sequence == queue->completed + 1;
}

#endif
