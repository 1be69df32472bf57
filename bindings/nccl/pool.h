/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Objects whose addresses programs hold. Their memory is never given back, so any address that a
 * program passes can be judged: one that is no object, and one whose object has ended. */
#ifndef BINDINGS_NCCL_POOL_H
#define BINDINGS_NCCL_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct nccl_pool_block nccl_pool_block_t;
typedef struct nccl_pool_place nccl_pool_place_t;

/* Static, of one kind of object; any thread may call. */
typedef struct nccl_pool {
    pthread_mutex_t lock;
    size_t bytes;                      /* of an object */
    _Atomic(nccl_pool_block_t *) last; /* of the blocks; read without the lock */
    nccl_pool_place_t *unused;
} nccl_pool_t;

#define NCCL_POOL(type)                                                                            \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .bytes = sizeof(type)                                   \
    }

/* An object of zeros, or NULL. */
void *nccl_pool_take(nccl_pool_t *pool);
/* Ends an object of the pool. */
void nccl_pool_give(nccl_pool_t *pool, void *object);
/* Whether this is the address of an object that has not ended. */
bool nccl_pool_has(nccl_pool_t *pool, const void *object);

#endif
