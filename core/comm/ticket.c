/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tickets as bytes: magic 1, version 1, zeros 2, ranks 4, rank 4, parent 8, unique id 128, checksum
 * 8, zeros. The checksum finds tickets that were cut or damaged on their way. It is no
 * protection. */
#include "core/comm/ticket.h"

#include <string.h>

#include "core/base/error.h"
#include "core/boot/wire.h"

#define MAGIC 0xd9
#define VERSION 1
#define ID_AT 20
#define SUM_AT (ID_AT + WEFT_UNIQUE_ID_BYTES)

_Static_assert(SUM_AT + 8 <= WEFT_TICKET_BYTES, "the checksum fits");

/* FNV-1a. */
static uint64_t ticket_checksum(const uint8_t *bytes)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint32_t i = 0; i < SUM_AT; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

void weft_ticket_encode(const weft_ticket_content_t *content, weft_ticket_t *ticket)
{
    uint8_t *p = ticket->bytes;
    memset(p, 0, sizeof ticket->bytes);
    p[0] = MAGIC;
    p[1] = VERSION;
    weft_put_u32(p + 4, content->nranks);
    weft_put_u32(p + 8, content->rank);
    weft_put_u64(p + 12, content->parent);
    memcpy(p + ID_AT, content->id.bytes, WEFT_UNIQUE_ID_BYTES);
    weft_put_u64(p + SUM_AT, ticket_checksum(p));
}

weft_status_t weft_ticket_decode(const weft_ticket_t *ticket, weft_ticket_content_t *content)
{
    const uint8_t *p = ticket->bytes;
    if (p[0] != MAGIC || weft_get_u64(p + SUM_AT) != ticket_checksum(p)) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "these bytes are no ticket of weft, or were damaged on their way");
    }
    if (p[1] != VERSION) {
        return weft_fail(WEFT_ERR_ARG, 0, "a ticket of version %u, this library makes version %d",
                         p[1], VERSION);
    }
    content->nranks = weft_get_u32(p + 4);
    content->rank = weft_get_u32(p + 8);
    content->parent = weft_get_u64(p + 12);
    memcpy(content->id.bytes, p + ID_AT, WEFT_UNIQUE_ID_BYTES);
    if (content->nranks < 2 || content->rank >= content->nranks) {
        return weft_fail(WEFT_ERR_ARG, 0, "a ticket for rank %u of %u ranks", content->rank,
                         content->nranks);
    }
    return WEFT_OK;
}
