/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What one rank says of itself during the join. */
#ifndef WEFT_BOOT_CLAIM_H
#define WEFT_BOOT_CLAIM_H

#include <weft/plugin/host.h>

#include "core/boot/id.h"
#include "core/boot/wire.h"

#define WEFT_RANKS_MOST (1u << 20)

typedef struct weft_claim {
    uint32_t rank, nranks;
    int32_t pid;
    uint32_t started; /* with the pid, names the process on its host for ever */
    uint32_t space;   /* pid namespace; 0 = unknown */
    uint8_t host_id[16];
    char host_name[64];
    weft_os_addr_t addrs[WEFT_ID_ADDRS]; /* family 0 = unused */
} weft_claim_t;

/* Of this process; addresses are those that `filter` allows, with `port`. */
weft_status_t weft_claim_make(weft_claim_t *claim, uint32_t rank, uint32_t nranks,
                              const char *filter, uint16_t port);
void weft_claim_encode(const weft_claim_t *claim, uint8_t bytes[WEFT_WIRE_CLAIM]);
/* ERR_PROTO with the field in *why; rank and nranks are checked by the caller. */
weft_status_t weft_claim_decode(const uint8_t bytes[WEFT_WIRE_CLAIM], weft_claim_t *claim,
                                const char **why);
uint32_t weft_claim_addrs(const weft_claim_t *claim);

/* Purpose and rank, as handshake labels. */
void weft_label_make(uint8_t label[WEFT_AUTH_LABEL], const char *purpose, uint32_t rank);
/* False: another purpose. */
bool weft_label_read(const uint8_t label[WEFT_AUTH_LABEL], const char *purpose, uint32_t *rank);

#endif
