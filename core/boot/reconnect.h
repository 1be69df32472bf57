/* SPDX-License-Identifier: BSD-3-Clause
 *
 * New connections of the tree after the join: to a new parent, and from ranks whose parent left or
 * died. Both ends of a new connection tell each other all that they know.
 *
 * A connection may break while both ends live, by a reset from the middle of the network. The child
 * then connects again, as to a new parent. The parent, which can only wait for that, knocks: it
 * connects to the child's listener and closes. If nobody listens, at either end, the rank has died,
 * unless a neighbour that is asked says first that it left.
 * If nothing comes back from the parent's address, the child goes to the next one, and knocks at
 * the first again and again: when that one opens, it is the parent as before.
 * One end may not know yet that the connection is broken: a parent takes the child's new one in its
 * place, and a child that hears a knock sends a sign of life, which the parent's kernel answers by
 * a reset.
 *
 * Thread: the health thread's. */
#ifndef WEFT_BOOT_RECONNECT_H
#define WEFT_BOOT_RECONNECT_H

#include "core/boot/boot_state.h"

/* Takes a connection of the control listener. Owns `fd`; closes it if its label is not that of a
 * rank that may connect. */
void weft_reconnect_accept(weft_health_t *health, int fd, const uint8_t label[WEFT_AUTH_LABEL]);
/* Goes on connecting to the parent, and knocking, if there is something to do. */
void weft_reconnect_step(weft_health_t *health);
/* Fills two poll entries and lowers *until to the time at which weft_reconnect_step() must be
 * called. */
void weft_reconnect_prepare(const weft_health_t *health, struct pollfd entries[2], uint64_t *until);
/* Gives up what is under way. */
void weft_reconnect_end(weft_health_t *health);

#endif
