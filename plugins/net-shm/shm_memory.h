/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shared memory of a connection: committed, zeroed and sealed. */
#ifndef WEFT_PLUGINS_NET_SHM_MEMORY_H
#define WEFT_PLUGINS_NET_SHM_MEMORY_H

#include <weft/plugin/host.h>

/* A mapping of one sealed memfd. */
typedef struct shm_memory {
    void *base;
    uint64_t bytes;
    int fd; /* −1 after the peer has got it */
} shm_memory_t;

/* Makes at least `bytes` of committed, zeroed, sealed memory. ERR_RESOURCE, ERR_SYSTEM. */
weft_status_t shm_memory_create(const weft_host_t *host, uint64_t bytes, shm_memory_t *memory);
/* Maps a received memfd after checking its seals and size. Owns the descriptor in any case. */
weft_status_t shm_memory_attach(const weft_host_t *host, int fd, uint64_t bytes,
                                shm_memory_t *memory);
void shm_memory_release(shm_memory_t *memory);

#endif
