/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Windows: memory that ranks have shown each other. A message over a mapped port may say where in a
 * window of the sender its payload is, in place of the payload (api/weft/plugin/lanes.h); the receiver
 * reads it there. The sender refers only to windows that this receiver has told it to have open. */
#ifndef WEFT_EXEC_WINDOWS_H
#define WEFT_EXEC_WINDOWS_H

#include <weft/plugin/lanes.h>

#include "core/exec/lease.h"

typedef struct weft_port weft_port_t;

/* First words of the inline payload of a message of more than 32 bytes. */
typedef struct weft_reference {
    uint64_t window; /* 0: the payload is in the slot; else the number of a window, plus one */
    uint64_t offset; /* in bytes, of the payload in the window */
} weft_reference_t;

_Static_assert(sizeof(weft_reference_t) <= WEFT_FIFO_INLINE, "ABI");

/* The windows between this rank and another, by number; `bytes` 0: none. */
typedef struct weft_reach {
    weft_lanes_window_t mine[WEFT_LANES_WINDOWS];   /* that the other has open */
    weft_lanes_window_t theirs[WEFT_LANES_WINDOWS]; /* that this rank has open */
    weft_lease_t *lease[WEFT_LANES_WINDOWS];        /* … in host memory of this process */
} weft_reach_t;

/* Of one communicator. Changed only while none of its operations is under way. */
typedef struct weft_windows {
    weft_reach_t *reach; /* per rank; NULL: no window yet */
    uint64_t sent;       /* messages by reference */
} weft_windows_t;

/* How to say in a message over this port that its payload is at `payload`: with window 0 if it is in no
 * window that the peer has open. */
weft_reference_t weft_windows_refer(const weft_port_t *port, const void *payload, uint64_t bytes);

/* Where the payload of the next message over this port is, one of elements of `elem` bytes: *payload_p
 * is NULL if in the slot. From OK until weft_port_release() or weft_windows_leave() the memory stays.
 * AGAIN: its owner has ended the window, and its communicator with it. ERR_PROTO, with the peer: the
 * message names no memory of an open window. */
weft_status_t weft_windows_follow(weft_port_t *port, uint64_t bytes, size_t elem,
                                  const uint8_t **payload_p);
void weft_windows_leave(weft_port_t *port);

#endif
