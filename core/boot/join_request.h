/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The join request: what one rank says of itself during the join. */
#ifndef WEFT_BOOT_JOIN_REQUEST_H
#define WEFT_BOOT_JOIN_REQUEST_H

#include "core/boot/unique_id.h"
#include "core/boot/wire.h"

#define WEFT_RANKS_MOST (1u << 20)

/* Follows the text of an error: ranks do not reach each other, and may have the wrong addresses. */
#define WEFT_BOOT_CHOOSE_INTERFACE                                                                 \
    "; if they run, boot.interface = NAME chooses the interface that leads from host to host, "    \
    "and "                                                                                         \
    "boot.port_range the ports that a firewall lets through"

typedef struct weft_join_request {
    uint32_t rank, nranks;
    int32_t pid;
    uint32_t started; /* with the pid, names the process on its host for ever */
    uint32_t space;   /* weft_os_process_space() */
    uint8_t host_id[16];
    char host_name[64];
    weft_os_addr_t addrs[WEFT_ID_ADDRS]; /* of its control listener; family 0: unused */
} weft_join_request_t;

/* Makes the request of this process. Its addresses are those that `filter` allows, with `port`;
 * none if `port` is 0. ERR_CONFIG: the filter leaves none. */
weft_status_t weft_join_request_make(weft_join_request_t *request, uint32_t rank, uint32_t nranks,
                                     const char *filter, uint16_t port);
/* Puts those of its addresses first that are in `near` (as weft_os_addrs()), also such as had no
 * room. `filter` as it was made with. */
void weft_join_request_prefer(weft_join_request_t *request, const char *filter,
                              const weft_os_addr_t *near);
void weft_join_request_encode(const weft_join_request_t *request,
                              uint8_t bytes[WEFT_WIRE_JOIN_REQUEST]);
/* ERR_PROTO with the bad field in *why, and no error record. The caller checks rank, nranks and
 * whether there is an address. */
weft_status_t weft_join_request_decode(const uint8_t bytes[WEFT_WIRE_JOIN_REQUEST],
                                       weft_join_request_t *request, const char **why);
/* The number of its addresses. */
uint32_t weft_join_request_addrs(const weft_join_request_t *request);

#endif
