/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The connecting side of a control connection. It tries the addresses of a peer in turn until one
 * answers the handshake. Never blocks, but for weft_connector_run(). */
#ifndef WEFT_BOOT_CONNECTOR_H
#define WEFT_BOOT_CONNECTOR_H

#include <weft/sdk/handshake.h>

#include "core/boot/auth_host.h"
#include "core/boot/unique_id.h"
#include "core/os/os_socket.h"

/* The last byte of an attempt that was given up because nobody answered; the next attempt follows.
 * No frame begins with it. */
#define WEFT_CONNECTOR_ALIVE 0x18u /* ASCII's CAN */

/* So often a connection that was reset is made again: one that breaks still has another cause than
 * a reset on its way. */
#define WEFT_AGAIN_MOST 16u
/* So long that takes at most, to a root, which waits longer: keepalive says within a second that a
 * new connection is gone too. */
#define WEFT_AGAIN_NS (WEFT_NS_PER_S + WEFT_NS_PER_S / 2)

/* Returns for how long the other end of a connection that broke is looked for, in ns: what is left
 * of boot.unresponsive, given in s (0: of its default), when nothing has been heard for the 3 s of
 * weft_os_tune_control(). */
uint64_t weft_connector_patience(double unresponsive);

typedef struct weft_connector {
    int fd; /* done: the connection, the caller's; else the attempt under way, or −1 */
    uint32_t stage;
    uint32_t at;       /* index of the address in use */
    uint32_t attempts; /* begun */
    uint32_t closed;   /* attempts that reached somebody who then closed */
    uint32_t refusals; /* in a row */
    int last_errno;
    bool unanswered;      /* the last attempt was connected, and nothing came */
    bool closed_last;     /* the last attempt was connected, and then closed */
    bool heard;           /* given up while the other end's kernel had all that was sent */
    uint64_t until;       /* deadline of the whole */
    uint64_t stage_until; /* deadline of this attempt, or end of the pause before the next */
    uint64_t backoff;
    uint32_t count;
    weft_os_addr_t addrs[WEFT_ID_ADDRS];
    uint8_t label[WEFT_AUTH_LABEL];
    weft_auth_host_t host;
    weft_handshake_t handshake;
} weft_connector_t;

/* Begins to connect, with nothing sent yet. At most WEFT_ID_ADDRS addresses are used. */
void weft_connector_begin(weft_connector_t *connector, const uint8_t key[32],
                          const uint8_t label[WEFT_AUTH_LABEL], const weft_os_addr_t *addrs,
                          uint32_t count, uint64_t until);
/* The same to the root of an id, as that rank. */
void weft_connector_begin_root(weft_connector_t *connector, const weft_id_t *id, uint32_t rank,
                               uint64_t until);
/* Fills one poll entry and lowers *until to the time at which weft_connector_step() must be
 * called. */
void weft_connector_prepare(const weft_connector_t *connector, struct pollfd *entry,
                            uint64_t *until);
/* Returns IN_PROGRESS; OK; ERR_LINK: nobody listens at any address; ERR_AUTH: somebody listens, but
 * closes every handshake; ERR_TIMEOUT; ERR_RESOURCE; ERR_SYSTEM. The error text has the
 * addresses. */
weft_status_t weft_connector_step(weft_connector_t *connector);
/* Steps until the end. Blocks until then. */
weft_status_t weft_connector_run(weft_connector_t *connector);
/* Gives up and wipes. The descriptor of a connector that is done stays the caller's. */
void weft_connector_end(weft_connector_t *connector);

#endif
