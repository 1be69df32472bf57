/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of mapped FIFOs that comes by need. The shared memory of two ranks is mapped as a whole,
 * but only the control words and slot headers are committed from the beginning. A sender commits
 * the slots that it is about to write for the first time, and it alone: the receiver reads only
 * what was written. A pool counts what the senders of a communicator have committed. When a
 * commit would exceed its limit, ports whose messages are all consumed give their slots back
 * first; no message is needed for that, as nobody reads them. Ports that are idle for long do so
 * without need. The limit is soft: what is in use
 * is never taken away, and segmentation keeps one plan below it.
 *
 * The thread that owns the communicator makes all calls. */
#ifndef WEFT_EXEC_SLOT_POOL_H
#define WEFT_EXEC_SLOT_POOL_H

#include "core/exec/mapped_port.h"
#include "core/os/os.h"

/* Makes the port take its slots from the pool. The area for small payloads is at `small_at` in the
 * memory of `conn`, the slots at `slots_at`. ERR_RESOURCE. */
weft_status_t weft_slot_pool_join(weft_slot_pool_t *pool, struct weft_mapped_port *port,
                                  const weft_slot_store_t *store);

/* Gives the slots of ports back that have carried nothing since the last such sweep. Not between
 * the commit and the sending of a message. */
void weft_slot_pool_sweep(weft_slot_pool_t *pool);
/* The same, if the last sweep was WEFT_SLOT_IDLE_NS ago. */
#define WEFT_SLOT_IDLE_NS (250 * WEFT_NS_PER_MS)
void weft_slot_pool_look(weft_slot_pool_t *pool, uint64_t now);

#endif
