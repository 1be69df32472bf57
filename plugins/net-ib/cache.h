/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Registrations of one adapter, sorted and counted: memory inside a registration that lives is not
 * registered again. Nothing outlives its last user, so freed memory never stays registered. */
#ifndef WEFT_PLUGINS_NET_IB_CACHE_H
#define WEFT_PLUGINS_NET_IB_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/plugin/host.h>

/* Who may touch the memory. */
#define IB_PIN_READ 0u  /* our adapter reads: what is sent */
#define IB_PIN_WRITE 1u /* the peer writes: what is received */

typedef struct ib_pin {
    uintptr_t start, end;
    uint32_t access;
    uint32_t users;
    bool alone;   /* not in the cache */
    void *memory; /* the registration */
    uint32_t local_key, remote_key;
} ib_pin_t;

/* Registers [pin->start, pin->end) and fills memory and keys; takes them back. */
typedef struct ib_pinner {
    weft_status_t (*pin)(void *owner, ib_pin_t *pin);
    void (*unpin)(void *owner, ib_pin_t *pin);
    void *owner;
} ib_pinner_t;

typedef struct ib_cache {
    const weft_host_t *host;
    ib_pinner_t pinner;
    pthread_mutex_t lock;
    ib_pin_t **pins; /* sorted by start */
    uint32_t count, room;
} ib_cache_t;

weft_status_t ib_cache_init(ib_cache_t *cache, const weft_host_t *host, const ib_pinner_t *pinner);
void ib_cache_fini(ib_cache_t *cache);

/* What: a registration that covers the memory, new or shared. Memory that only our adapter reads is
 * registered by whole pages; memory the peer may write is registered to the byte. Failure: the
 * pinner's; AGAIN: the host has no memory now. Thread: [any]. */
weft_status_t ib_cache_get(ib_cache_t *cache, const void *memory, uint64_t bytes, uint32_t access,
                           ib_pin_t **pin_p);
/* What: takes over a registration that was made elsewhere and is not shared. On failure it is ended. */
weft_status_t ib_cache_adopt(ib_cache_t *cache, void *memory, uint32_t local_key,
                             uint32_t remote_key, ib_pin_t **pin_p);
void ib_cache_put(ib_cache_t *cache, ib_pin_t *pin);

#endif
