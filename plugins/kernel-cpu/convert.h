/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scalar arithmetic of every data type: bit-exact conversion of the small floats to and from fp32
 * (to nearest, ties to even) and the order of MIN and MAX. Free of branches, so that loops over it
 * become vector code. */
#ifndef KERNEL_CPU_CONVERT_H
#define KERNEL_CPU_CONVERT_H

#include <stdint.h>
#include <string.h>

typedef int8_t i8;
typedef uint8_t u8;
typedef int16_t i16;
typedef uint16_t u16;
typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;
typedef float f32;
typedef double f64;

/* Forces inlining: loops vectorise only if every call in them is inlined, and compilers stop
 * half-way. */
#define COMBINE_INLINE static inline __attribute__((always_inline))

#define F32_SIGN 0x80000000u
#define F32_INF 0x7f800000u
#define F64_SIGN 0x8000000000000000u

COMBINE_INLINE u32 f32_bits(f32 x)
{
    u32 bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

COMBINE_INLINE f32 f32_of(u32 bits)
{
    f32 x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

COMBINE_INLINE u64 f64_bits(f64 x)
{
    u64 bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

COMBINE_INLINE f64 f64_of(u64 bits)
{
    f64 x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A float of 16 bits or fewer: sign, exponent, mantissa. */
typedef struct small_format {
    u32 mantissa; /* bits */
    u32 bias;     /* of the exponent */
    u32 top;      /* magnitude that overflow rounds to: infinity, or NaN where there is none */
    u32 nan;      /* magnitude of the NaN that is written */
} small_format_t;

static const small_format_t FORMAT_FP16 = {10, 15, 0x7c00, 0x7e00};
static const small_format_t FORMAT_FP8_E4M3 = {3, 7, 0x7f, 0x7f};
static const small_format_t FORMAT_FP8_E5M2 = {2, 15, 0x7c, 0x7e};

COMBINE_INLINE f32 small_decode(u32 x, u32 sign, small_format_t format)
{
    u32 magnitude = x & (sign - 1);
    u32 aligned = magnitude << (23 - format.mantissa);
    u32 normal = aligned + ((127 - format.bias) << 23);
    /* A subnormal gets the implicit one of the smallest normal number, then loses it again. */
    u32 smallest = (128 - format.bias) << 23;
    u32 subnormal = f32_bits(f32_of(aligned + smallest) - f32_of(smallest));
    u32 special = aligned | (format.top == format.nan ? F32_INF | 0x400000u : F32_INF);
    u32 bits = magnitude < (1u << format.mantissa) ? subnormal : normal;
    bits = magnitude >= format.top ? special : bits;
    return f32_of(bits | ((x & sign) != 0 ? F32_SIGN : 0));
}

COMBINE_INLINE u32 small_encode(f32 x, u32 sign, small_format_t format)
{
    u32 bits = f32_bits(x);
    u32 magnitude = bits & ~F32_SIGN;
    u32 shift = 23 - format.mantissa;
    u32 half = (1u << (shift - 1)) - 1 + ((magnitude >> shift) & 1);
    u32 normal = (magnitude - ((127 - format.bias) << 23) + half) >> shift;
    /* Adding a number whose last bit weighs one step of the subnormals lets the hardware round. */
    u32 anchor = (151 - format.bias - format.mantissa) << 23;
    u32 subnormal = f32_bits(f32_of(magnitude) + f32_of(anchor)) - anchor;
    u32 small = magnitude < ((128 - format.bias) << 23) ? subnormal : normal;
    small = small > format.top ? format.top : small;
    small = magnitude > F32_INF ? format.nan : small;
    return small | ((bits & F32_SIGN) != 0 ? sign : 0);
}

COMBINE_INLINE f32 fp16_decode(u16 x)
{
    return small_decode(x, 0x8000, FORMAT_FP16);
}

COMBINE_INLINE u16 fp16_encode(f32 x)
{
    return (u16)small_encode(x, 0x8000, FORMAT_FP16);
}

COMBINE_INLINE f32 fp8_e4m3_decode(u8 x)
{
    return small_decode(x, 0x80, FORMAT_FP8_E4M3);
}

COMBINE_INLINE u8 fp8_e4m3_encode(f32 x)
{
    return (u8)small_encode(x, 0x80, FORMAT_FP8_E4M3);
}

COMBINE_INLINE f32 fp8_e5m2_decode(u8 x)
{
    return small_decode(x, 0x80, FORMAT_FP8_E5M2);
}

COMBINE_INLINE u8 fp8_e5m2_encode(f32 x)
{
    return (u8)small_encode(x, 0x80, FORMAT_FP8_E5M2);
}

COMBINE_INLINE f32 bf16_decode(u16 x)
{
    return f32_of((u32)x << 16);
}

COMBINE_INLINE u16 bf16_encode(f32 x)
{
    u32 bits = f32_bits(x);
    u32 rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
    return (u16)((bits & ~F32_SIGN) > F32_INF ? (bits >> 16) | 0x40 : rounded);
}

/* MIN and MAX put −0 below +0, so they do not depend on the order of the sources. Where neither
 * number is less they are equal but for the sign, or one is NaN: the bits of both joined are then
 * the answer, as joining with a NaN gives a NaN. */
COMBINE_INLINE f32 f32_min(f32 a, f32 b)
{
    f32 joined = f32_of(f32_bits(a) | f32_bits(b));
    f32 least = b < a ? b : joined;
    return a < b ? a : least;
}

COMBINE_INLINE f32 f32_max(f32 a, f32 b)
{
    u32 x = f32_bits(a), y = f32_bits(b);
    f32 joined = f32_of(((x | y) & ~F32_SIGN) | (x & y));
    f32 most = b > a ? b : joined;
    return a > b ? a : most;
}

COMBINE_INLINE f64 f64_min(f64 a, f64 b)
{
    f64 joined = f64_of(f64_bits(a) | f64_bits(b));
    f64 least = b < a ? b : joined;
    return a < b ? a : least;
}

COMBINE_INLINE f64 f64_max(f64 a, f64 b)
{
    u64 x = f64_bits(a), y = f64_bits(b);
    f64 joined = f64_of(((x | y) & ~F64_SIGN) | (x & y));
    f64 most = b > a ? b : joined;
    return a > b ? a : most;
}

/* Integers, and floats that are computed in their own type, need no conversion. */
#define PLAIN_TYPE(name, type)                                                                     \
    COMBINE_INLINE type name##_decode(type x)                                                      \
    {                                                                                              \
        return x;                                                                                  \
    }                                                                                              \
    COMBINE_INLINE type name##_encode(type x)                                                      \
    {                                                                                              \
        return x;                                                                                  \
    }

#define INTEGER_ORDER(type)                                                                        \
    COMBINE_INLINE type type##_min(type a, type b)                                                 \
    {                                                                                              \
        return b < a ? b : a;                                                                      \
    }                                                                                              \
    COMBINE_INLINE type type##_max(type a, type b)                                                 \
    {                                                                                              \
        return b > a ? b : a;                                                                      \
    }

PLAIN_TYPE(int8, i8)
PLAIN_TYPE(uint8, u8)
PLAIN_TYPE(int16, i16)
PLAIN_TYPE(uint16, u16)
PLAIN_TYPE(int32, i32)
PLAIN_TYPE(uint32, u32)
PLAIN_TYPE(int64, i64)
PLAIN_TYPE(uint64, u64)
PLAIN_TYPE(fp32, f32)
PLAIN_TYPE(fp64, f64)
INTEGER_ORDER(i8)
INTEGER_ORDER(u8)
INTEGER_ORDER(i16)
INTEGER_ORDER(u16)
INTEGER_ORDER(i32)
INTEGER_ORDER(u32)
INTEGER_ORDER(i64)
INTEGER_ORDER(u64)
#undef PLAIN_TYPE
#undef INTEGER_ORDER

#endif
