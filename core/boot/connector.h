/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The connecting side of a listener: tries the addresses of a peer in turn until one answers the
 * handshake. Never blocks; weft_connector_run() is the loop for callers that may. */
#ifndef WEFT_BOOT_DIAL_H
#define WEFT_BOOT_DIAL_H

#include <weft/plugin/host.h>

#include "core/boot/unique_id.h"
#include "core/os/socket.h"

typedef struct weft_connector {
    int fd; /* when done: the connection, the caller's; else −1 or the attempt under way */
    uint32_t stage;
    uint32_t at;       /* address in use */
    uint32_t attempts; /* that reached somebody who then closed */
    uint32_t refusals; /* in a row */
    int last_errno;
    uint64_t until;       /* of the whole */
    uint64_t stage_until; /* of this attempt, or of the pause before the next */
    uint64_t backoff;
    uint32_t count;
    weft_os_addr_t addrs[WEFT_ID_ADDRS];
    uint8_t key[32];
    uint8_t label[WEFT_AUTH_LABEL];
    uint32_t bytes;
    uint8_t reply[WEFT_AUTH_REPLY];
    weft_auth_state_t auth;
} weft_connector_t;

void weft_connector_begin(weft_connector_t *connector, const uint8_t key[32],
                          const uint8_t label[WEFT_AUTH_LABEL], const weft_os_addr_t *addrs,
                          uint32_t count, uint64_t until);
/* Fills one poll entry and lowers *until. */
void weft_connector_prepare(const weft_connector_t *connector, struct pollfd *entry,
                            uint64_t *until);
/* IN_PROGRESS; OK; ERR_LINK: nobody listens at any address; ERR_AUTH: somebody does but closes every
 * handshake; ERR_TIMEOUT; ERR_RESOURCE. The addresses tried are in the text. */
weft_status_t weft_connector_step(weft_connector_t *connector);
weft_status_t weft_connector_run(weft_connector_t *connector);
/* Gives up and wipes; a finished connector's descriptor stays the caller's. */
void weft_connector_end(weft_connector_t *connector);

#endif
