/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See partitions.h. */
#include <stdlib.h>

#include "partitions.h"

/* FNV-1a; 0 is no set. */
static uint64_t hash(const uint32_t *members, uint32_t count)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (uint32_t i = 0; i < count; i++) {
        h = (h ^ members[i]) * UINT64_C(0x100000001b3);
    }
    return h | 1;
}

/* Whoever puts a set into the next place, all see to it that it counts. */
uint32_t sets_newest(board_t *board)
{
    uint32_t n = atomic_load(&board->nsets);
    while (n < SETS_MOST && atomic_load(&board->sets[n]) != 0) {
        (void)atomic_compare_exchange_strong(&board->nsets, &n, n + 1);
        n = atomic_load(&board->nsets);
    }
    return n - 1;
}

uint32_t sets_place(board_t *board, const uint32_t *members, uint32_t count)
{
    const uint64_t set = hash(members, count);
    for (;;) {
        uint32_t newest = sets_newest(board);
        uint64_t none = 0;
        for (uint32_t i = 0; i < newest + 1; i++) {
            if (atomic_load(&board->sets[i]) == set) {
                return i;
            }
        }
        if (newest + 1 == SETS_MOST) {
            abort();
        }
        (void)atomic_compare_exchange_strong(&board->sets[newest + 1], &none, set);
    }
}
