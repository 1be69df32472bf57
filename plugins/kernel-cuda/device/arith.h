/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scalar arithmetic of every data type in the common subset of C11 and CUDA C++, so that a
 * processor can test what a device runs: bit-exact conversion of the small floats to and from fp32
 * (to nearest, ties to even) and the order of MIN and MAX. Gives the bits of plugins/kernel-cpu, if
 * floats are not contracted (nvcc: -fmad=false). */
#ifndef KERNEL_CUDA_DEVICE_ARITH_H
#define KERNEL_CUDA_DEVICE_ARITH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* WEFT_DEVICE: part of its caller. WEFT_DEVICE_CALL: a function of its own, as inlining all data
 * types into each kernel would cost registers and build time. */
#if defined(__CUDACC__)
#define WEFT_DEVICE __device__ __forceinline__
#define WEFT_DEVICE_CALL __device__ __noinline__
#define WEFT_UNROLL _Pragma("unroll")
#define WEFT_ROLLED _Pragma("unroll 1")
#else
#define WEFT_DEVICE inline
#define WEFT_DEVICE_CALL inline
#define WEFT_UNROLL
#define WEFT_ROLLED
#endif

#define CUDA_F32_SIGN 0x80000000u
#define CUDA_F32_INF 0x7f800000u
#define CUDA_F64_SIGN 0x8000000000000000u

static WEFT_DEVICE uint32_t cuda_f32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static WEFT_DEVICE float cuda_f32_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static WEFT_DEVICE uint64_t cuda_f64_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static WEFT_DEVICE double cuda_f64_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Small floats: `sign` is the bit of the sign, `mantissa` counts bits, `bias` is that of the
 * exponent, `top` the magnitude that overflow rounds to (infinity, or NaN where there is none) and
 * `nan` the magnitude of the NaN that is written. All are constants at every call. */
static WEFT_DEVICE float cuda_small_decode(uint32_t x, uint32_t sign, uint32_t mantissa,
                                           uint32_t bias, uint32_t top, uint32_t nan)
{
    uint32_t magnitude = x & (sign - 1);
    uint32_t aligned = magnitude << (23 - mantissa);
    uint32_t normal = aligned + ((127 - bias) << 23);
    /* A subnormal gets the implicit one of the smallest normal number, then loses it again. */
    uint32_t smallest = (128 - bias) << 23;
    uint32_t subnormal = cuda_f32_bits(cuda_f32_of(aligned + smallest) - cuda_f32_of(smallest));
    uint32_t special = aligned | (top == nan ? CUDA_F32_INF | 0x400000u : CUDA_F32_INF);
    uint32_t bits = magnitude < (1u << mantissa) ? subnormal : normal;
    bits = magnitude >= top ? special : bits;
    return cuda_f32_of(bits | ((x & sign) != 0 ? CUDA_F32_SIGN : 0u));
}

static WEFT_DEVICE uint32_t cuda_small_encode(float x, uint32_t sign, uint32_t mantissa,
                                              uint32_t bias, uint32_t top, uint32_t nan)
{
    uint32_t bits = cuda_f32_bits(x);
    uint32_t magnitude = bits & ~CUDA_F32_SIGN;
    uint32_t shift = 23 - mantissa;
    uint32_t half = (1u << (shift - 1)) - 1 + ((magnitude >> shift) & 1);
    uint32_t normal = (magnitude - ((127 - bias) << 23) + half) >> shift;
    /* Adding a number whose last bit weighs one step of the subnormals lets the hardware round. */
    uint32_t anchor = (151 - bias - mantissa) << 23;
    uint32_t subnormal = cuda_f32_bits(cuda_f32_of(magnitude) + cuda_f32_of(anchor)) - anchor;
    uint32_t small = magnitude < ((128 - bias) << 23) ? subnormal : normal;
    small = small > top ? top : small;
    small = magnitude > CUDA_F32_INF ? nan : small;
    return small | ((bits & CUDA_F32_SIGN) != 0 ? sign : 0u);
}

static WEFT_DEVICE float cuda_fp16_decode(uint16_t x)
{
    return cuda_small_decode(x, 0x8000, 10, 15, 0x7c00, 0x7e00);
}

static WEFT_DEVICE uint16_t cuda_fp16_encode(float x)
{
    return (uint16_t)cuda_small_encode(x, 0x8000, 10, 15, 0x7c00, 0x7e00);
}

static WEFT_DEVICE float cuda_fp8_e4m3_decode(uint8_t x)
{
    return cuda_small_decode(x, 0x80, 3, 7, 0x7f, 0x7f);
}

static WEFT_DEVICE uint8_t cuda_fp8_e4m3_encode(float x)
{
    return (uint8_t)cuda_small_encode(x, 0x80, 3, 7, 0x7f, 0x7f);
}

static WEFT_DEVICE float cuda_fp8_e5m2_decode(uint8_t x)
{
    return cuda_small_decode(x, 0x80, 2, 15, 0x7c, 0x7e);
}

static WEFT_DEVICE uint8_t cuda_fp8_e5m2_encode(float x)
{
    return (uint8_t)cuda_small_encode(x, 0x80, 2, 15, 0x7c, 0x7e);
}

static WEFT_DEVICE float cuda_bf16_decode(uint16_t x)
{
    return cuda_f32_of((uint32_t)x << 16);
}

static WEFT_DEVICE uint16_t cuda_bf16_encode(float x)
{
    uint32_t bits = cuda_f32_bits(x);
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
    uint32_t nan = (bits >> 16) | 0x40u;
    return (uint16_t)((bits & ~CUDA_F32_SIGN) > CUDA_F32_INF ? nan : rounded);
}

/* MIN and MAX put −0 below +0, so they do not depend on the order of the sources. Where neither
 * number is less they are equal but for the sign, or one is NaN: the bits of both joined are then
 * the answer, as joining with a NaN gives a NaN. */
static WEFT_DEVICE float cuda_float_min(float a, float b)
{
    float joined = cuda_f32_of(cuda_f32_bits(a) | cuda_f32_bits(b));
    float least = b < a ? b : joined;
    return a < b ? a : least;
}

static WEFT_DEVICE float cuda_float_max(float a, float b)
{
    uint32_t x = cuda_f32_bits(a), y = cuda_f32_bits(b);
    float joined = cuda_f32_of(((x | y) & ~CUDA_F32_SIGN) | (x & y));
    float most = b > a ? b : joined;
    return a > b ? a : most;
}

static WEFT_DEVICE double cuda_double_min(double a, double b)
{
    double joined = cuda_f64_of(cuda_f64_bits(a) | cuda_f64_bits(b));
    double least = b < a ? b : joined;
    return a < b ? a : least;
}

static WEFT_DEVICE double cuda_double_max(double a, double b)
{
    uint64_t x = cuda_f64_bits(a), y = cuda_f64_bits(b);
    double joined = cuda_f64_of(((x | y) & ~CUDA_F64_SIGN) | (x & y));
    double most = b > a ? b : joined;
    return a > b ? a : most;
}

/* Integers, and floats that are computed in their own type, need no conversion. */
#define CUDA_PLAIN(name, type)                                                                     \
    static WEFT_DEVICE type cuda_##name##_decode(type x)                                           \
    {                                                                                              \
        return x;                                                                                  \
    }                                                                                              \
    static WEFT_DEVICE type cuda_##name##_encode(type x)                                           \
    {                                                                                              \
        return x;                                                                                  \
    }

#define CUDA_ORDER(type)                                                                           \
    static WEFT_DEVICE type cuda_##type##_min(type a, type b)                                      \
    {                                                                                              \
        return b < a ? b : a;                                                                      \
    }                                                                                              \
    static WEFT_DEVICE type cuda_##type##_max(type a, type b)                                      \
    {                                                                                              \
        return b > a ? b : a;                                                                      \
    }

CUDA_PLAIN(int8, int8_t)
CUDA_PLAIN(uint8, uint8_t)
CUDA_PLAIN(int16, int16_t)
CUDA_PLAIN(uint16, uint16_t)
CUDA_PLAIN(int32, int32_t)
CUDA_PLAIN(uint32, uint32_t)
CUDA_PLAIN(int64, int64_t)
CUDA_PLAIN(uint64, uint64_t)
CUDA_PLAIN(fp32, float)
CUDA_PLAIN(fp64, double)
CUDA_ORDER(int8_t)
CUDA_ORDER(uint8_t)
CUDA_ORDER(int16_t)
CUDA_ORDER(uint16_t)
CUDA_ORDER(int32_t)
CUDA_ORDER(uint32_t)
CUDA_ORDER(int64_t)
CUDA_ORDER(uint64_t)
#undef CUDA_PLAIN
#undef CUDA_ORDER

#endif
