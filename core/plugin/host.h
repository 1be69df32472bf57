/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The services of the core that a plugin gets. Private to core/plugin. */
#ifndef WEFT_PLUGIN_HOST_SERVICES_H
#define WEFT_PLUGIN_HOST_SERVICES_H

#include <stdatomic.h>

#include <weft/plugin/host.h>

/* Key of the auth service. The service is offered once `is_set` reads true. */
typedef struct weft_host_key {
    uint8_t bytes[32];
    atomic_bool is_set;
} weft_host_key_t;

void weft_host_key_set(weft_host_key_t *key, const uint8_t bytes[32]);

/* What weft_host_t.core points to. */
typedef struct weft_host_core {
    const char *name; /* of the plugin */
    const weft_host_key_t *key;
} weft_host_core_t;

/* Fills a plugin's host table. `core` stays in place as long as the table is used. */
void weft_host_fill(weft_host_t *host, weft_host_core_t *core);

#endif
