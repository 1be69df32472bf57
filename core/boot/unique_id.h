/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The content of the 128 bytes of a unique id. */
#ifndef WEFT_BOOT_ID_H
#define WEFT_BOOT_ID_H

#include <weft/weft.h>

#include "core/os/os_socket.h"

#define WEFT_ID_ADDRS 3
#define WEFT_ID_HOST 58

typedef struct weft_id {
    uint32_t created; /* seconds since 1970, by the clock of its maker's host: for texts only */
    uint32_t life;    /* seconds; 0 = for ever */
    bool by_rank_0;   /* rank 0 made it, as its carrier knows */
    uint32_t count;
    weft_os_addr_t addrs[WEFT_ID_ADDRS]; /* where the root listens, best first */
    /* A fixed id (fixed_id.h) has a host and a port in place of addresses, and count is 0. */
    char host[WEFT_ID_HOST]; /* name or address, ends with NUL; "": not a fixed id */
    uint16_t port;
    uint8_t secret[32];
    uint8_t nonce[16];
} weft_id_t;

void weft_id_encode(const weft_id_t *id, weft_unique_id_t *out);
/* ERR_ARG: not an id, damaged, or of another version. */
weft_status_t weft_id_decode(const weft_unique_id_t *in, weft_id_t *id);
/* Notes in an id that rank 0 made it, so that ranks know whose end the end of the root is. As
 * weft_id_decode(). */
weft_status_t weft_id_mark_rank_0(weft_unique_id_t *id);
/* 256 hexadecimal digits, with a NUL. */
#define WEFT_ID_HEX (2 * WEFT_UNIQUE_ID_BYTES + 1)
void weft_id_to_hex(const weft_unique_id_t *id, char hex[WEFT_ID_HEX]);
/* False for anything but 256 hexadecimal digits; NULL is allowed. */
bool weft_id_from_hex(const char *hex, weft_unique_id_t *id);

/* Tells whether it is a fixed id. False for what is no id. */
bool weft_id_is_fixed(const weft_unique_id_t *id);
/* Tells whether its time has passed, by this host's clock. That of its maker's host may differ. */
int weft_id_expired(const weft_id_t *id);
/* Tells whether it has addresses that only its maker's host can use. */
bool weft_id_is_local(const weft_id_t *id);
/* Wipes the secret and all else. */
void weft_id_wipe(weft_id_t *id);

/* The number of the communicator that the id makes; never 0. */
uint64_t weft_id_comm(const weft_id_t *id);
/* Derives the key for `purpose` from secret and nonce. */
void weft_id_key(const weft_id_t *id, const char *purpose, uint8_t key[32]);

#endif
