/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A client of the TCPStore of PyTorch, which torchrun serves at MASTER_ADDR:MASTER_PORT: keys and
 * values. Its wire is of 8-byte lengths in the host's order, without a version; a handshake of its
 * own tells whether it is one. Nothing in it is secret: who can reach the port can read the
 * values. */
#ifndef WEFT_BOOT_TORCH_STORE_H
#define WEFT_BOOT_TORCH_STORE_H

#include <weft/weft.h>

#include "core/os/os_socket.h"

typedef struct weft_torch_store {
    int fd;
    uint64_t until; /* deadline of every call */
    char name[96];  /* "host:port", for messages */
} weft_torch_store_t;

/* All calls: ERR_LINK if nobody listens or the store closes, ERR_PROTO if it answers as no TCPStore
 * does, ERR_TIMEOUT. Close it also after a failure. */
weft_status_t weft_torch_store_open(weft_torch_store_t *store, const char *host, uint16_t port,
                                    uint64_t until);
weft_status_t weft_torch_store_set(weft_torch_store_t *store, const char *key, const void *value,
                                   size_t bytes);
/* Waits until the key is there. The value must have exactly `bytes` bytes. */
weft_status_t weft_torch_store_get(weft_torch_store_t *store, const char *key, void *value,
                                   size_t bytes);
weft_status_t weft_torch_store_delete(weft_torch_store_t *store, const char *key);
void weft_torch_store_close(weft_torch_store_t *store);

#endif
