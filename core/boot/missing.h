/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of ranks that did not come to an operation, as it travels with the failure of its
 * communicator: their number, and a bit for each rank from the lowest missing one on. Ranks are
 * those of the communicator. */
#ifndef WEFT_BOOT_MISSING_H
#define WEFT_BOOT_MISSING_H

#include <stdint.h>

#define WEFT_MISSING_SPAN 1984u /* ranks from the lowest on; who is beyond is counted only */

typedef struct weft_missing {
    uint32_t count; /* of all missing ranks; 0: there is no list */
    uint32_t first; /* the lowest */
    uint8_t bits[WEFT_MISSING_SPAN / 8];
} weft_missing_t;

/* Adds a rank; in ascending order. */
void weft_missing_add(weft_missing_t *missing, uint32_t rank);
/* Writes the first `max` ranks of the list, in ascending order. Returns how many are listed. */
uint32_t weft_missing_list(const weft_missing_t *missing, uint32_t *ranks, uint32_t max);

#endif
