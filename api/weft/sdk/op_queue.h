/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SDK: the operations that the core has posted on a connection of a net plugin that carries
 * messages (WEFT_NET_CAP_MESSAGES), from post() until poll() gives their completions back. A
 * plugin embeds weft_op_queues_t in its connection and weft_op_done_t in its device, and links
 * the SDK library.
 *
 * Completions leave in the order in which the operations were posted, per connection and
 * direction, even when the transport finishes them in another order.
 *
 * Nothing here allocates, blocks, locks or sets an error. Thread: [progress] of the device. */
#ifndef WEFT_SDK_OP_QUEUE_H
#define WEFT_SDK_OP_QUEUE_H

#include <stdbool.h>

#include <weft/plugin/net.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Outstanding operations per direction of a connection, a power of two; a plugin reports it as
 * weft_net_props_t.max_outstanding. */
#define WEFT_OP_SLOTS 64u

/* One posted operation; 64 bytes, so that a slot is found by a shift. The queue sets all fields
 * when the operation is posted; the transport changes `bytes` (of a receive, once the length of
 * its message is known), `moved`, `progress` and `flags`. */
typedef struct weft_posted_op {
    uint8_t *buffer;                 /* the core's */
    uint64_t bytes;                  /* to send, or room to receive */
    uint64_t moved;                  /* bytes sent or received, for the completion; 0 at first */
    uint64_t progress;               /* for the transport's own use; 0 at first */
    uint64_t flags;                  /* likewise */
    void *context;                   /* the core's, given back in the completion */
    const weft_net_region_t *region; /* registration that covers the buffer, or NULL */
    weft_status_t status;            /* of the completion */
    bool done;                       /* finished; its completion may still wait for older ones */
} weft_posted_op_t;

/* The operations of one direction. Counters run freely and wrap; an operation's counter value is
 * the sequence number of its message, and its slot is that number modulo WEFT_OP_SLOTS. */
typedef struct weft_op_queue {
    uint32_t head; /* oldest operation whose completion was not given out */
    uint32_t next; /* for the transport's own use: first operation that it has not started */
    uint32_t tail; /* number of the next operation to be posted */
    uint32_t open; /* posted and not done */
    weft_posted_op_t ops[WEFT_OP_SLOTS];
} weft_op_queue_t;

typedef struct weft_op_done weft_op_done_t;

/* Both directions of one connection. Zeroed memory becomes usable by weft_op_queues_attach(). */
typedef struct weft_op_queues {
    weft_net_conn_t *conn;
    weft_op_done_t *done;        /* of the device */
    struct weft_op_queues *next; /* in that list */
    bool listed;                 /* in it */
    weft_op_queue_t send, recv;
} weft_op_queues_t;

/* The connections of one device that have completions to give out. Zeroed memory is an empty
 * list. */
struct weft_op_done {
    weft_op_queues_t *first;
};

/* The operation with number `number`, which lies in [head, tail). */
static inline weft_posted_op_t *weft_op_at(weft_op_queue_t *queue, uint32_t number)
{
    return &queue->ops[number % WEFT_OP_SLOTS];
}

/* Returns whether `op` is an operation that net.h allows, of at most `most` bytes. */
static inline bool weft_op_valid(const weft_net_op_t *op, uint64_t most)
{
    return (op->kind == WEFT_NET_SEND || op->kind == WEFT_NET_RECV) && op->bytes <= most &&
           (op->buffer != NULL || op->bytes == 0);
}

/* Fills the next free slot from `op` without posting it, so that a failure to prepare the memory
 * leaves no trace. Returns NULL if the queue is full: post() then answers WEFT_AGAIN. */
static inline weft_posted_op_t *weft_op_prepare(weft_op_queue_t *queue, const weft_net_op_t *op)
{
    if (queue->tail - queue->head == WEFT_OP_SLOTS) {
        return NULL;
    }
    weft_posted_op_t *slot = weft_op_at(queue, queue->tail);
    slot->buffer = (uint8_t *)op->buffer;
    slot->bytes = op->bytes;
    slot->moved = slot->progress = slot->flags = 0;
    slot->context = op->context;
    slot->region = op->region;
    slot->status = WEFT_OK;
    slot->done = false;
    return slot;
}

/* Posts the prepared slot. */
static inline void weft_op_push(weft_op_queue_t *queue)
{
    queue->tail++;
    queue->open++;
}

/* Finishes an operation of `queue`, which is the send or the recv queue of `queues`, with
 * `status`. Its buffer belongs to the core again once poll() has given the completion out. */
static inline void weft_op_finish(weft_op_queues_t *queues, weft_op_queue_t *queue,
                                  weft_posted_op_t *op, weft_status_t status)
{
    op->done = true;
    op->status = status;
    queue->open--;
    if (!queues->listed && weft_op_at(queue, queue->head)->done) {
        queues->listed = true;
        queues->next = queues->done->first;
        queues->done->first = queues;
    }
}

/* Iterates over the operations that are not done, oldest first; *number_p begins at queue->head
 * and must not be changed. Returns NULL at the end. The caller may finish the operation that it
 * got. */
weft_posted_op_t *weft_op_next_open(weft_op_queue_t *queue, uint32_t *number_p);

/* Ties the queues to their connection and to a device's list. */
void weft_op_queues_attach(weft_op_queues_t *queues, weft_net_conn_t *conn, weft_op_done_t *done);

/* Takes the queues out of the list: operations that are open, or done and not given out, will never
 * complete. Call it before the connection is freed or attached to another device. */
void weft_op_queues_detach(weft_op_queues_t *queues);

/* Returns whether anything was ever posted. */
bool weft_op_queues_used(const weft_op_queues_t *queues);

/* The part of weft_op_done_take() for a list that is not empty. */
uint32_t weft_op_done_take_some(weft_op_done_t *list, weft_net_completion_t *completions,
                                uint32_t max);

/* Gives out up to `max` completions of the device's connections and forgets their operations.
 * Returns how many. This is the end of poll(). */
static inline uint32_t weft_op_done_take(weft_op_done_t *list, weft_net_completion_t *completions,
                                         uint32_t max)
{
    return list->first == NULL ? 0 : weft_op_done_take_some(list, completions, max);
}

/* If the operation failed with its connection: makes the reason of that the thread's error, and
 * returns true. */
typedef bool (*weft_op_tell_t)(const weft_net_completion_t *completion);

/* As weft_op_done_take(), for when connections have failed: a thread has one reason of failure at a
 * time, so nothing is given out behind an operation of which `tell` says that it failed with its
 * connection. */
uint32_t weft_op_done_take_failing(weft_op_done_t *list, weft_net_completion_t *completions,
                                   uint32_t max, weft_op_tell_t tell);

#ifdef __cplusplus
}
#endif
#endif
