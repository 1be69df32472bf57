/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operands with a faulting page behind and painted bytes around them. */
#include "arena.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAINT 0xa5
#define MARGIN 256u /* painted bytes on each side */

void arena_open(arena_t *arena, size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    arena->size = (size + 2 * MARGIN + page - 1) / page * page;
    arena->base =
        mmap(NULL, arena->size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (arena->base == MAP_FAILED || mprotect(arena->base + arena->size, page, PROT_NONE) != 0) {
        abort();
    }
}

void arena_close(arena_t *arena)
{
    munmap(arena->base, arena->size + (size_t)sysconf(_SC_PAGESIZE));
}

static size_t arena_behind(const arena_t *arena)
{
    size_t left = (size_t)(arena->base + arena->size - (arena->data + arena->bytes));
    return left < MARGIN ? left : MARGIN;
}

void arena_place(arena_t *arena, size_t bytes, size_t offset)
{
    arena->bytes = bytes;
    arena->data = arena->base + arena->size - bytes - offset;
    memset(arena->data - MARGIN, PAINT, MARGIN);
    memset(arena->data + bytes, PAINT, arena_behind(arena));
}

bool arena_is_clean(const arena_t *arena)
{
    const uint8_t *before = arena->data - MARGIN, *behind = arena->data + arena->bytes;
    for (size_t i = 0; i < MARGIN; i++) {
        if (before[i] != PAINT) {
            return false;
        }
    }
    for (size_t i = 0; i < arena_behind(arena); i++) {
        if (behind[i] != PAINT) {
            return false;
        }
    }
    return true;
}
