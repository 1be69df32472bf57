/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections of the tree before the health thread owns them: bounded sending and receiving that
 * notices the failure of any neighbour, and the spreading of failures. */
#ifndef WEFT_BOOT_TREE_LINK_H
#define WEFT_BOOT_TREE_LINK_H

#include "core/boot/boot_state.h"
#include "core/boot/wire.h"

/* Move `bytes` over a link before `until`. Both block until then. Receiving watches the other
 * neighbours meanwhile, so that a failure anywhere ends the wait; `what` names the step in errors.
 * ERR_PEER_DEAD, ERR_TIMEOUT, or the failure that a neighbour reports. */
weft_status_t weft_tree_link_send(weft_boot_t *boot, weft_tree_link_t *link, const void *data,
                                  size_t bytes, uint64_t until);
weft_status_t weft_tree_link_recv(weft_boot_t *boot, weft_tree_link_t *link, const char *what,
                                  void *data, size_t bytes, uint64_t until);

/* The payload of a FAIL frame becomes the calling thread's error record. Returns its status. */
weft_status_t weft_tree_adopt_failure(const weft_boot_t *boot,
                                      const uint8_t payload[WEFT_WIRE_ERROR], uint32_t from);
/* Sends the calling thread's error record to all neighbours, at most once. */
void weft_tree_spread_failure(weft_boot_t *boot);

#endif
