/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Included before everything else where GenMC reads a model. It knows no memcpy of unknown memory,
 * and its pthread.h lacks what models name and never call. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void *genmc_copy(void *to, const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof(uint64_t); i++) {
        ((uint64_t *)to)[i] = ((const uint64_t *)from)[i];
    }
    return to;
}
#undef memcpy
#define memcpy genmc_copy

typedef int pthread_once_t;
typedef unsigned pthread_key_t;
int pthread_once(pthread_once_t *once, void (*run)(void));
int pthread_key_create(pthread_key_t *key, void (*end)(void *));
int pthread_setspecific(pthread_key_t key, const void *value);
int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
