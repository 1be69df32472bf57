/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The two ports of a link: of mapped memory, of messages, or with slots on the device. They are
 * made once the link is connected, and closed with it. */
#ifndef WEFT_EXEC_LINK_PORTS_H
#define WEFT_EXEC_LINK_PORTS_H

#include "core/exec/link_state.h"

/* Whether parts of a mapped connection can take memory later than the connection is made. */
bool weft_links_can_commit(const weft_links_t *links, const weft_transport_t *transport);

/* Makes both, and the link is ready. `connector`: this rank has connected. */
weft_status_t weft_link_make_ports(weft_links_t *links, weft_link_t *link, bool connector);
/* Ends what they export. Memory that the peer may still write to is kept, and the connection with
 * it: the link has none then. */
void weft_link_leave_ports(weft_links_t *links, weft_link_t *link);
/* After that, and after the connection is closed. */
void weft_link_close_ports(weft_links_t *links, weft_link_t *link);

#endif
