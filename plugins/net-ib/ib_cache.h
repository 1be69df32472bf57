/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The registrations of one adapter, sorted and counted: memory inside a living registration is
 * not registered again. No registration outlives its last user, so freed memory never stays
 * registered. Thread: [any]. */
#ifndef WEFT_PLUGINS_NET_IB_CACHE_H
#define WEFT_PLUGINS_NET_IB_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <weft/plugin/host.h>

/* Who may access the memory. */
#define IB_PIN_READ 0u  /* our adapter reads: memory that is sent */
#define IB_PIN_WRITE 1u /* the peer writes: memory that is received into */

typedef struct ib_pin {
    uintptr_t start, end;
    uint32_t access;
    uint32_t users;
    bool alone;   /* never shared, and not in the cache */
    void *memory; /* the handle of the registration */
    uint32_t local_key, remote_key;
} ib_pin_t;

/* Makes the registration of [pin->start, pin->end), filling `memory` and the keys, and ends it.
 * pin() returns 0 or an errno. */
typedef struct ib_pinner {
    int (*pin)(void *owner, ib_pin_t *pin);
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

/* Finds or makes a registration that covers the memory. Memory that only our adapter reads is
 * registered by whole pages; memory that the peer may write is registered to the byte. Returns
 * OK, AGAIN (the host has no memory now), or ERR_RESOURCE, and then the pinner's errno in *cause_p:
 * the caller sets the error. The caller returns the registration with ib_cache_put(). */
weft_status_t ib_cache_get(ib_cache_t *cache, const void *memory, uint64_t bytes, uint32_t access,
                           ib_pin_t **pin_p, int *cause_p);
/* Takes over a registration that was made elsewhere and is not shared. On failure it is ended. */
weft_status_t ib_cache_adopt(ib_cache_t *cache, void *memory, uint32_t local_key,
                             uint32_t remote_key, ib_pin_t **pin_p);
void ib_cache_put(ib_cache_t *cache, ib_pin_t *pin);

#endif
