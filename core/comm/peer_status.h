/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the health channel said of each rank of a communicator, which the health thread writes and
 * the owner of the communicator reads; and what that tells the channel. */
#ifndef WEFT_COMM_PEER_STATUS_H
#define WEFT_COMM_PEER_STATUS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/signature.h"
#include "core/os/os.h"

#define WEFT_NOT_LEFT UINT64_MAX

/* How this rank cuts the last message that it called in one direction: stripes_compare.c. */
typedef struct weft_peer_cut {
    _Atomic uint64_t message; /* 24 bits: notes so far; 32: its number; 8: its stripes, 0: none */
    _Atomic uint64_t bytes;
} weft_peer_cut_t;

/* Notes a message of `count` stripes, 1 to 255. Thread: the owner. */
static inline void weft_peer_cut_set(weft_peer_cut_t *cut, uint32_t message, uint32_t count,
                                     uint64_t bytes)
{
    const uint64_t note = (atomic_load_explicit(&cut->message, memory_order_relaxed) >> 40) + 1;
    atomic_store_explicit(&cut->message, note << 40, memory_order_relaxed); /* none, meanwhile */
    weft_os_fence_writes();
    atomic_store_explicit(&cut->bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&cut->message, note << 40 | (uint64_t)message << 8 | count,
                          memory_order_release);
}

/* Returns the stripes of that message, and its bytes; 0: another one was noted, or just is. Thread:
 * any. */
static inline uint32_t weft_peer_cut_get(weft_peer_cut_t *cut, uint32_t message, uint64_t *bytes_p)
{
    const uint64_t noted = atomic_load_explicit(&cut->message, memory_order_acquire);
    *bytes_p = atomic_load_explicit(&cut->bytes, memory_order_relaxed);
    weft_os_fence_reads();
    const bool whole = atomic_load_explicit(&cut->message, memory_order_relaxed) == noted;
    return whole && (uint32_t)(noted >> 8) == message ? (uint32_t)(noted & 0xff) : 0;
}

/* One peer. */
typedef struct weft_peer_status {
    _Atomic uint64_t left_at;   /* operations it took part in before it left; or WEFT_NOT_LEFT */
    _Atomic uint64_t left_when; /* when that was heard; written before left_at */
    weft_signature_run_t *left_run; /* the last of them; NULL: unknown. Written before left_at */
    _Atomic uint64_t roll;          /* its answer at a roll call, and at which: roll_call.c */
    _Atomic uint32_t met_at;   /* number in the signature of the operation in which it asked for us,
                                being in the same */
    _Atomic uint32_t answered; /* the last of our questions whether it lives that it has answered */
    _Atomic bool puts;         /* it has asked this rank to receive puts */
    weft_peer_cut_t cut[2];    /* received from it, sent to it; the owner writes it */
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
