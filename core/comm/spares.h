/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of a communicator's notes of groups that may be used again. A group of small
 * messages would spend half of its time in the allocator. The thread that owns the communicator
 * makes all calls. */
#ifndef WEFT_COMM_SPARES_H
#define WEFT_COMM_SPARES_H

#include <stddef.h>
#include <stdint.h>

/* Blocks of one size. All zero: there are none. */
typedef struct weft_spares {
    void *first;
    uint32_t count;
} weft_spares_t;

/* Returns a block, with any contents, or NULL. It may be freed with weft_os_free(). */
void *weft_spares_take(weft_spares_t *spares, size_t bytes);
/* Keeps the block, or frees it if there are enough of them; NULL: frees it. */
void weft_spares_put(weft_spares_t *spares, void *block);
/* Frees all blocks. */
void weft_spares_fini(weft_spares_t *spares);

#endif
