/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The queue of collectives. */
#include "core/comm/queue.h"

void weft_queue_insert(weft_queue_t *queue, weft_request_t *request)
{
    weft_request_t **position = weft_request_position(&queue->first, queue->last, request);
    request->next = *position;
    *position = request;
    if (request->next == NULL) {
        queue->last = request;
    }
}

void weft_queue_finish(weft_queue_t *queue, weft_status_t status)
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
