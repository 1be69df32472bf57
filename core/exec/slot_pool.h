/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of mapped FIFOs that comes by need. The shared memory of two ranks is mapped as a whole,
 * but only the control words and slot headers are committed from the beginning. A sender commits
 * the slots that it is about to write for the first time, and it alone: the receiver reads only
 * what was written. A pool counts what the senders of a communicator have committed. When a
 * commit would exceed its limit, ports whose messages are all consumed give their slots back
 * first; no message is needed for that, as nobody reads them. The limit is soft: what is in use
 * is never taken away, and segmentation keeps one plan below it.
 *
 * The thread that owns the communicator makes all calls. */
#ifndef WEFT_EXEC_SLOT_POOL_H
#define WEFT_EXEC_SLOT_POOL_H

#include "core/exec/mapped_port.h"

/* Makes the port take its slots from the pool. The area for small payloads is at `small_at` in the
 * memory of `conn`, the slots at `slots_at`. ERR_RESOURCE. */
weft_status_t weft_slot_pool_join(weft_slot_pool_t *pool, struct weft_mapped_port *port,
                                  const weft_slot_store_t *store);

#endif
