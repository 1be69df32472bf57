/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections that came before their communicator asked for them. The caller holds a lock around
 * every call. */
#ifndef WEFT_EXEC_EARLY_H
#define WEFT_EXEC_EARLY_H

#include <stdbool.h>

#include "core/exec/transport.h"
#include "core/os/os.h"

/* What the connector tells the acceptor, under the authentication. Ranks are the communicator's. */
typedef struct weft_conn_label {
    uint64_t comm_id;
    uint64_t slot_bytes;
    uint32_t from, to;
    uint32_t channel;
    uint32_t slots;
    uint8_t zero[WEFT_AUTH_LABEL - 32];
} weft_conn_label_t;

_Static_assert(sizeof(weft_conn_label_t) == WEFT_AUTH_LABEL, "fills the label");

/* Tells whether a rank has left a communicator; ranks are the communicator's. has_left NULL: no. */
typedef struct weft_leavers {
    bool (*has_left)(const void *arg, uint32_t rank);
    const void *arg;
} weft_leavers_t;

/* A communicator that connections may be for. */
typedef struct weft_transports_user {
    struct weft_transports_user *next;
    uint64_t comm_id;
    weft_leavers_t leavers;
    bool first; /* the family's first: it may use transports that cannot attach */
} weft_transports_user_t;

/* A connection that is kept, over which nothing can come before its communicator takes it. */
typedef struct weft_early_note {
    uint64_t comm_id;
    uint32_t from, channel;
} weft_early_note_t;

/* All zero but the first two: nobody expects a connection, and there is none. */
typedef struct weft_early {
    const weft_os_mutex_t *lock;   /* what the caller holds */
    const weft_transport_t *entry; /* the transports, by index */
    weft_transports_user_t *users;
    struct weft_early_conn *conns; /* newest first */
} weft_early_t;

/* Keeps connections for user->comm_id until the user is removed. */
void weft_early_add_user(weft_early_t *early, weft_transports_user_t *user);
/* Closes the user's connections that nobody has taken. */
void weft_early_remove_user(weft_early_t *early, weft_transports_user_t *user);

/* Accepts what has arrived at the first `count` transports, for any communicator, and keeps it.
 * `first`: the caller has the family's first communicator. ERR_RESOURCE, or the failure of a
 * plugin. */
weft_status_t weft_early_take_in(weft_early_t *early, uint32_t count, bool first);

/* Tells of one connection that is kept and needs slots of this rank, of each once. False: there is
 * none of which it has not told. */
bool weft_early_take_note(weft_early_t *early, weft_early_note_t *note);

/* Accepts what has arrived at the first `count` transports, then gives out one connection for
 * `user`, which the caller owns. AGAIN: none. ERR_RESOURCE, or the failure of a plugin. */
weft_status_t weft_early_accept(weft_early_t *early, uint32_t count,
                                const weft_transports_user_t *user, uint32_t *index_p,
                                weft_net_conn_t **conn_p, weft_conn_label_t *label);

/* Closes all that are left. */
void weft_early_close(weft_early_t *early);

#endif
