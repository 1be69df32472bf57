/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Growing: the members of a communicator and newcomers join a new family, in which the members keep
 * their order and each newcomer has the number of its ticket. */
#ifndef WEFT_COMM_GROW_H
#define WEFT_COMM_GROW_H

#include "core/comm/ticket.h"

/* Makes an id and `count` tickets with it, for the numbers ranks[], or those behind the last rank.
 * Thread: any. */
weft_status_t weft_grow_tickets(weft_comm_t *comm, const uint32_t *ranks, uint32_t count,
                                weft_ticket_t *tickets);

/* The members' side. One of them gives all tickets, the others none. Thread: one. */
weft_status_t weft_grow(weft_comm_t *comm, const weft_ticket_t *tickets, uint32_t count,
                        weft_comm_t **grown_p);
/* A newcomer's. Thread: any. */
weft_status_t weft_grow_join(const weft_ticket_t *ticket, const weft_comm_options_t *options,
                             weft_comm_t **grown_p);

#endif
