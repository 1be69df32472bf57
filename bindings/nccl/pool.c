/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks of objects, each twice as large as the one before. */
#include "bindings/nccl/pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { POOL_FIRST = 2 * NCCL_POOL_REST, POOL_ALIGNMENT = 64 };

/* Beside the number of those who hold an object: the program has not closed it. */
#define POOL_OPEN UINT32_C(0x80000000)

struct nccl_pool_place {
    nccl_pool_place_t *next;  /* unused */
    _Atomic uint32_t holders; /* and POOL_OPEN */
    _Alignas(max_align_t) unsigned char object[];
};

struct nccl_pool_block {
    nccl_pool_block_t *before;
    size_t count;
    _Alignas(POOL_ALIGNMENT) unsigned char places[];
};

static size_t pool_stride(const nccl_pool_t *pool)
{
    const size_t bytes = sizeof(nccl_pool_place_t) + pool->bytes;
    return (bytes + POOL_ALIGNMENT - 1) / POOL_ALIGNMENT * POOL_ALIGNMENT;
}

/* Under the lock. */
static void pool_append(nccl_pool_t *pool, nccl_pool_place_t *place)
{
    place->next = NULL;
    *(pool->unused != NULL ? &pool->last_unused->next : &pool->unused) = place;
    pool->last_unused = place;
    pool->nunused++;
}

/* Under the lock. */
static bool pool_grow(nccl_pool_t *pool)
{
    nccl_pool_block_t *before = atomic_load_explicit(&pool->last, memory_order_relaxed);
    const size_t count = before != NULL ? 2 * before->count : POOL_FIRST;
    const size_t stride = pool_stride(pool);
    nccl_pool_block_t *block =
        aligned_alloc(POOL_ALIGNMENT, sizeof(nccl_pool_block_t) + count * stride);
    if (block == NULL) {
        return false;
    }
    block->before = before;
    block->count = count;
    for (size_t i = 0; i < count; i++) {
        nccl_pool_place_t *place = (nccl_pool_place_t *)(block->places + i * stride);
        atomic_init(&place->holders, 0);
        pool_append(pool, place);
    }
    atomic_store_explicit(&pool->last, block, memory_order_release);
    return true;
}

void *nccl_pool_take(nccl_pool_t *pool)
{
    pthread_mutex_lock(&pool->lock);
    nccl_pool_place_t *place = NULL;
    if (pool->nunused <= NCCL_POOL_REST) {
        (void)pool_grow(pool); /* without memory a place is used again sooner */
    }
    if (pool->unused != NULL) {
        place = pool->unused;
        pool->unused = place->next;
        pool->nunused--;
    }
    pthread_mutex_unlock(&pool->lock);
    if (place == NULL) {
        return NULL;
    }
    memset(place->object, 0, pool->bytes);
    return place->object;
}

static nccl_pool_place_t *pool_place(void *object)
{
    return (nccl_pool_place_t *)((unsigned char *)object - offsetof(nccl_pool_place_t, object));
}

void nccl_pool_open(void *object)
{
    atomic_store_explicit(&pool_place(object)->holders, POOL_OPEN | 1, memory_order_release);
}

bool nccl_pool_close(void *object)
{
    return (atomic_fetch_and(&pool_place(object)->holders, ~POOL_OPEN) & POOL_OPEN) != 0;
}

bool nccl_pool_let_go(void *object)
{
    return atomic_fetch_sub(&pool_place(object)->holders, 1) == 1;
}

void nccl_pool_give(nccl_pool_t *pool, void *object)
{
    nccl_pool_place_t *place = pool_place(object);
    pthread_mutex_lock(&pool->lock);
    pool_append(pool, place);
    pthread_mutex_unlock(&pool->lock);
}

/* The place that has this address; NULL: none. */
static nccl_pool_place_t *pool_find(nccl_pool_t *pool, const void *object)
{
    const uintptr_t at = (uintptr_t)object - offsetof(nccl_pool_place_t, object);
    const size_t stride = pool_stride(pool);
    nccl_pool_block_t *block = atomic_load_explicit(&pool->last, memory_order_acquire);
    for (; block != NULL; block = block->before) {
        const uintptr_t first = (uintptr_t)block->places;
        if (at >= first && at < first + block->count * stride && (at - first) % stride == 0) {
            return (nccl_pool_place_t *)(block->places + (at - first));
        }
    }
    return NULL;
}

bool nccl_pool_hold(nccl_pool_t *pool, const void *object)
{
    nccl_pool_place_t *place = pool_find(pool, object);
    uint32_t holders = place != NULL ? atomic_load(&place->holders) : 0;
    while ((holders & POOL_OPEN) != 0) {
        if (atomic_compare_exchange_weak(&place->holders, &holders, holders + 1)) {
            return true;
        }
    }
    return false;
}

bool nccl_pool_knows(nccl_pool_t *pool, const void *object)
{
    return pool_find(pool, object) != NULL;
}
