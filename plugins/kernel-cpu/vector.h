/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Vectors of VEC_BYTES bytes and the arithmetic of convert.h on them, written with the vector types
 * of gcc and clang: one text for every instruction set. The file that includes this defines
 * VEC_BYTES. Compiled with -fwrapv, so signed lanes wrap. */
#ifndef KERNEL_CPU_VECTOR_H
#define KERNEL_CPU_VECTOR_H

#include "convert.h"

/* Lanes in which a type is combined, its comparison masks, and the choice by such a mask. */
#define VECTOR_TYPE(type, mask)                                                                    \
    typedef type v_##type __attribute__((vector_size(VEC_BYTES)));                                 \
    COMBINE_INLINE v_##type type##_vselect(v_##mask m, v_##type a, v_##type b)                     \
    {                                                                                              \
        return (v_##type)(((v_##mask)a & m) | ((v_##mask)b & ~m));                                 \
    }

typedef i8 v_i8 __attribute__((vector_size(VEC_BYTES)));
typedef i16 v_i16 __attribute__((vector_size(VEC_BYTES)));
typedef i32 v_i32 __attribute__((vector_size(VEC_BYTES)));
typedef i64 v_i64 __attribute__((vector_size(VEC_BYTES)));
VECTOR_TYPE(i8, i8)
VECTOR_TYPE(u8, i8)
VECTOR_TYPE(i16, i16)
VECTOR_TYPE(u16, i16)
VECTOR_TYPE(i32, i32)
VECTOR_TYPE(u32, i32)
VECTOR_TYPE(i64, i64)
VECTOR_TYPE(u64, i64)
VECTOR_TYPE(f32, i32)
VECTOR_TYPE(f64, i64)
#undef VECTOR_TYPE

#define INTEGER_ORDER(type)                                                                        \
    COMBINE_INLINE v_##type type##_vmin(v_##type a, v_##type b)                                    \
    {                                                                                              \
        return type##_vselect(b < a, b, a);                                                        \
    }                                                                                              \
    COMBINE_INLINE v_##type type##_vmax(v_##type a, v_##type b)                                    \
    {                                                                                              \
        return type##_vselect(b > a, b, a);                                                        \
    }
INTEGER_ORDER(i8)
INTEGER_ORDER(u8)
INTEGER_ORDER(i16)
INTEGER_ORDER(u16)
INTEGER_ORDER(i32)
INTEGER_ORDER(u32)
INTEGER_ORDER(i64)
INTEGER_ORDER(u64)
#undef INTEGER_ORDER

#define FLOAT_ORDER(type, bits, sign)                                                              \
    COMBINE_INLINE v_##type type##_vmin(v_##type a, v_##type b)                                    \
    {                                                                                              \
        v_##type joined = (v_##type)((v_##bits)a | (v_##bits)b);                                   \
        return type##_vselect(a < b, a, type##_vselect(b < a, b, joined));                         \
    }                                                                                              \
    COMBINE_INLINE v_##type type##_vmax(v_##type a, v_##type b)                                    \
    {                                                                                              \
        v_##bits x = (v_##bits)a, y = (v_##bits)b;                                                 \
        v_##type joined = (v_##type)(((x | y) & ~sign) | (x & y));                                 \
        return type##_vselect(a > b, a, type##_vselect(b > a, b, joined));                         \
    }
FLOAT_ORDER(f32, u32, F32_SIGN)
FLOAT_ORDER(f64, u64, F64_SIGN)
#undef FLOAT_ORDER

/* As many 16- and 8-bit floats as a vector has fp32 lanes. */
typedef u16 v_half __attribute__((vector_size(VEC_BYTES / 2)));
typedef u8 v_quarter __attribute__((vector_size(VEC_BYTES / 4)));

/* Between unsigned lanes of 32 bits and of 16 or 8, which compilers do badly by themselves. Each
 * combine_<isa>.c defines them. Narrowed lanes are known to fit. */
COMBINE_INLINE v_u32 vec_widen16(v_half x);
COMBINE_INLINE v_u32 vec_widen8(v_quarter x);
COMBINE_INLINE v_half vec_narrow16(v_u32 x);
COMBINE_INLINE v_quarter vec_narrow8(v_u32 x);

/* The functions of convert.h lane by lane; the reasons are given there. */
COMBINE_INLINE v_f32 small_vdecode(v_u32 x, u32 sign, small_format_t format)
{
    v_u32 magnitude = x & (sign - 1);
    v_u32 aligned = magnitude << (23 - format.mantissa);
    v_u32 normal = aligned + ((127 - format.bias) << 23);
    u32 smallest = (128 - format.bias) << 23;
    v_u32 subnormal = (v_u32)((v_f32)(aligned + smallest) - f32_of(smallest));
    v_u32 special = aligned | (format.top == format.nan ? F32_INF | 0x400000u : F32_INF);
    v_u32 bits = u32_vselect(magnitude < (1u << format.mantissa), subnormal, normal);
    bits = u32_vselect(magnitude >= format.top, special, bits);
    return (v_f32)(bits | (x & sign) * (F32_SIGN / sign));
}

COMBINE_INLINE v_u32 small_vencode(v_f32 x, u32 sign, small_format_t format)
{
    v_u32 bits = (v_u32)x;
    v_u32 magnitude = bits & ~F32_SIGN;
    u32 shift = 23 - format.mantissa;
    v_u32 half = ((1u << (shift - 1)) - 1) + ((magnitude >> shift) & 1);
    v_u32 normal = (magnitude - ((127 - format.bias) << 23) + half) >> shift;
    u32 anchor = (151 - format.bias - format.mantissa) << 23;
    v_u32 subnormal = (v_u32)((v_f32)magnitude + f32_of(anchor)) - anchor;
    v_u32 small = u32_vselect(magnitude < ((128 - format.bias) << 23), subnormal, normal);
    small = u32_vselect(small > format.top, (v_u32){0} + format.top, small);
    small = u32_vselect(magnitude > F32_INF, (v_u32){0} + format.nan, small);
    return small | (bits >> 31) * sign;
}

/* How each type lies in memory, its way to lanes and back. fp16 has instructions of its own and is
 * left to the files of the instruction sets. */
#define PLAIN_TYPE(name, type)                                                                     \
    typedef v_##type name##_packed;                                                                \
    COMBINE_INLINE v_##type name##_vdecode(v_##type x)                                             \
    {                                                                                              \
        return x;                                                                                  \
    }                                                                                              \
    COMBINE_INLINE v_##type name##_vencode(v_##type x)                                             \
    {                                                                                              \
        return x;                                                                                  \
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
#undef PLAIN_TYPE

typedef v_half fp16_packed;
typedef v_half bf16_packed;
typedef v_quarter fp8_e4m3_packed;
typedef v_quarter fp8_e5m2_packed;

COMBINE_INLINE v_f32 bf16_vdecode(v_half x)
{
    return (v_f32)(vec_widen16(x) << 16);
}

COMBINE_INLINE v_half bf16_vencode(v_f32 x)
{
    v_u32 bits = (v_u32)x;
    v_u32 rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
    v_u32 result = u32_vselect((bits & ~F32_SIGN) > F32_INF, (bits >> 16) | 0x40, rounded);
    return vec_narrow16(result);
}

COMBINE_INLINE v_f32 fp8_e4m3_vdecode(v_quarter x)
{
    return small_vdecode(vec_widen8(x), 0x80, FORMAT_FP8_E4M3);
}

COMBINE_INLINE v_quarter fp8_e4m3_vencode(v_f32 x)
{
    return vec_narrow8(small_vencode(x, 0x80, FORMAT_FP8_E4M3));
}

COMBINE_INLINE v_f32 fp8_e5m2_vdecode(v_quarter x)
{
    return small_vdecode(vec_widen8(x), 0x80, FORMAT_FP8_E5M2);
}

COMBINE_INLINE v_quarter fp8_e5m2_vencode(v_f32 x)
{
    return vec_narrow8(small_vencode(x, 0x80, FORMAT_FP8_E5M2));
}

#endif
