/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The windows between this rank and its peers, and the descriptor by which a message refers to one.
 * zero_copy.h has the functions. */
#ifndef WEFT_EXEC_PEER_WINDOWS_H
#define WEFT_EXEC_PEER_WINDOWS_H

#include <weft/plugin/draft/lanes.h>

#include "core/exec/arena.h"
#include "core/exec/host_export.h"

/* The words in place of the inline payload of a message of more than 32 bytes. Devices know the
 * first two (api/weft/plugin/draft/lanes.h). */
typedef struct weft_zero_copy {
    uint64_t window; /* 0: the payload is in the slot; else the number of a window, plus one */
    uint64_t offset; /* of the payload in the window, in bytes */
    weft_arena_offer_t offer; /* of the sender's arena; token 0: none */
} weft_zero_copy_t;

/* In place of a window: `offset` is the address of a payload that the transport takes from there.
 * Never sent. */
#define WEFT_ZERO_COPY_HERE UINT64_MAX

_Static_assert(sizeof(weft_zero_copy_t) <= WEFT_FIFO_INLINE, "ABI");

/* The window that is the sender's arena: no window of weft_window_register(). */
#define WEFT_ARENA_WINDOW (WEFT_LANES_WINDOWS + 1)

/* In place of a window: the payload is where the receiver wanted it (landing.h). Until the message
 * is sent, `offset` is the address of that place in this process. */
#define WEFT_ZERO_COPY_LANDED (WEFT_ARENA_WINDOW + 2)

/* Windows that this rank and one peer have opened to each other, by number. `bytes` is 0 where
 * there is none. */
typedef struct weft_peer_windows {
    weft_lanes_window_t mine[WEFT_LANES_WINDOWS];   /* of this rank, open in the peer */
    weft_lanes_window_t theirs[WEFT_LANES_WINDOWS]; /* of the peer, open in this rank */
    weft_import_t *import[WEFT_LANES_WINDOWS];      /* of theirs, in host memory of this process */
} weft_peer_windows_t;

/* All windows of a communicator. They change only while none of its operations is under way. */
typedef struct weft_windows {
    weft_peer_windows_t *reach; /* per rank; NULL: no window yet */
    uint64_t sent;              /* messages whose payload stayed in a window */
    uint64_t whole;             /* whole runs of blocks of a device (weft/plugin/draft/lanes.h) */
    uint64_t landed;            /* messages written where the receiver wanted them: landing.h */
} weft_windows_t;

#endif
