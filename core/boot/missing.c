/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists of missing ranks. */
#include "core/boot/missing.h"

void weft_missing_add(weft_missing_t *missing, uint32_t rank)
{
    missing->first = missing->count == 0 ? rank : missing->first;
    missing->count++;
    uint32_t at = rank - missing->first;
    if (at < WEFT_MISSING_SPAN) {
        missing->bits[at / 8] |= (uint8_t)(1u << at % 8);
    }
}

uint32_t weft_missing_list(const weft_missing_t *missing, uint32_t *ranks, uint32_t max)
{
    uint32_t listed = 0;
    for (uint32_t at = 0; missing->count > 0 && at < WEFT_MISSING_SPAN; at++) {
        if ((missing->bits[at / 8] >> at % 8 & 1) == 0) {
            continue;
        }
        if (listed < max) {
            ranks[listed] = missing->first + at;
        }
        listed++;
    }
    return listed;
}
