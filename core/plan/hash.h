/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A 64-bit hash of a sequence of words, equal on all machines. It finds mistakes and is no
 * protection against adversaries. The step is the finaliser of SplitMix64 (Steele, Lea and Flood,
 * OOPSLA 2014). */
#ifndef WEFT_PLAN_HASH_H
#define WEFT_PLAN_HASH_H

#include <stdint.h>

#define WEFT_HASH_START UINT64_C(0x77656674706c616e)

static inline uint64_t weft_hash_mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Adds a word. The order of the words matters. */
static inline uint64_t weft_hash_add(uint64_t hash, uint64_t word)
{
    return weft_hash_mix((hash << 7 | hash >> 57) ^ weft_hash_mix(word));
}

static inline uint64_t weft_hash_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++) {
        hash = weft_hash_add(hash, (unsigned char)*text);
    }
    return weft_hash_add(hash, 256);
}

#endif
