/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Queues of sends and receives: one per peer and direction. Its messages go through one port in
 * the order of the calls, long ones of devices through several (p2p_stripes.h). */
#ifndef WEFT_COMM_P2P_QUEUES_H
#define WEFT_COMM_P2P_QUEUES_H

#include "core/comm/request.h"
#include "core/comm/stripes.h"

/* What was seen of messages that do not move (p2p_look.h). */
typedef struct weft_p2p_watch {
    uint64_t checked; /* when the port was last looked after */
    uint64_t waited;  /* since something moved, without times in which nobody looked */
    uint64_t asked;   /* when the peer was last asked to connect; wanted_links.h */
    bool late_told;   /* a warning was logged: one for a peer and direction, or for any, will do */
} weft_p2p_watch_t;

/* Sends to one peer, or receives from it, in order. */
typedef struct weft_p2p_queue {
    weft_request_t *first, *last;
    weft_port_t *port;     /* that the next slice goes through; NULL: not connected */
    weft_port_t **stripes; /* of long messages; NULL, and each of them: not connected */
    uint32_t connected;    /* of them, the first; some beyond may be, too */
    weft_stripes_t cut;    /* of the first message, once that has begun */
    uint32_t stripe;       /* of the next slice; 0 between messages */
    uint32_t peer, sends;
    uint32_t channel;   /* of its ports */
    uint64_t sequence;  /* of the last message called */
    uint64_t completed; /* of the last one completed */
    bool active;
    uint64_t idle_since; /* when it last moved; 0: it just did */
    weft_p2p_watch_t watch;
} weft_p2p_queue_t;

typedef struct weft_p2p {
    weft_p2p_queue_t *queues; /* 2 per rank: receives, sends; NULL until the first message */
    uint32_t count;           /* of queues */
    uint32_t *active;         /* queues with work */
    uint32_t nactive;
    uint32_t steps; /* idle steps since the clock was read */
    /* Receives from any rank that have no sender yet, and all receives called after the first of
     * them, in the order of the calls: p2p_any.h. */
    weft_request_t *held_first, *held_last;
    uint32_t next_any;    /* rank to look at first */
    weft_p2p_watch_t any; /* of the first held one */
    uint64_t asked;       /* when peers were last asked about stripes: stripes_compare.c */
} weft_p2p_t;

static inline bool weft_p2p_is_busy(const weft_p2p_t *p2p)
{
    return p2p->nactive > 0 || p2p->held_first != NULL;
}

/* Makes the queues, unless they are there; to be called before append. ERR_RESOURCE. */
weft_status_t weft_p2p_open(weft_p2p_t *p2p, uint32_t nranks, uint32_t channel);
/* Bytes of one rank in them. */
size_t weft_p2p_bytes_per_rank(void);
void weft_p2p_close(weft_p2p_t *p2p);

/* Returns the queue of receives from a rank. weft_p2p_open() has been called. */
static inline weft_p2p_queue_t *weft_p2p_receives(const weft_p2p_t *p2p, uint32_t peer)
{
    return &p2p->queues[2 * peer];
}

/* Returns the queue of a message. weft_p2p_open() has been called. */
static inline weft_p2p_queue_t *weft_p2p_queue_of(const weft_p2p_t *p2p,
                                                  const weft_request_t *request)
{
    return &p2p->queues[2 * request->args.root + request->sends];
}

/* Returns whether a message of this rank, `self`, to itself has its other end before it is called:
 * a send that no receive takes yet, or the other way round. */
static inline bool weft_p2p_has_other_end(const weft_p2p_t *p2p, uint32_t self, bool sends)
{
    if (p2p->queues == NULL) {
        return false;
    }
    const uint64_t received = p2p->queues[2 * self].sequence;
    const uint64_t sent = p2p->queues[2 * self + 1].sequence;
    /* A receive that is held begins with one from any rank, which may take it. */
    return sends ? received > sent || p2p->held_first != NULL : sent > received;
}

/* Returns the next sequence number of the request's queue. */
uint64_t weft_p2p_next_sequence(weft_p2p_t *p2p, const weft_request_t *request);
void weft_p2p_append(weft_p2p_t *p2p, weft_request_t *request);

/* Returns whether the message has to wait until it is known which receive takes what: then it has
 * no number yet, and goes to the held ones. */
static inline bool weft_p2p_must_hold(const weft_p2p_t *p2p, const weft_request_t *request)
{
    return !request->sends && !request->in_stream &&
           (request->args.root == WEFT_ANY_RANK || p2p->held_first != NULL);
}
void weft_p2p_hold(weft_p2p_t *p2p, weft_request_t *request);
/* Gives the first of the held ones, which comes from `peer`, its number and its queue. */
void weft_p2p_unhold(weft_p2p_t *p2p, uint32_t peer);

/* True if all messages called before the first of the queue are completed, also those in
 * streams. */
static inline bool weft_p2p_queue_is_due(const weft_p2p_queue_t *queue)
{
    const weft_request_t *request = queue->first;
    return request->sequence == 0 || request->sequence == queue->completed + 1;
}

/* Takes the first message out and completes it with `status`. */
static inline void weft_p2p_queue_finish(weft_p2p_queue_t *queue, weft_status_t status)
{
    weft_request_t *request = queue->first;
    queue->first = request->next;
    if (queue->first == NULL) {
        queue->last = NULL;
    }
    queue->completed = request->sequence != 0 ? request->sequence : queue->completed;
    weft_request_complete(request, status);
}

/* Removes queues without work from the active ones. */
void weft_p2p_tidy(weft_p2p_t *p2p);

#endif
