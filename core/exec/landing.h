/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Landings: a receiver says where it wants the payloads of messages to come, and the sender writes
 * them there instead of into slots. The place lies in the arena of the receiver (arena.h). An offer
 * stands in the control words of the FIFO. It is made before the message, and only the messages
 * that it names may use it; the sender is free not to.
 *
 * Who offers promises that no one reads or writes the place until the message has come, or until
 * the offer has been withdrawn. A sender announces that it writes before it looks whether the offer
 * still stands, and the owner does the two steps in the opposite order. So memory that has been
 * given back to the caller is not written any more.
 *
 * The thread that owns the communicator makes all calls. */
#ifndef WEFT_EXEC_LANDING_H
#define WEFT_EXEC_LANDING_H

#include "core/exec/mapped_port.h"

/* Smaller payloads go through slots, which costs less than an offer. */
#define WEFT_LANDING_MIN UINT64_C(4096)

/* The messages of one chunk and where they are wanted. */
typedef struct weft_landing_chunk {
    uint64_t ahead; /* of its first message: how many come before it over this port */
    void *to;
    uint64_t bytes; /* of the chunk */
    uint64_t slice; /* of every message but the last; at least 1 */
} weft_landing_chunk_t;

/* Offers the place of one chunk to the sender, and forgets the last offer of the port, whose
 * messages must have come. Does nothing unless the port is mapped and the place is in the arena. */
void weft_landing_offer(weft_port_t *port, const weft_landing_chunk_t *chunk);

/* Returns where the next message of a receiving port lies, of which the sender says that it was
 * written to its place. NULL: that place was not offered for it. */
const uint8_t *weft_landing_take(const weft_mapped_port_t *mapped, uint64_t bytes);

/* Withdraws the offer of a receiving port and waits until the sender does not write there: for a
 * slice at most, unless it has stopped; then for a second. Any port may be passed. */
void weft_landing_withdraw(weft_port_t *port);

/* Returns where the receiver wants the next message, of elements of `elem` bytes, and announces the
 * write. NULL: it wants it in a slot. */
uint8_t *weft_landing_begin(weft_port_t *port, uint64_t bytes, size_t elem);

/* The payload is written, or never will be. */
static inline void weft_landing_end(weft_port_t *port)
{
    atomic_store_explicit(&weft_mapped_port(port)->control->writes, 0, memory_order_release);
}

#endif
