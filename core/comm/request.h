/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A request: one operation from its call to its completion. */
#ifndef WEFT_COMM_REQUEST_H
#define WEFT_COMM_REQUEST_H

#include "core/comm/async.h"
#include "core/comm/vectors.h"

typedef enum weft_op_state {
    WEFT_OP_QUEUED = 0,
    WEFT_OP_BINDING, /* links are being made */
    WEFT_OP_RUNNING,
    WEFT_OP_DRAINING, /* the results are there, the last messages are leaving */
    WEFT_OP_DONE
} weft_op_state_t;

/* A blocking operation lives on the caller's stack. An asynchronous one may be looked at by any
 * thread once its end is told (async.h); until then it belongs to the owner of its communicator. */
struct weft_request {
    weft_comm_t *handle; /* NULL: the request of a group */
    struct weft_request *next;
    weft_args_t args;
    weft_op_state_t state;
    weft_status_t status; /* final once DONE */
    uint64_t sequence;    /* from 1, per communicator; send_recv: per p2p queue; 0: captured */
    uint64_t deadline;
    uint64_t started;
    double timeout;
    uint8_t scalar[8];
    const void *late_scalar;       /* read into `scalar` when the operation begins */
    weft_bound_vectors_t *vectors; /* vector collectives */
    bool appended;                 /* false: noted in a group that is still open */
    bool in_stream;                /* a stream waits for the host to do it */
    uint32_t sends;                /* send_recv: 1 = a send */
    bool held;                     /* send_recv: it waits in the line of p2p_any.h at first */
    uint32_t *source_p;            /* receive: where its sender is stored, or NULL */
    uint64_t moved;                /* send_recv: elements that went through the port */
    weft_async_t *async;           /* NULL: its caller waits for it */
    weft_flight_entry_t *flight;   /* of this operation; NULL: none */
    weft_error_t **error_p;        /* where a copy of its error is put if it fails, or NULL */
    /* Calls of a group that it stands for (fusion.h), and what ends them with it; or NULL. */
    struct weft_fusion *fusion;
    void (*end_members)(struct weft_fusion *fusion, weft_status_t status);
};

/* Fills a request from checked arguments, ready to be submitted. ERR_ARG (vectors),
 * ERR_RESOURCE. */
weft_status_t weft_request_fill(const weft_comm_identity_t *self, weft_request_t *request,
                                const weft_args_t *args, const weft_call_t *call);
/* As weft_request_fill(), in memory that weft_request_free() frees. Asynchronous calls: also
 * ERR_STATE (there is no such queue). */
weft_status_t weft_request_create(const weft_comm_identity_t *self, const weft_args_t *args,
                                  const weft_call_t *call, weft_request_t **request_p);
/* Makes the request of a group of `parts` operations on up to that many communicators; its fields
 * nparts and ncomms are 0. ERR_STATE (there is no such queue), ERR_RESOURCE. */
weft_status_t weft_request_create_group(const weft_call_t *call, uint32_t parts,
                                        weft_request_t **request_p);
void weft_request_free(weft_request_t *request);

/* Begins the time of a request: when it is called, or when it is first looked at. */
static inline void weft_request_begin(weft_request_t *request, uint64_t now)
{
    request->started = now;
    request->deadline = weft_os_deadline_after(now, request->timeout);
}

/* Gives back an asynchronous request that is done and returns its status; its error becomes the
 * thread's. */
weft_status_t weft_request_end(weft_request_t **request_p);

/* Returns the operations behind the request of a group: one without a communicator of its own. */
static inline weft_async_group_t *weft_request_group(const weft_request_t *request)
{
    return (weft_async_group_t *)request->async;
}

/* Tells those that want to hear of its end: the flight record, a caller that asked for the source
 * or for the error, the owner of an asynchronous one, the members of a fusion. A caller that gets
 * the error takes it from the thread's record, so that it is not taken for that of the next
 * request. */
void weft_request_tell(const weft_request_t *request, weft_status_t status);

/* Marks the request as done with `status`; a failure is the calling thread's error. Its owner may
 * free it from then on, and that of an asynchronous one is any thread. */
static inline void weft_request_complete(weft_request_t *request, weft_status_t status)
{
    request->status = status;
    request->state = WEFT_OP_DONE;
    /* A short blocking call has nobody to tell: one branch in place of four, and one that is
     * never taken. */
    if (((uintptr_t)request->flight | (uintptr_t)request->source_p | (uintptr_t)request->async |
         (uintptr_t)request->end_members) != 0 ||
        status < 0) {
        weft_request_tell(request, status);
    }
}

/* Returns the position of `request` in a list that is ordered by sequence numbers. A captured
 * operation has none: it goes before all that have not begun. */
static inline weft_request_t **weft_request_position(weft_request_t **first, weft_request_t *last,
                                                     const weft_request_t *request)
{
    weft_request_t **position = first;
    if (last != NULL && last->sequence <= request->sequence) {
        return &last->next;
    }
    while (*position != NULL &&
           ((*position)->state != WEFT_OP_QUEUED || (*position)->sequence == 0 ||
            (*position)->sequence < request->sequence)) {
        position = &(*position)->next;
    }
    return position;
}

/* True if input and output overlap. */
static inline bool weft_request_overlaps(const weft_request_t *request)
{
    const weft_args_t *args = &request->args;
    uintptr_t send = (uintptr_t)args->send;
    uintptr_t recv = (uintptr_t)args->recv;
    return args->send_bytes > 0 && args->recv_bytes > 0 && send < recv + args->recv_bytes &&
           recv < send + args->send_bytes;
}

/* Returns the arguments that all calls of its class of sizes share: see weft_select(). */
weft_args_t weft_request_class(const weft_request_t *request);

#endif
