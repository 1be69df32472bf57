/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Objects whose addresses programs hold. Their memory is never given back, so any address that a
 * program passes can be judged: one that is no object, and one whose object has ended. A place that
 * was given back is the last of those that are used again: at least NCCL_POOL_REST objects are
 * made before the address is an object's anew, but for want of memory.
 *
 * An object lives as long as somebody holds it. The program holds it until it closes it, which it
 * may do in one thread while others use it: these hold it meanwhile, and the last one ends it. */
#ifndef BINDINGS_NCCL_POOL_H
#define BINDINGS_NCCL_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { NCCL_POOL_REST = 64 };

typedef struct nccl_pool_block nccl_pool_block_t;
typedef struct nccl_pool_place nccl_pool_place_t;

/* Static, of one kind of object; any thread may call. */
typedef struct nccl_pool {
    pthread_mutex_t lock;
    size_t bytes;                            /* of an object */
    _Atomic(nccl_pool_block_t *) last;       /* of the blocks; read without the lock */
    nccl_pool_place_t *unused, *last_unused; /* in the order in which they are used again */
    size_t nunused;
} nccl_pool_t;

#define NCCL_POOL(type)                                                                            \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .bytes = sizeof(type)                                   \
    }

/* An object of zeros, or NULL. Nobody can hold it yet. */
void *nccl_pool_take(nccl_pool_t *pool);
/* From now on the program holds the object. */
void nccl_pool_open(void *object);
/* Holds what may be the address of an object. False: it is none, or was closed. */
bool nccl_pool_hold(nccl_pool_t *pool, const void *object);
/* Whether it is the address of an object, which may have been closed, or be another one by now. */
bool nccl_pool_knows(nccl_pool_t *pool, const void *object);
/* The program gives its object back: nobody can hold it from now on, and the caller lets go in the
 * program's place. False: it was closed before. */
bool nccl_pool_close(void *object);
/* Returns whether that was the last one who held the object, who then gives it back. */
bool nccl_pool_let_go(void *object);
/* Gives back an object that nobody holds. */
void nccl_pool_give(nccl_pool_t *pool, void *object);

#endif
