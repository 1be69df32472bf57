/* SPDX-License-Identifier: BSD-3-Clause
 *
 * New connections of the tree after the join: to a new parent, and from ranks whose parent left or
 * died. Both ends of a new connection tell each other all that they know.
 *
 * Thread: the health thread's. */
#ifndef WEFT_BOOT_RECONNECT_H
#define WEFT_BOOT_RECONNECT_H

#include "core/boot/boot_state.h"

/* Takes a connection of the control listener. Owns `fd`; closes it if its label is not that of a
 * rank that may connect. */
void weft_reconnect_accept(weft_health_t *health, int fd, const uint8_t label[WEFT_AUTH_LABEL]);
/* Goes on connecting to the new parent, if there is one. */
void weft_reconnect_step(weft_health_t *health);

#endif
