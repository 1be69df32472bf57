/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links: the connections of one communicator, made when a plan first needs them. A link joins
 * two ranks on one channel and carries a port in each direction. The lower rank connects, over
 * the first transport of the INI that reaches the peer; the higher rank accepts on all of them, and
 * asks for a link that it waits for to send.
 * Over mapped memory the two ranks agree where the payloads lie (payload_location.h), for each
 * port that is asked for. For messages each end decides for itself (gpudirect.h). traffic.h has
 * what links that are ready carry.
 *
 * The thread that owns the communicator makes all calls. None waits for a peer; calls on a
 * transport that the family shares wait for its lock. */
#ifndef WEFT_EXEC_LINKS_H
#define WEFT_EXEC_LINKS_H

#include "core/exec/links_setup.h"
#include "core/exec/port_base.h"

/* Creates the links of a communicator, none of them connected. ERR_RESOURCE. */
weft_status_t weft_links_create(const weft_links_setup_t *setup, weft_links_t **links_p);
/* Closes all links. NULL is allowed. */
void weft_links_destroy(weft_links_t *links);

/* Returns the port to or from `peer` on `channel`, or NULL while the link is not ready. Begins
 * to connect where this rank has to. A failure is kept, and weft_links_progress() tells it. */
weft_port_t *weft_links_port(weft_links_t *links, uint32_t peer, uint32_t channel, bool sends);

/* Returns the number of the link to `peer` on `channel`, which is the same on both ranks. */
uint32_t weft_links_number(const weft_links_t *links, uint32_t peer, uint32_t channel);
/* Makes the link of that number that a higher rank has asked for, or goes on with that; or takes
 * the one that a lower rank has made, so that there are slots for what it sends. Returns whether it
 * is under way, so that the call is to be made again. What fails is not told: the peer asks again,
 * and whoever needs the link here hears it. */
bool weft_links_offer(weft_links_t *links, uint32_t peer, uint32_t number);

/* Advances connections under way and accepts new ones. Callers whose port is not ready poll it. */
weft_status_t weft_links_progress(weft_links_t *links);
/* Advances connections under way that nobody waits for in this step or the last one: else what they
 * have to go on with would end every sleep at once. A try that fails is made again when somebody
 * waits. */
void weft_links_attend(weft_links_t *links);

#endif
