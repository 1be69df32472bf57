/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The arena: memory of this process that all processes of the host may map, and that
 * weft_mem_alloc() hands out. There is one per process. It is reserved at the first allocation and
 * stays, so that a look whether memory lies in it is one comparison, and one import shows a peer
 * everything that it will ever hold. Only pages in use take memory.
 *
 * Who wants others to use its arena sends an offer; who accepts it maps the arena. What is freed
 * reads as zero there, so a reader that comes too late is never hit by a fault. Others write only
 * where the owner has asked for it (landing.h). Every function may be called by any thread. */
#ifndef WEFT_EXEC_ARENA_H
#define WEFT_EXEC_ARENA_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/os/os_shared.h"

/* Says where an arena is. The token stands in the arena, too: a process that took over the number
 * of another one is found out. */
typedef struct weft_arena_offer {
    int32_t pid, fd;
    uint64_t token; /* 0: no offer; never all ones */
} weft_arena_offer_t;

/* Another rank's arena as this process sees it. */
typedef struct weft_arena_import {
    struct weft_arena_import *next;
    weft_arena_offer_t offer;
    weft_os_shared_t shared;
    _Atomic uint64_t open; /* bytes from the start that this process may touch */
    uint32_t users;
} weft_arena_import_t;

/* Allocates zeroed pages of this process's arena. False: it has no room, or cannot be had; the
 * error record has the reason. */
bool weft_arena_alloc(uint64_t bytes, void **memory_p);
/* Frees them. False: this is no such memory, or the parent's, of which a child of fork() may only
 * end its own mapping. */
bool weft_arena_free(void *memory);

/* Returns the bytes that are handed out; *room_p: those that can be at most, 0 without an arena. */
uint64_t weft_arena_bytes(uint64_t *room_p);

/* Returns whether the bytes lie in the arena. *offset_p is where, *offer_p how a peer finds it. */
bool weft_arena_find(const void *memory, uint64_t bytes, uint64_t *offset_p,
                     weft_arena_offer_t *offer_p);

/* Maps the arena that was offered, unless this process has it mapped. NULL: not possible. */
weft_arena_import_t *weft_arena_import(const weft_arena_offer_t *offer);
/* Opens the first `end` bytes of it, which has that many, and somewhat more. False: the system
 * refuses. Use weft_arena_reach(). */
bool weft_arena_open(weft_arena_import_t *import, uint64_t end);
/* What lies in an import can be touched up to `end` when this returns true. What nobody has asked
 * for stays closed: a program that locks its memory would get pages for all of it. */
static inline bool weft_arena_reach(weft_arena_import_t *import, uint64_t end)
{
    return end <= atomic_load_explicit(&import->open, memory_order_acquire) ||
           weft_arena_open(import, end);
}
/* Ends one import. NULL is allowed. */
void weft_arena_unimport(weft_arena_import_t *import);

#endif
