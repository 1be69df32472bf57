/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What one rank says of itself during the join. */
#ifndef WEFT_BOOT_CLAIM_H
#define WEFT_BOOT_CLAIM_H

#include <weft/plugin/host.h>

#include "core/boot/unique_id.h"
#include "core/boot/wire.h"

#define WEFT_RANKS_MOST (1u << 20)

typedef struct weft_join_request {
    uint32_t rank, nranks;
    int32_t pid;
    uint32_t started; /* with the pid, names the process on its host for ever */
    uint32_t space;   /* pid namespace; 0 = unknown */
    uint8_t host_id[16];
    char host_name[64];
    weft_os_addr_t addrs[WEFT_ID_ADDRS]; /* family 0 = unused */
} weft_join_request_t;

/* Of this process; addresses are those that `filter` allows, with `port`. */
weft_status_t weft_join_request_make(weft_join_request_t *request, uint32_t rank, uint32_t nranks,
                                     const char *filter, uint16_t port);
void weft_join_request_encode(const weft_join_request_t *request,
                              uint8_t bytes[WEFT_WIRE_JOIN_REQUEST]);
/* ERR_PROTO with the field in *why; rank and nranks are checked by the caller. */
weft_status_t weft_join_request_decode(const uint8_t bytes[WEFT_WIRE_JOIN_REQUEST],
                                       weft_join_request_t *request, const char **why);
uint32_t weft_join_request_addrs(const weft_join_request_t *request);

/* Purpose and rank, as handshake labels. */
void weft_auth_label_make(uint8_t label[WEFT_AUTH_LABEL], const char *purpose, uint32_t rank);
/* False: another purpose. */
bool weft_auth_label_read(const uint8_t label[WEFT_AUTH_LABEL], const char *purpose,
                          uint32_t *rank);

#endif
