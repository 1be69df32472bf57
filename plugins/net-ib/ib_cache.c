/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The cache of registrations. */
#include "ib_cache.h"

#include <string.h>

#define PAGE ((uintptr_t)4096)
#define ROOM_FIRST 16u

weft_status_t ib_cache_init(ib_cache_t *cache, const weft_host_t *host, const ib_pinner_t *pinner)
{
    *cache = (ib_cache_t){.host = host, .pinner = *pinner};
    int cause = pthread_mutex_init(&cache->lock, NULL);
    return cause == 0 ? WEFT_OK : host->set_error(host, WEFT_ERR_SYSTEM, cause, "mutex");
}

void ib_cache_fini(ib_cache_t *cache)
{
    cache->host->free(cache->host, cache->pins);
    pthread_mutex_destroy(&cache->lock);
}

/* Returns the index of the first registration that starts after `start`. */
static uint32_t ib_cache_after(const ib_cache_t *cache, uintptr_t start)
{
    uint32_t low = 0, high = cache->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (cache->pins[middle]->start <= start) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static ib_pin_t *ib_cache_find(const ib_cache_t *cache, uintptr_t start, uintptr_t end,
                               uint32_t access)
{
    for (uint32_t i = ib_cache_after(cache, start); i-- > 0;) {
        ib_pin_t *pin = cache->pins[i];
        if (pin->end >= end && pin->access >= access) {
            return pin;
        }
    }
    return NULL;
}

static weft_status_t ib_cache_grow(ib_cache_t *cache)
{
    if (cache->count < cache->room) {
        return WEFT_OK;
    }
    uint32_t room = cache->room == 0 ? ROOM_FIRST : 2 * cache->room;
    ib_pin_t **pins = cache->host->alloc(cache->host, room * sizeof(ib_pin_t *), 0);
    if (pins == NULL) {
        return WEFT_AGAIN;
    }
    if (cache->count > 0) {
        memcpy(pins, cache->pins, cache->count * sizeof(ib_pin_t *));
    }
    cache->host->free(cache->host, cache->pins);
    cache->pins = pins;
    cache->room = room;
    return WEFT_OK;
}

static weft_status_t ib_cache_add(ib_cache_t *cache, const ib_pin_t *wish, ib_pin_t **pin_p,
                                  int *cause_p)
{
    weft_status_t status = ib_cache_grow(cache);
    if (status != WEFT_OK) {
        return status;
    }
    ib_pin_t *pin = cache->host->alloc(cache->host, sizeof *pin, 0);
    if (pin == NULL) {
        return WEFT_AGAIN;
    }
    *pin = *wish;
    int cause = cache->pinner.pin(cache->pinner.owner, pin);
    if (cause != 0) {
        cache->host->free(cache->host, pin);
        *cause_p = cause;
        return WEFT_ERR_RESOURCE;
    }
    uint32_t at = ib_cache_after(cache, pin->start);
    memmove(&cache->pins[at + 1], &cache->pins[at], (cache->count - at) * sizeof(ib_pin_t *));
    cache->pins[at] = pin;
    cache->count++;
    *pin_p = pin;
    return WEFT_OK;
}

weft_status_t ib_cache_get(ib_cache_t *cache, const void *memory, uint64_t bytes, uint32_t access,
                           ib_pin_t **pin_p, int *cause_p)
{
    ib_pin_t wish = {
        .start = (uintptr_t)memory, .end = (uintptr_t)memory + (uintptr_t)bytes, .access = access};
    weft_status_t status = WEFT_OK;
    pthread_mutex_lock(&cache->lock);
    ib_pin_t *pin = ib_cache_find(cache, wish.start, wish.end, access);
    if (pin == NULL) {
        if (access == IB_PIN_READ) {
            wish.start &= ~(PAGE - 1);
            wish.end = (wish.end + PAGE - 1) & ~(PAGE - 1);
        }
        status = ib_cache_add(cache, &wish, &pin, cause_p);
    }
    if (status == WEFT_OK) {
        pin->users++;
        *pin_p = pin;
    }
    pthread_mutex_unlock(&cache->lock);
    return status;
}

weft_status_t ib_cache_adopt(ib_cache_t *cache, void *memory, uint32_t local_key,
                             uint32_t remote_key, ib_pin_t **pin_p)
{
    ib_pin_t wish = {.memory = memory,
                     .local_key = local_key,
                     .remote_key = remote_key,
                     .users = 1,
                     .alone = true};
    ib_pin_t *pin = cache->host->alloc(cache->host, sizeof *pin, 0);
    if (pin == NULL) {
        cache->pinner.unpin(cache->pinner.owner, &wish);
        return WEFT_ERR_RESOURCE;
    }
    *pin = wish;
    *pin_p = pin;
    return WEFT_OK;
}

static void ib_cache_remove(ib_cache_t *cache, const ib_pin_t *pin)
{
    uint32_t at = ib_cache_after(cache, pin->start) - 1;
    while (cache->pins[at] != pin) {
        at--;
    }
    cache->count--;
    memmove(&cache->pins[at], &cache->pins[at + 1], (cache->count - at) * sizeof(ib_pin_t *));
}

void ib_cache_put(ib_cache_t *cache, ib_pin_t *pin)
{
    pthread_mutex_lock(&cache->lock);
    if (--pin->users == 0) {
        if (!pin->alone) {
            ib_cache_remove(cache, pin);
        }
        cache->pinner.unpin(cache->pinner.owner, pin);
        cache->host->free(cache->host, pin);
    }
    pthread_mutex_unlock(&cache->lock);
}
