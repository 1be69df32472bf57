/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of op_queue.h that are not inline: iteration, attachment, and giving completions
 * out. */
#include <weft/sdk/op_queue.h>

weft_posted_op_t *weft_op_next_open(weft_op_queue_t *queue, uint32_t *number_p)
{
    while (*number_p != queue->tail) {
        weft_posted_op_t *op = weft_op_at(queue, (*number_p)++);
        if (!op->done) {
            return op;
        }
    }
    return NULL;
}

void weft_op_queues_attach(weft_op_queues_t *queues, weft_net_conn_t *conn, weft_op_done_t *done)
{
    queues->conn = conn;
    queues->done = done;
}

void weft_op_queues_detach(weft_op_queues_t *queues)
{
    if (queues->listed) {
        weft_op_queues_t **link = &queues->done->first;
        while (*link != queues) {
            link = &(*link)->next;
        }
        *link = queues->next;
        queues->listed = false;
    }
    queues->send.open = queues->recv.open = 0;
}

bool weft_op_queues_used(const weft_op_queues_t *queues)
{
    return queues->send.tail != 0 || queues->recv.tail != 0;
}

static bool op_queue_ready(const weft_op_queue_t *queue)
{
    return queue->head != queue->tail && queue->ops[queue->head % WEFT_OP_SLOTS].done;
}

static uint32_t op_queue_take(weft_op_queue_t *queue, weft_net_conn_t *conn, uint32_t kind,
                              weft_net_completion_t *completions, uint32_t max)
{
    uint32_t count = 0;
    while (count < max && op_queue_ready(queue)) {
        const weft_posted_op_t *op = weft_op_at(queue, queue->head++);
        completions[count++] = (weft_net_completion_t){.context = op->context,
                                                       .status = op->status,
                                                       .kind = kind,
                                                       .bytes = op->moved,
                                                       .conn = conn};
    }
    return count;
}

uint32_t weft_op_done_take_some(weft_op_done_t *list, weft_net_completion_t *completions,
                                uint32_t max)
{
    uint32_t count = 0;
    while (list->first != NULL && count < max) {
        weft_op_queues_t *queues = list->first;
        if (op_queue_ready(&queues->recv)) {
            count += op_queue_take(&queues->recv, queues->conn, WEFT_NET_RECV, completions + count,
                                   max - count);
        }
        if (op_queue_ready(&queues->send)) {
            count += op_queue_take(&queues->send, queues->conn, WEFT_NET_SEND, completions + count,
                                   max - count);
        }
        if (count < max) {
            list->first = queues->next;
            queues->listed = false;
        }
    }
    return count;
}

uint32_t weft_op_done_take_failing(weft_op_done_t *list, weft_net_completion_t *completions,
                                   uint32_t max, weft_op_tell_t tell)
{
    uint32_t count = 0;
    bool failed = false;
    while (!failed && count < max && weft_op_done_take(list, &completions[count], 1) > 0) {
        failed = tell(&completions[count++]);
    }
    return count;
}
