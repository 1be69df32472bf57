/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Traffic of the links that are ready: completions, posts that had to wait, proxies, the health of
 * connections. The thread that owns the communicator makes all calls; none blocks. */
#ifndef WEFT_EXEC_TRAFFIC_H
#define WEFT_EXEC_TRAFFIC_H

#include <poll.h>

#include "core/exec/links_setup.h"
#include "core/exec/port_base.h"

/* Most descriptors that a sleep waits for. */
#define WEFT_LINKS_WATCHED (2 * WEFT_TRANSPORTS_MAX)

/* Returns whether some link carries messages, that is, whether weft_links_poll() has to be
 * called. `links` may be NULL. */
bool weft_links_have_messages(const weft_links_t *links);
/* Returns whether a step asks a transport, which takes longer than a look at memory: some link
 * carries messages, or somebody has waited for one in this step. `links` may be NULL. */
bool weft_links_ask_transports(const weft_links_t *links);
/* Returns whether a sleep on one kind of links may miss news: some carry messages, or are being
 * made, and others share memory; or weft_links_listen() has found somebody. `links` may be NULL. */
bool weft_links_are_mixed(const weft_links_t *links);
/* Takes completions from all message transports. Returns the transport's failure. */
weft_status_t weft_links_poll(weft_links_t *links);
/* Returns how many times weft_links_poll() or weft_links_progress() has taken what no descriptor
 * tells again: a completion, the end of a connection's making, an accepted connection. Who waits
 * has to look before it sleeps. `links` may be NULL. */
uint64_t weft_links_events(const weft_links_t *links);
/* Begins a step, in which whoever needs a link that is not made calls weft_links_progress(): a
 * sleep behind it ends when that goes on. Returns weft_links_events(). `links` may be NULL. */
uint64_t weft_links_begin_step(weft_links_t *links);
/* Accepts connections for any communicator of the family, so that no peer waits for one until this
 * rank needs one. There is a look each millisecond. For as long after one that finds somebody there
 * are more, and sleeps are as short as naps: the peer has more to say. What fails is told when
 * somebody needs a link. Returns whether there was a look. `links` may be NULL. */
bool weft_links_listen(weft_links_t *links, uint64_t now);
/* As if that had found somebody: this rank makes a link for a peer, of any communicator. */
void weft_links_expect(weft_links_t *links, uint64_t now);
/* Returns whether weft_links_listen() has found somebody a short time ago. `links` may be NULL. */
bool weft_links_are_called(const weft_links_t *links);
/* Posts slots that had to wait for resources, and steps the proxies. It visits ports with such
 * work only. Sets *moved_p if a proxy passed something on. Returns the failure of the first
 * broken port, with the peer; the other ports were served. */
weft_status_t weft_links_flush(weft_links_t *links, bool *moved_p);
/* Returns a port that broke with messages which never left, or NULL. Its peer has not left, and
 * waits for them. */
weft_port_t *weft_links_lost(const weft_links_t *links);
/* Of links that failed, but not by the peer's end or leaving: has new links avoid their devices
 * where the peer has another (transports.h). Returns the transport of such a device, or NULL.
 * `links` may be NULL. */
const weft_transport_t *weft_links_avoid_lost(weft_links_t *links);
/* Sleeps until weft_links_poll() or weft_links_progress() may find something, or for about
 * `timeout_ns`. Returns whether a sleep was possible: false if there is nothing to wait for, or a
 * transport that cannot tell. */
bool weft_links_sleep(weft_links_t *links, uint64_t timeout_ns);
/* Fills in what such a sleep would wait for, for a caller that waits for other things, too, and
 * gives the links away meanwhile. Returns how many; 0: no sleep is possible, something is here
 * already, or news may come in memory. `links` may be NULL. */
uint32_t weft_links_watch(weft_links_t *links, struct pollfd fds[WEFT_LINKS_WATCHED]);

/* Checks whether the peer of a port is still there. The port must belong to these links. */
weft_status_t weft_links_check(weft_links_t *links, const weft_port_t *port);
/* Tells devices of the windows after they have changed. Returns the device's failure. */
weft_status_t weft_links_announce_windows(weft_links_t *links);
/* Tells all peers that the memory of this rank must not be read any more (zero_copy.h). */
void weft_links_withdraw_memory(weft_links_t *links);
/* Gives slots back that nobody used since the last sweep (slot_pool.h). Between two slices. NULL is
 * allowed. */
void weft_links_sweep(weft_links_t *links);
/* The same, unless the last look was a short time ago. */
void weft_links_look_for_idle(weft_links_t *links, uint64_t now);
/* Returns whether something that a device sent still waits in slots. */
bool weft_links_have_unsent(const weft_links_t *links);

/* Returns the name of the transport that serves `peer`. "" for this rank itself. */
const char *weft_links_transport_name(const weft_links_t *links, uint32_t peer);
/* Returns whether a link to `peer` carries messages in memory of the device. */
bool weft_links_is_gpudirect(const weft_links_t *links, uint32_t peer);

#endif
