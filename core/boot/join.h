/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Joining and leaving: from a unique id to a tree of authenticated control connections over all
 * ranks. */
#ifndef WEFT_BOOT_JOIN_H
#define WEFT_BOOT_JOIN_H

#include "core/boot/boot_types.h"
#include "core/config/settings.h"

typedef struct weft_join weft_join_t;

/* Begins to join: connects to the root of the id, proves who we are, and sends our join request.
 * From the first message on, which goes out before anything else is made, the root knows of this
 * rank, and names it to all if it dies. Opens no socket if nranks is 1. Blocks until the root has
 * answered, at most until init_timeout. ERR_ARG, ERR_STATE: the id is stale; ERR_AUTH,
 * ERR_PEER_DEAD, ERR_TIMEOUT, ERR_CONFIG: no interface or no port is left; ERR_RESOURCE,
 * ERR_SYSTEM. */
weft_status_t weft_join_begin(const weft_boot_settings_t *settings, uint32_t nranks,
                              const weft_unique_id_t *id, uint32_t rank, weft_join_t **join_p);
/* Waits for the other ranks and connects to the neighbours in the tree. Frees the join, whatever it
 * returns. Blocks until all have joined, at most until init_timeout, which runs since
 * weft_join_begin(). Else the failure that the root or a neighbour tells; ERR_PEER_DEAD,
 * ERR_TIMEOUT, ERR_PROTO, ERR_RESOURCE, ERR_SYSTEM. */
weft_status_t weft_join_complete(weft_join_t *join, weft_boot_t **boot_p);
/* Gives up in between, and frees: all other ranks are told that this one did, with the calling
 * thread's error as the reason, and fail with its status. NULL is allowed. */
void weft_join_abandon(weft_join_t *join);

/* Both at once, for those that have nothing to do in between. */
weft_status_t weft_boot_join(const weft_boot_settings_t *settings, uint32_t nranks,
                             const weft_unique_id_t *id, uint32_t rank, weft_boot_t **boot_p);

/* After the join and before the health channel: tells all other ranks that this one gives up, with
 * the calling thread's error as the reason. weft_boot_leave() follows. Does nothing after a failure
 * of an exchange, which all know. */
void weft_boot_give_up(weft_boot_t *boot);
/* Closes all connections, ends the health thread and frees. NULL is allowed. */
void weft_boot_leave(weft_boot_t *boot);

#endif
