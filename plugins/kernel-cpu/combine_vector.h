/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Combinations with vectors, for all instruction sets. A combine_<isa>.c defines, before it
 * includes this file, VEC_BYTES, VEC_PLAIN and VEC_STREAM (names of its tables), and after
 * vector.h:
 *   vec_stream(dst, value, bytes)    stores an aligned value past the caches
 *   vec_fence()                      orders such stores before later ones
 *   fp16_vdecode(v_half), fp16_vencode(v_f32)
 *   vec_widen16(), vec_widen8(), vec_narrow16(), vec_narrow8() of vector.h */
#ifndef KERNEL_CPU_COMBINE_VECTOR_H
#define KERNEL_CPU_COMBINE_VECTOR_H

#include "combine.h"
#include "float_mode.h"
#include "vector.h"

#define VEC_GROUP 4u /* vectors of each operand in flight: enough to hide latencies */

/* Below this, going past the caches costs more than it saves. */
#define STREAM_MIN 1024u

/* Defined with the bodies: a copy that goes past the caches is a one-source sum of bytes. */
static void vec_copy(const weft_combine_t *c, size_t bytes, uint32_t stream);

#define ROW_DTYPE(dtype, name, size) name##_dtype = WEFT_##dtype,
enum { COMBINE_ROWS(ROW_DTYPE) };
#undef ROW_DTYPE

#define BODY "combine_vector.inc"
#include "each_dtype.inc"

static void vec_copy(const weft_combine_t *c, size_t bytes, uint32_t stream)
{
    if (stream != 0 && bytes >= STREAM_MIN) {
        weft_combine_t flat = *c;
        flat.count = bytes;
        uint8_run(&flat, WEFT_SUM, stream);
    } else {
        combine_copy(c, bytes);
    }
}

#define ENTRY_WAY(name, op, way, stream)                                                           \
    static COMBINE_APART void name##_##op##_##way##_ieee(const weft_combine_t *c)                  \
    {                                                                                              \
        name##_##op(c, stream);                                                                    \
    }                                                                                              \
    static void name##_##op##_##way(const weft_combine_t *c)                                       \
    {                                                                                              \
        float_mode_call(name##_##op##_##way##_ieee, c);                                            \
    }
#define ENTRY(name, op) ENTRY_WAY(name, op, plain, 0) ENTRY_WAY(name, op, stream, c->nt_mask)
#define ENTRIES(dtype, name, size)                                                                 \
    ENTRY(name, sum)                                                                               \
    ENTRY(name, prod)                                                                              \
    ENTRY(name, minimum) ENTRY(name, maximum) ENTRY(name, avg) ENTRY(name, premulsum)
COMBINE_ROWS(ENTRIES)

#define BITS_ENTRY(op, size)                                                                       \
    static void op##_##size##_plain(const weft_combine_t *c)                                       \
    {                                                                                              \
        const weft_combine_t bytes = combine_as_bytes(c, size);                                    \
        uint8_##op(&bytes, 0);                                                                     \
    }                                                                                              \
    static void op##_##size##_stream(const weft_combine_t *c)                                      \
    {                                                                                              \
        const weft_combine_t bytes = combine_as_bytes(c, size);                                    \
        uint8_##op(&bytes, c->nt_mask);                                                            \
    }
#define BITS_ENTRIES(size) BITS_ENTRY(band, size) BITS_ENTRY(bor, size) BITS_ENTRY(bxor, size)
COMBINE_SIZES(BITS_ENTRIES)

#define ROW(name, way)                                                                             \
    [WEFT_SUM] = name##_sum_##way, [WEFT_PROD] = name##_prod_##way,                                \
    [WEFT_MIN] = name##_minimum_##way, [WEFT_MAX] = name##_maximum_##way,                          \
    [WEFT_AVG] = name##_avg_##way, [WEFT_PREMULSUM] = name##_premulsum_##way
#define ROW_BITS(size, way)                                                                        \
    [WEFT_BAND] = band_##size##_##way, [WEFT_BOR] = bor_##size##_##way,                            \
    [WEFT_BXOR] = bxor_##size##_##way
#define FLOAT_PLAIN(dtype, name, size) [WEFT_##dtype] = {ROW(name, plain)},
#define FLOAT_STREAM(dtype, name, size) [WEFT_##dtype] = {ROW(name, stream)},
#define INTEGER_PLAIN(dtype, name, size) [WEFT_##dtype] = {ROW(name, plain), ROW_BITS(size, plain)},
#define INTEGER_STREAM(dtype, name, size)                                                          \
    [WEFT_##dtype] = {ROW(name, stream), ROW_BITS(size, stream)},

const combine_table_t VEC_PLAIN = {COMBINE_INTEGERS(INTEGER_PLAIN) COMBINE_FLOATS(FLOAT_PLAIN)};
const combine_table_t VEC_STREAM = {COMBINE_INTEGERS(INTEGER_STREAM) COMBINE_FLOATS(FLOAT_STREAM)};

#endif
