/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists of spare blocks. A spare block begins with the address of the next one. */
#include "core/comm/spares.h"

#include "core/os/os.h"

/* Blocks of a list. A group of more operations goes to the allocator for the rest. */
#define SPARES_MOST 64u

void *weft_spares_take(weft_spares_t *spares, size_t bytes)
{
    void **block = spares->first;
    if (block == NULL) {
        return weft_os_alloc(bytes, 0);
    }
    spares->first = *block;
    spares->count--;
    return block;
}

void weft_spares_put(weft_spares_t *spares, void *block)
{
    void **link = block;
    if (spares == NULL || spares->count == SPARES_MOST) {
        weft_os_free(block);
        return;
    }
    *link = spares->first;
    spares->first = block;
    spares->count++;
}

void weft_spares_fini(weft_spares_t *spares)
{
    while (spares->first != NULL) {
        void **block = spares->first;
        spares->first = *block;
        weft_os_free(block);
    }
    spares->count = 0;
}
