/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rails: what a connection needs of each of its ports, and whether the port still serves it.
 * Thread: [progress]. */
#ifndef WEFT_PLUGINS_NET_IB_RAIL_H
#define WEFT_PLUGINS_NET_IB_RAIL_H

#include "ib.h"

#define IB_RAILS_TEXT 160u /* bytes of the names of rails in a text */

/* Opens a rail: chooses the GID for the peer's, makes the completion queue and registers the rings.
 * Returns OK; ERR_LINK or ERR_RESOURCE with the error set. */
weft_status_t ib_rail_open(weft_net_conn_t *conn, uint32_t index, const ib_gid_t *peer);
/* Closes all rails, so that they can be opened again. Their queue pairs are destroyed before. */
void ib_rails_close(weft_net_conn_t *conn);

/* Lets the device's epoll set watch the completion channels, or no longer. While the connection is
 * under way poll() leaves their events to ib_rails_drain(). */
void ib_rails_watch(weft_net_conn_t *conn);
void ib_rails_unwatch(weft_net_conn_t *conn);
void ib_rail_unwatch(const weft_net_conn_t *conn, ib_rail_t *rail);
/* Takes the events of the completion channels, which are to be armed again. */
void ib_rails_drain(weft_net_conn_t *conn);
/* Lets the next completion of the rail wake the channel. Returns false if it cannot. */
bool ib_rail_arm(ib_rail_t *rail);

/* Returns why nothing gets over the rail now, with a remedy; NULL if nothing is known. Takes the
 * adapter's events. */
const char *ib_rail_lost_now(const ib_rail_t *rail);

/* Sets an error that says what the rail's adapter could not make, and why not: the rail is lost,
 * or the limits; `cause` is the errno. Returns ERR_LINK or ERR_RESOURCE. */
weft_status_t ib_rail_short_of(weft_net_conn_t *conn, const ib_rail_t *rail, const char *what,
                               int cause);

/* Notes a completion that is not OK, and that the connection is to be examined. Nothing is decided
 * before its cause had time to show. */
void ib_rail_note(weft_net_conn_t *conn, const struct ibv_wc *wc);

/* Notes that the adapter refused a request of `qp`; `cause` is the errno. Returns whether the
 * connection can go on without that queue pair, over iWARP for as long as what the peer sent may
 * take: then its rail counts as lost and the queue pair is stopped. */
bool ib_rail_refused(weft_net_conn_t *conn, ib_qp_t *qp, int cause);

/* Returns why the rail is lost, and in *since_p since when; NULL if it is not. */
const char *ib_rail_cause(const ib_rail_t *rail, uint64_t now, uint64_t *since_p);

/* Bit mask of the rails that are up. */
uint32_t ib_rails_up(const weft_net_conn_t *conn);

/* Bit mask of the rails over which a new connection does not go, because nothing gets over them; 0
 * if it needs all, since failover is not wanted or cannot be. */
uint32_t ib_rails_lost(const weft_net_conn_t *conn);

/* Marks these rails as lost, before any is open. Returns OK, or ERR_LINK with the error set if no
 * rail is left. */
weft_status_t ib_rails_leave(weft_net_conn_t *conn, uint32_t mask);

/* Returns whether the lost rails are exactly those of the mask. */
bool ib_rails_agree(const weft_net_conn_t *conn, uint32_t lost);

/* Writes the names of the rails in the mask, as far as `bytes` goes; nothing for an empty mask. */
void ib_rails_name(const weft_net_conn_t *conn, uint32_t mask, char *text, size_t bytes);

/* Returns which of the rails in the mask `up` serves somebody whose number is `turn`. Both ends
 * choose alike: all take turns. */
uint32_t ib_rail_choose(uint32_t up, uint32_t turn);

#endif
