/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shared memory of a connection: zeroed, sealed, and committed by need. */
#ifndef WEFT_PLUGINS_NET_SHM_MEMORY_H
#define WEFT_PLUGINS_NET_SHM_MEMORY_H

#include <weft/plugin/host.h>

/* A mapping of one sealed memfd. */
typedef struct shm_memory {
    void *base;
    uint64_t bytes;
    int fd; /* −1 after the peer has got it */
} shm_memory_t;

/* Tries the calls that such memory is made of, with one page. Returns the name of one that the
 * system refuses to this process whatever it asks for, with errno, as a filter of a container does;
 * else NULL. */
const char *shm_memory_refused(void);
/* Makes at least `bytes` of zeroed, sealed memory, the first `commit` of them committed.
 * ERR_RESOURCE, ERR_SYSTEM. */
weft_status_t shm_memory_create(const weft_host_t *host, uint64_t bytes, uint64_t commit,
                                shm_memory_t *memory);
/* Maps a received memfd after checking its seals and size. Owns the descriptor in any case. */
weft_status_t shm_memory_attach(const weft_host_t *host, int fd, uint64_t bytes,
                                shm_memory_t *memory);
/* Makes sure that a range has pages, whichever end made the memory. ERR_RESOURCE, ERR_ARG. */
weft_status_t shm_memory_commit(const weft_host_t *host, const shm_memory_t *memory,
                                uint64_t offset, uint64_t bytes);
/* Gives the whole pages of a range back. */
void shm_memory_discard(const shm_memory_t *memory, uint64_t offset, uint64_t bytes);
void shm_memory_release(shm_memory_t *memory);

#endif
