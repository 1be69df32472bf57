/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks of objects, each twice as large as the one before. */
#include "bindings/nccl/pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { POOL_FIRST = 16, POOL_ALIGNMENT = 64 };

struct nccl_pool_place {
    nccl_pool_place_t *next; /* unused */
    _Atomic bool used;
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
    for (size_t i = count; i > 0; i--) {
        nccl_pool_place_t *place = (nccl_pool_place_t *)(block->places + (i - 1) * stride);
        atomic_init(&place->used, false);
        place->next = pool->unused;
        pool->unused = place;
    }
    atomic_store_explicit(&pool->last, block, memory_order_release);
    return true;
}

void *nccl_pool_take(nccl_pool_t *pool)
{
    pthread_mutex_lock(&pool->lock);
    nccl_pool_place_t *place = NULL;
    if (pool->unused != NULL || pool_grow(pool)) {
        place = pool->unused;
        pool->unused = place->next;
    }
    pthread_mutex_unlock(&pool->lock);
    if (place == NULL) {
        return NULL;
    }
    memset(place->object, 0, pool->bytes);
    atomic_store_explicit(&place->used, true, memory_order_release);
    return place->object;
}

void nccl_pool_give(nccl_pool_t *pool, void *object)
{
    nccl_pool_place_t *place =
        (nccl_pool_place_t *)((unsigned char *)object - offsetof(nccl_pool_place_t, object));
    atomic_store_explicit(&place->used, false, memory_order_release);
    pthread_mutex_lock(&pool->lock);
    place->next = pool->unused;
    pool->unused = place;
    pthread_mutex_unlock(&pool->lock);
}

bool nccl_pool_has(nccl_pool_t *pool, const void *object)
{
    const uintptr_t at = (uintptr_t)object - offsetof(nccl_pool_place_t, object);
    const size_t stride = pool_stride(pool);
    const nccl_pool_block_t *block = atomic_load_explicit(&pool->last, memory_order_acquire);
    for (; block != NULL; block = block->before) {
        const uintptr_t first = (uintptr_t)block->places;
        if (at >= first && at < first + block->count * stride && (at - first) % stride == 0) {
            const nccl_pool_place_t *place =
                (const nccl_pool_place_t *)(block->places + (at - first));
            return atomic_load_explicit(&place->used, memory_order_acquire);
        }
    }
    return false;
}
