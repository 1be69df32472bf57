/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Combinations in plain C: the reference for the vector files, their way with the last few
 * elements, and all there is on other processors. The compiler turns most loops into vector
 * code. */
#include "combine.h"
#include "convert.h"
#include "float_mode.h"

/* A dst is equal to a src or apart from it: no iteration depends on another. */
#if defined(__clang__)
#define COMBINE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define COMBINE_INDEPENDENT _Pragma("GCC ivdep")
#endif

/* Bytes handled at once where a piece is touched again, so that it is still in the first cache. */
#define COMBINE_PIECE 4096u

typedef struct combine_piece {
    const void *src[WEFT_COMBINE_MAX];
    void *dst;
    size_t count;
} combine_piece_t;

void combine_copy(const weft_combine_t *c, size_t bytes)
{
    const size_t step = c->ndst == 1 ? bytes : COMBINE_PIECE;
    for (size_t i = 0; i < bytes; i += step) {
        const char *src = (const char *)c->src[0] + i;
        for (uint32_t d = 0; d < c->ndst; d++) {
            if (c->dst[d] != c->src[0]) {
                memcpy((char *)c->dst[d] + i, src, bytes - i < step ? bytes - i : step);
            }
        }
    }
}

void combine_range(const weft_combine_t *c, size_t first, size_t last, size_t elem,
                   weft_combine_fn_t plain)
{
    weft_combine_t part = *c;
    for (uint32_t i = 0; i < WEFT_COMBINE_MAX; i++) {
        part.src[i] = i < c->nsrc ? (const char *)c->src[i] + first * elem : NULL;
        part.dst[i] = i < c->ndst ? (char *)c->dst[i] + first * elem : NULL;
    }
    part.count = last - first;
    plain(&part);
}

size_t combine_head(const weft_combine_t *c, uint32_t mask, size_t align)
{
    uint32_t d = 0;
    while ((mask >> d & 1) == 0) {
        d++;
    }
    return (align - (uintptr_t)c->dst[d] % align) % align;
}

uint32_t combine_aligned(const weft_combine_t *c, uint32_t mask, size_t offset, size_t align)
{
    uint32_t kept = 0;
    for (uint32_t d = 0; d < WEFT_COMBINE_MAX; d++) {
        if ((mask >> d & 1) != 0 && ((uintptr_t)c->dst[d] + offset) % align == 0) {
            kept |= 1u << d;
        }
    }
    return kept;
}

#define BODY "combine_c.inc"
#include "each_dtype.inc"

#define ENTRY(name, op)                                                                            \
    static void name##_##op##_entry(const weft_combine_t *c)                                       \
    {                                                                                              \
        float_mode_call(name##_##op, c);                                                           \
    }
#define ENTRIES(dtype, name, size)                                                                 \
    ENTRY(name, sum)                                                                               \
    ENTRY(name, prod)                                                                              \
    ENTRY(name, minimum) ENTRY(name, maximum) ENTRY(name, avg) ENTRY(name, premulsum)
COMBINE_ROWS(ENTRIES)

#define BITS_ENTRY(op, size)                                                                       \
    static void op##_##size(const weft_combine_t *c)                                               \
    {                                                                                              \
        const weft_combine_t bytes = combine_as_bytes(c, size);                                    \
        uint8_##op(&bytes);                                                                        \
    }
#define BITS_ENTRIES(size) BITS_ENTRY(band, size) BITS_ENTRY(bor, size) BITS_ENTRY(bxor, size)
COMBINE_SIZES(BITS_ENTRIES)

#define ROW(name)                                                                                  \
    [WEFT_SUM] = name##_sum_entry, [WEFT_PROD] = name##_prod_entry,                                \
    [WEFT_MIN] = name##_minimum_entry, [WEFT_MAX] = name##_maximum_entry,                          \
    [WEFT_AVG] = name##_avg_entry, [WEFT_PREMULSUM] = name##_premulsum_entry
#define ROW_FLOAT(dtype, name, size) [WEFT_##dtype] = {ROW(name)},
#define ROW_INTEGER(dtype, name, size)                                                             \
    [WEFT_##dtype] = {                                                                             \
        ROW(name), [WEFT_BAND] = band_##size, [WEFT_BOR] = bor_##size, [WEFT_BXOR] = bxor_##size},
const combine_table_t combine_c = {COMBINE_INTEGERS(ROW_INTEGER) COMBINE_FLOATS(ROW_FLOAT)};
