/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tickets: what a newcomer needs to come into the grown communicator, for one rank each. The
 * tickets of one growth have the same unique id. */
#ifndef WEFT_COMM_TICKET_H
#define WEFT_COMM_TICKET_H

#include <weft/weft.h>

typedef struct weft_ticket_content {
    uint32_t nranks, rank; /* of the grown communicator, and the newcomer's number there */
    uint64_t parent;       /* id of the communicator that grows */
    weft_unique_id_t id;   /* of the grown one */
} weft_ticket_content_t;

void weft_ticket_encode(const weft_ticket_content_t *content, weft_ticket_t *ticket);
/* ERR_ARG: not a ticket, damaged, or of another version. */
weft_status_t weft_ticket_decode(const weft_ticket_t *ticket, weft_ticket_content_t *content);

#endif
