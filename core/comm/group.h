/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The open group of the calling thread: operations that are noted first and run together
 * afterwards. */
#ifndef WEFT_COMM_GROUP_H
#define WEFT_COMM_GROUP_H

#include "core/comm/comm.h"
#include "core/comm/fusion.h"

/* Who has a noted operation until it ends. */
typedef enum weft_group_owner {
    WEFT_GROUP_WAITS,       /* whoever ends the group, and waits */
    WEFT_GROUP_REQUEST,     /* the request of the whole group, of which it is a part */
    WEFT_GROUP_OWN_REQUEST, /* a request or a queue of its own */
    WEFT_GROUP_STREAM       /* a stream of the device */
} weft_group_owner_t;

/* A noted operation. */
typedef struct weft_group_note {
    weft_request_t own; /* of a call that the group waits for */
    struct weft_group_note *next;
    weft_request_t *request; /* &own, or one that outlives the group */
    weft_comm_t *comm;
    weft_comm_state_t *state; /* while the group has entered comm */
    weft_group_owner_t owner;
    void *stream; /* the device's handle */
    weft_op_t op; /* that it holds, of the user's; WEFT_OP_COUNT: none */
    /* The head of its row, which is what enters the stream together. The head has the requests. */
    const struct weft_group_note *head;
    weft_request_t *row;
    bool started;
    bool fused;            /* its call runs in the fusion of a note before it */
    weft_fusion_t *fusion; /* of this call and others, until it is started; or NULL */
    weft_error_t *error;   /* why it failed, if the group waits for it; NULL: not known */
} weft_group_note_t;

typedef struct weft_group {
    uint32_t depth;
    uint32_t forks;       /* before it was opened */
    weft_status_t failed; /* of the first call that failed while the group was open */
    weft_group_note_t *first, *last;
    uint32_t notes, in_streams;
} weft_group_t;

/* Opens a group, or one more level of the open one. */
void weft_group_open(void);
/* Closes one level. True: it was the last, and the caller gets the notes. At least one is open. */
bool weft_group_close(weft_group_t *group);
bool weft_group_is_open(void);
/* True if more than one level is open. */
bool weft_group_is_nested(void);

/* Notes an operation with checked arguments. ERR_ARG (vectors), ERR_RESOURCE. */
weft_status_t weft_group_note(weft_comm_state_t *state, const weft_args_t *args,
                              const weft_call_t *call);

/* Drops the notes of a closed group, with the requests of its blocking calls, and of those that
 * were not begun. `entered`: this thread holds the communicators, which keep the memory for the
 * next group. */
void weft_group_forget(weft_group_t *group, bool entered);

/* Remembers that a call of the open group failed; returns `status`. Outside a group it does
 * nothing. */
weft_status_t weft_group_fail(weft_status_t status);

/* Makes the error of that first call the thread's, after weft_group_close() of a group that has
 * failed. */
void weft_group_raise(void);

/* The first note of the thread's open group, or NULL. */
const weft_group_note_t *weft_group_notes(void);

/* Warns of the calls that the thread's open group loses with that communicator. */
void weft_group_tell_lost(const weft_comm_t *comm);

/* For calls that cannot be part of a group: ERR_STATE inside one, which fails with it. */
weft_status_t weft_group_refuse(const char *call);

#endif
