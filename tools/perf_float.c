/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bits of the float types to double and back. */
#include <math.h>
#include <string.h>

#include "tools/perf_float.h"

/* A binary format with `exponent` and `mantissa` bits. */
typedef struct float_format {
    uint32_t exponent, mantissa;
    uint32_t finite_top; /* 1: the top exponent holds numbers, only all ones is NaN (e4m3) */
} float_format_t;

static const float_format_t formats[WEFT_DTYPE_COUNT] = {
    [WEFT_FP16] = {5, 10, 0}, [WEFT_FP32] = {8, 23, 0},    [WEFT_FP64] = {11, 52, 0},
    [WEFT_BF16] = {8, 7, 0},  [WEFT_FP8_E4M3] = {4, 3, 1}, [WEFT_FP8_E5M2] = {5, 2, 0},
};

/* 2^e for exponents of normal doubles. */
static double perf_float_power_of_two(int e)
{
    uint64_t bits = (uint64_t)(e + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double perf_float_decode_small(const float_format_t *format, uint64_t bits)
{
    int bias = (1 << (format->exponent - 1)) - 1;
    uint64_t top = (UINT64_C(1) << format->exponent) - 1;
    uint64_t fraction = bits & ((UINT64_C(1) << format->mantissa) - 1);
    uint64_t e = bits >> format->mantissa & top;
    double sign = (bits >> (format->exponent + format->mantissa) & 1) != 0 ? -1 : 1;
    if (e == top && !format->finite_top) {
        return fraction != 0 ? NAN : sign * INFINITY;
    }
    if (e == top && fraction == (UINT64_C(1) << format->mantissa) - 1) {
        return NAN;
    }
    double unit = perf_float_power_of_two((e == 0 ? 1 : (int)e) - bias - (int)format->mantissa);
    uint64_t whole = e == 0 ? fraction : fraction + (UINT64_C(1) << format->mantissa);
    return sign * (double)whole * unit;
}

static uint64_t perf_float_encode_small(const float_format_t *format, double value)
{
    int least = 2 - (1 << (format->exponent - 1)); /* exponent of the smallest normal number */
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int e = (int)(bits >> 52 & 0x7ff) - 1023;
    e = e < least ? least : e;
    /* At most 2^(mantissa+1) units: a carry into the exponent comes out right by itself. */
    double units = nearbyint(fabs(value) * perf_float_power_of_two((int)format->mantissa - e));
    uint64_t code = ((uint64_t)(e - least) << format->mantissa) + (uint64_t)units;
    return code | (bits >> 63) << (format->exponent + format->mantissa);
}

double perf_float_decode(weft_dtype_t dtype, uint64_t bits)
{
    if (dtype == WEFT_FP32) {
        uint32_t low = (uint32_t)bits;
        float value;
        memcpy(&value, &low, sizeof value);
        return (double)value;
    }
    if (dtype == WEFT_FP64) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    return perf_float_decode_small(&formats[dtype], bits);
}

uint64_t perf_float_encode(weft_dtype_t dtype, double value)
{
    uint64_t bits = 0;
    if (dtype == WEFT_FP32) {
        float single = (float)value;
        memcpy(&bits, &single, sizeof single);
        return bits;
    }
    if (dtype == WEFT_FP64) {
        memcpy(&bits, &value, sizeof bits);
        return bits;
    }
    return perf_float_encode_small(&formats[dtype], value);
}

/* Maps the bits to a line on which neighbours differ by one. */
static int64_t perf_float_position(const float_format_t *format, uint64_t bits)
{
    unsigned width = format->exponent + format->mantissa;
    int64_t magnitude = (int64_t)(bits & ((UINT64_C(1) << width) - 1));
    return (bits >> width & 1) != 0 ? -magnitude : magnitude;
}

uint64_t perf_float_distance(weft_dtype_t dtype, uint64_t a, uint64_t b)
{
    if (!isfinite(perf_float_decode(dtype, a)) || !isfinite(perf_float_decode(dtype, b))) {
        return UINT64_MAX;
    }
    int64_t x = perf_float_position(&formats[dtype], a);
    int64_t y = perf_float_position(&formats[dtype], b);
    return x > y ? (uint64_t)(x - y) : (uint64_t)(y - x);
}
