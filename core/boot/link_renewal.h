/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections of the tree that break while ranks join, and are made again. The child connects to
 * its parent once more. The parent, which can only wait for that, knocks until it comes: it
 * connects to the child's listener and closes. If nobody listens, at either end, the rank has died.
 * Where nothing comes back it is looked for until boot.unresponsive is over.
 * One end may not know that the connection is broken: a parent takes the child's new one in its
 * place, and a child that hears a knock sends a sign of life, which the parent's kernel answers by
 * a reset.
 * (reconnect.h does the same after the join.) What is said over a new connection is tree_link.h's
 * business.
 *
 * Thread: the one that joins. Nothing blocks. */
#ifndef WEFT_BOOT_LINK_RENEWAL_H
#define WEFT_BOOT_LINK_RENEWAL_H

#include "core/boot/boot_state.h"

#define WEFT_RENEWAL_ENTRIES (1 + WEFT_TREE_LINKS)

/* The connection has broken. Closes it; the next steps make it again. False: it has broken too
 * often. */
bool weft_link_renewal_begin(weft_tree_link_t *link);
/* A new connection of the link. */
void weft_link_renewal_attach(weft_tree_link_t *link, int fd);
/* Takes a connection of the listener: that of a child, or a knock, or it is closed. */
void weft_link_renewal_accept(weft_boot_t *boot, int fd, const uint8_t label[WEFT_AUTH_LABEL]);

/* Sends BEAT, or AGAIN with what was taken from this link: frames that fit the socket's buffer. If
 * one cannot be sent, receiving finds out, and link->reset says why. */
void weft_link_renewal_say(const weft_boot_t *boot, weft_tree_link_t *link, uint32_t type);

/* Fills the poll entries and lowers *until to the time at which weft_link_renewal_step() must be
 * called. */
void weft_link_renewal_prepare(const weft_boot_t *boot, struct pollfd entries[WEFT_RENEWAL_ENTRIES],
                               uint64_t *until);
/* Takes what has come to the listener, and goes on with all links. A failure is that of *link_p:
 * ERR_LINK: nobody is there any more; ERR_TIMEOUT: nothing has come back for boot.unresponsive;
 * ERR_RESOURCE; and those of the connector. */
weft_status_t weft_link_renewal_step(weft_boot_t *boot, const struct pollfd *listener,
                                     weft_tree_link_t **link_p);
/* Gives up what is under way. A connection of which only sending has found that it was reset counts
 * as broken: whoever reads from it next would see an end, as of a rank that died. */
void weft_link_renewal_end(weft_tree_link_t *link);

#endif
