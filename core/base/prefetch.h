/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Brings memory into the cache of this core before it is used. Nothing is read or written, so any
 * address may be given: what is not mapped is not fetched. */
#ifndef WEFT_BASE_PREFETCH_H
#define WEFT_BASE_PREFETCH_H

#include <stdint.h>

#define WEFT_PREFETCH_LINE 64u

static inline void weft_prefetch_to_read(const void *memory, uint64_t bytes)
{
#pragma GCC unroll 4
    for (uint64_t at = 0; at < bytes; at += WEFT_PREFETCH_LINE) {
        __builtin_prefetch((const uint8_t *)memory + at, 0);
    }
}

/* Takes the lines away from other cores, too: the write need not ask for them. */
static inline void weft_prefetch_to_write(const void *memory, uint64_t bytes)
{
#pragma GCC unroll 4
    for (uint64_t at = 0; at < bytes; at += WEFT_PREFETCH_LINE) {
        const uint8_t *line = (const uint8_t *)memory + at;
#ifdef __x86_64__
        /* The builtin becomes a prefetch to read unless the compiler may assume PRFCHW. Processors
         * of 64 bits without it take the instruction for a NOP. */
        __asm__ volatile("prefetchw %0" : : "m"(*line));
#else
        __builtin_prefetch(line, 1);
#endif
    }
}

#endif
