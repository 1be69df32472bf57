/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The arena of this process, and those of others that it has mapped. */
#include "core/exec/arena.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/os/os_fork.h"

/* Room for more than any process fills, and little enough that hundreds of them fit into an
 * address space. */
#define BYTES_MIN (UINT64_C(1) << 30)
#define BYTES_MAX (UINT64_C(256) << 30)

/* What was handed out. The list is ordered by offsets. */
typedef struct arena_block {
    struct arena_block *next;
    uint64_t offset, bytes;
} arena_block_t;

typedef struct arena {
    weft_os_shared_t shared;
    weft_arena_offer_t offer;
    arena_block_t *first;
    uint32_t generation; /* of forks: a child does not hand out its parent's memory */
    bool refused;        /* the system did not give one, which was logged */
} arena_t;

static void arena_forked(bool held);
static weft_os_process_mutex_t lock = {.forked = arena_forked}; /* guards everything here */
static arena_t arena;
static weft_arena_import_t *imports;
/* Where the arena is, for looks without the lock. 0: there is none. */
static _Atomic uintptr_t arena_base;
static _Atomic uint64_t arena_bytes;

/* What a thread of the parent was changing is left to the parent. */
static void arena_forked(bool held)
{
    if (held) {
        atomic_store_explicit(&arena_base, 0, memory_order_relaxed);
        arena = (arena_t){.first = NULL};
        imports = NULL;
    }
}

static uint64_t arena_round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static uint64_t arena_size(void)
{
    uint64_t bytes = BYTES_MIN;
    while (bytes < weft_os_memory_bytes() && bytes < BYTES_MAX) {
        bytes *= 2;
    }
    return bytes;
}

/* Makes the arena. Its first page holds the token. */
static weft_status_t arena_create(void)
{
    uint64_t token = 0;
    weft_status_t status = weft_os_shared_create(arena_size(), &arena.shared);
    status = status == WEFT_OK ? weft_os_random(&token, sizeof token) : status;
    if (status == WEFT_OK) {
        status = weft_os_shared_commit(&arena.shared, 0, weft_os_page_bytes());
    }
    if (status != WEFT_OK) {
        return status;
    }
    token = token >> 1 | 1;
    *(uint64_t *)(void *)arena.shared.base = token;
    arena.offer = (weft_arena_offer_t){.pid = weft_os_pid(), .fd = arena.shared.fd, .token = token};
    atomic_store_explicit(&arena_bytes, arena.shared.bytes, memory_order_relaxed);
    atomic_store_explicit(&arena_base, (uintptr_t)arena.shared.base, memory_order_release);
    return WEFT_OK;
}

/* False: the arena is the parent's of this process, or there is none. */
static bool arena_is_own(void)
{
    return arena.shared.base != NULL && arena.generation == weft_os_fork_generation();
}

/* Returns whether there is an arena of this process. */
static bool arena_ensure(void)
{
    uint32_t generation = weft_os_fork_generation();
    if (arena.generation != generation || arena.shared.base == NULL) {
        bool refused = arena.refused && arena.generation == generation;
        arena = (arena_t){.generation = generation, .refused = refused};
    }
    if (arena.shared.base == NULL && !arena.refused && arena_create() != WEFT_OK) {
        weft_log(WEFT_LOG_INFO, "arena",
                 "memory of weft_mem_alloc is not shared with other processes: %s",
                 weft_error_record()->text);
        arena.refused = true;
        arena.shared.base = NULL;
    }
    return arena.shared.base != NULL;
}

/* Returns the first gap of `bytes` bytes, with its place in the list. 0: there is none. */
static uint64_t arena_gap(uint64_t bytes, uint64_t unit, arena_block_t ***at_p)
{
    uint64_t offset = arena_round_up(weft_os_page_bytes(), unit);
    arena_block_t **at = &arena.first;
    while (*at != NULL && (*at)->offset < offset + bytes) {
        offset = arena_round_up((*at)->offset + (*at)->bytes, unit);
        at = &(*at)->next;
    }
    *at_p = at;
    return offset < arena.shared.bytes && arena.shared.bytes - offset >= bytes ? offset : 0;
}

static weft_status_t arena_hand_out(uint64_t bytes, void **memory_p)
{
    arena_block_t **at, *block = weft_os_alloc(sizeof *block, 0);
    uint64_t offset = 0;
    weft_status_t status = WEFT_ERR_RESOURCE;
    if (block != NULL && bytes <= arena.shared.bytes) {
        /* What may take huge pages shares none of them with others. */
        uint64_t unit = bytes >= WEFT_OS_HUGE_PAGE ? WEFT_OS_HUGE_PAGE : weft_os_page_bytes();
        bytes = arena_round_up(bytes > 0 ? bytes : 1, unit);
        offset = arena_gap(bytes, unit, &at);
    }
    if (offset == 0) {
        weft_fail(status, 0, "the arena has no %" PRIu64 " bytes", bytes);
    } else {
        status = weft_os_shared_commit(&arena.shared, offset, bytes);
    }
    if (status != WEFT_OK) {
        weft_os_free(block);
        return status;
    }
    *block = (arena_block_t){.next = *at, .offset = offset, .bytes = bytes};
    *at = block;
    *memory_p = arena.shared.base + offset;
    return WEFT_OK;
}

bool weft_arena_alloc(uint64_t bytes, void **memory_p)
{
    weft_os_process_lock(&lock);
    bool given = arena_ensure() && arena_hand_out(bytes, memory_p) == WEFT_OK;
    weft_os_process_unlock(&lock);
    return given;
}

bool weft_arena_free(void *memory)
{
    weft_os_process_lock(&lock);
    uint64_t offset = (uintptr_t)memory - (uintptr_t)arena.shared.base;
    arena_block_t **at = &arena.first;
    while (*at != NULL && (*at)->offset != offset) {
        at = &(*at)->next;
    }
    arena_block_t *block = arena_is_own() ? *at : NULL;
    if (block != NULL) {
        *at = block->next;
        weft_os_shared_decommit(&arena.shared, block->offset, block->bytes);
        weft_os_free(block);
    }
    weft_os_process_unlock(&lock);
    return block != NULL;
}

uint64_t weft_arena_bytes(uint64_t *room_p)
{
    uint64_t bytes = 0;
    weft_os_process_lock(&lock);
    bool ours = arena_is_own();
    for (const arena_block_t *block = ours ? arena.first : NULL; block != NULL;
         block = block->next) {
        bytes += block->bytes;
    }
    *room_p = ours ? arena.shared.bytes : 0;
    weft_os_process_unlock(&lock);
    return bytes;
}

bool weft_arena_find(const void *memory, uint64_t bytes, uint64_t *offset_p,
                     weft_arena_offer_t *offer_p)
{
    uintptr_t base = atomic_load_explicit(&arena_base, memory_order_acquire);
    uint64_t room = atomic_load_explicit(&arena_bytes, memory_order_relaxed);
    uint64_t offset = (uintptr_t)memory - base;
    if (base == 0 || offset >= room || bytes > room - offset) {
        return false;
    }
    *offset_p = offset;
    *offer_p = arena.offer; /* constant since the base was stored */
    return true;
}

/* Imports -------------------------------------------------------------------------------------- */

static bool arena_offer_is(const weft_arena_offer_t *a, const weft_arena_offer_t *b)
{
    return a->token == b->token && a->pid == b->pid && a->fd == b->fd;
}

/* In steps of a huge page, so that a program that takes small pieces does not open each. */
static bool arena_open(weft_arena_import_t *import, uint64_t end)
{
    const uint64_t open = atomic_load_explicit(&import->open, memory_order_relaxed);
    const uint64_t whole = (end + WEFT_OS_HUGE_PAGE - 1) / WEFT_OS_HUGE_PAGE * WEFT_OS_HUGE_PAGE;
    const uint64_t wanted = whole < import->shared.bytes ? whole : import->shared.bytes;
    if (wanted <= open) {
        return true;
    }
    if (!weft_os_shared_open(&import->shared, open, wanted - open)) {
        return false;
    }
    atomic_store_explicit(&import->open, wanted, memory_order_release);
    return true;
}

bool weft_arena_open(weft_arena_import_t *import, uint64_t end)
{
    weft_os_process_lock(&lock);
    const bool opened = arena_open(import, end);
    weft_os_process_unlock(&lock);
    return opened;
}

static weft_arena_import_t *arena_attach(const weft_arena_offer_t *offer)
{
    weft_arena_import_t *import = weft_os_alloc(sizeof *import, 0);
    if (import == NULL || !weft_os_shared_attach(offer->pid, offer->fd, &import->shared)) {
        weft_os_free(import);
        return NULL;
    }
    if (!arena_open(import, sizeof offer->token) ||
        *(const uint64_t *)(const void *)import->shared.base != offer->token) {
        weft_os_shared_detach(&import->shared);
        weft_os_free(import);
        return NULL;
    }
    import->offer = *offer;
    import->next = imports;
    imports = import;
    return import;
}

weft_arena_import_t *weft_arena_import(const weft_arena_offer_t *offer)
{
    weft_os_process_lock(&lock);
    weft_arena_import_t *import = imports;
    while (import != NULL && !arena_offer_is(&import->offer, offer)) {
        import = import->next;
    }
    if (import == NULL) {
        import = arena_attach(offer);
    }
    if (import != NULL) {
        import->users++;
    }
    weft_os_process_unlock(&lock);
    return import;
}

void weft_arena_unimport(weft_arena_import_t *import)
{
    if (import == NULL) {
        return;
    }
    weft_os_process_lock(&lock);
    if (--import->users == 0) {
        weft_arena_import_t **at = &imports;
        while (*at != import) {
            at = &(*at)->next;
        }
        *at = import->next;
        weft_os_shared_detach(&import->shared);
        weft_os_free(import);
    }
    weft_os_process_unlock(&lock);
}
