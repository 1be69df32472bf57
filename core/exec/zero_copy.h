/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Zero-copy messages. A message over a mapped port may carry a descriptor in place of its payload:
 * the payload stays in a window of the sender, and the receiver reads it there
 * (api/weft/plugin/draft/lanes.h). The sender describes only memory of windows that this receiver
 * has told it to have open, and of the arena (arena.h) if the receiver has taken it. The sender
 * offers its arena in the first messages from there, whose payloads still go through slots. The
 * receiver answers in the control words of the FIFO: with the token of the offer if it could map
 * the arena, else with its complement. Nothing is exchanged before, and nobody waits.
 *
 * The thread that owns the communicator makes all calls. */
#ifndef WEFT_EXEC_ZERO_COPY_H
#define WEFT_EXEC_ZERO_COPY_H

#include "core/exec/port.h"
#include "core/os/os.h"

/* A rank that would be done when it has sent copies what is shorter: a copy costs less than waiting
 * for the receiver. */
#define WEFT_ZERO_COPY_LEAST (UINT64_C(16) << 10)

/* Describes `bytes` bytes at `payload` to the peer of a mapped port, and counts the message; or
 * to weft_port_send(), if the transport takes them from there. Window 0: they have to be copied,
 * because they are few, the peer has no window open that holds them, or the transport needs them in
 * a slot. */
weft_zero_copy_t weft_zero_copy_describe(weft_port_t *port, const void *payload, uint64_t bytes);
/* The same for a message that the peer may take when it has ended its imports of windows: it refers
 * to none. */
weft_zero_copy_t weft_zero_copy_describe_arena(weft_port_t *port, const void *payload,
                                               uint64_t bytes);

/* Finds the payload of the next message over a mapped port, of elements of `elem` bytes.
 * *payload_p is NULL if it is in the slot. After OK the memory stays until weft_port_release()
 * or weft_zero_copy_abandon(). AGAIN: its owner has ended the window, and its communicator with
 * it. ERR_PROTO, with the peer: the message names no memory of an open window. */
weft_status_t weft_zero_copy_resolve(weft_port_t *port, uint64_t bytes, size_t elem,
                                     const uint8_t **payload_p);

/* Returns whether the sender has withdrawn its memory: what was read from it may be anything. To be
 * asked after a zero-copy message has been read, before the result is used. */
static inline bool weft_zero_copy_is_withdrawn(weft_port_t *port)
{
    weft_os_fence_reads();
    return atomic_load_explicit(&weft_mapped_port(port)->control->withdrawn,
                                memory_order_relaxed) != 0;
}

/* Tells the peer of a port that it must not use what it reads from memory of this rank any more,
 * because the communicator has failed and the caller gets its buffers back. */
void weft_zero_copy_withdraw(weft_port_t *port);

/* Ends the read that weft_zero_copy_resolve() began, if any, without releasing the message. */
void weft_zero_copy_abandon(weft_port_t *port);

/* Counts `messages` zero-copy messages that a device has sent over one of the ports, and `whole`
 * whole runs of its blocks. */
void weft_zero_copy_count(weft_port_t *const *ports, uint32_t nports, uint64_t messages,
                          uint64_t whole);

#endif
