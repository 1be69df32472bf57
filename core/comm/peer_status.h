/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the health channel said of each rank of a communicator, which the health thread writes and
 * the owner of the communicator reads; and what that tells the channel. */
#ifndef WEFT_COMM_PEER_STATUS_H
#define WEFT_COMM_PEER_STATUS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/signature.h"

#define WEFT_NOT_LEFT UINT64_MAX

/* How this rank cuts the last message that it called in one direction: stripes_compare.c. */
typedef struct weft_peer_cut {
    _Atomic uint64_t message; /* its number and that of its stripes; 0: none */
    _Atomic uint64_t bytes;   /* of it; written before */
} weft_peer_cut_t;

/* One peer. */
typedef struct weft_peer_status {
    _Atomic uint64_t left_at;   /* operations it took part in before it left; or WEFT_NOT_LEFT */
    _Atomic uint64_t left_when; /* when that was heard; written before left_at */
    weft_signature_run_t *left_run; /* the last of them; NULL: unknown. Written before left_at */
    _Atomic uint32_t roll;          /* its answer at the last roll call: roll_call.c */
    _Atomic uint32_t met_at; /* number in the signature of the operation in which it asked for us,
                                being in the same */
    weft_peer_cut_t cut[2];  /* received from it, sent to it; the owner writes it */
} weft_peer_status_t;

static inline bool weft_peer_has_left(const weft_peer_status_t *peer)
{
    return atomic_load_explicit(&peer->left_at, memory_order_acquire) != WEFT_NOT_LEFT;
}

/* Returns for how long nothing has come from a peer that left: since the last movement, or since
 * its leaving was heard of, whichever was later. */
static inline uint64_t weft_peer_gone_for(const weft_peer_status_t *peer, uint64_t idle_since,
                                          uint64_t now)
{
    uint64_t heard = atomic_load_explicit(&peer->left_when, memory_order_relaxed);
    uint64_t since = heard > idle_since ? heard : idle_since;
    return now > since ? now - since : 0;
}

#endif
