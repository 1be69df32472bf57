/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory for one operand that notices strays: a page that faults behind it, a pattern around the
 * data. */
#ifndef WEFT_TESTS_ARENA_H
#define WEFT_TESTS_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct arena {
    uint8_t *base;
    size_t size;   /* usable bytes */
    uint8_t *data; /* where the operand lies now */
    size_t bytes;
} arena_t;

void arena_open(arena_t *arena, size_t size);
void arena_close(arena_t *arena);

/* Places an operand of `bytes` and paints its surroundings. `offset` counts back from the end: 0
 * puts its last byte before the page that faults. */
void arena_place(arena_t *arena, size_t bytes, size_t offset);

/* True if the bytes around the operand are as painted. */
bool arena_is_clean(const arena_t *arena);

#endif
