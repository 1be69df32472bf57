/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A host table for the handshake and the acceptor of the SDK with a key of its own: control
 * connections are authenticated before any plugin is loaded, with other keys than those of data
 * connections. */
#ifndef WEFT_BOOT_AUTH_HOST_H
#define WEFT_BOOT_AUTH_HOST_H

#include <weft/plugin/host.h>

/* Wipe it with weft_auth_host_fini(). */
typedef struct weft_auth_host {
    /* First. It offers log, error, clock and the service "weft.auth/1", and no more. */
    weft_host_t host;
    const char *name; /* begins each log line */
    uint8_t key[32];
} weft_auth_host_t;

/* `name` must outlive the host. */
void weft_auth_host_init(weft_auth_host_t *self, const char *name, const uint8_t key[32]);
void weft_auth_host_fini(weft_auth_host_t *self);

#endif
