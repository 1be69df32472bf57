/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Test data and expected results. */
#include "values.h"

#include <math.h>
#include <string.h>

/* Bits of a small float: 1 sign, `exponent` and `mantissa` bits. Finite values only. */
static uint32_t encode_small(double value, int exponent, int mantissa)
{
    int bias = (1 << (exponent - 1)) - 1;
    uint32_t sign = signbit(value) ? 1u << (exponent + mantissa) : 0;
    int e;
    double a = fabs(value);
    if (a == 0) {
        return sign;
    }
    frexp(a, &e);
    e -= 1;
    if (e < 1 - bias) {
        e = 1 - bias; /* subnormal */
    }
    /* nearbyint rounds to even; a carry into the exponent adds up right. */
    uint32_t steps = (uint32_t)nearbyint(ldexp(a, mantissa - e));
    return sign | (((uint32_t)(e + bias - 1) << mantissa) + steps);
}

void values_put(void *buffer, uint64_t i, weft_dtype_t dtype, double value)
{
    size_t size = weft_dtype_size(dtype);
    uint8_t *at = (uint8_t *)buffer + i * size;
    uint64_t bits = (uint64_t)(int64_t)value;
    uint32_t small;
    float f = (float)value;
    switch (dtype) {
    case WEFT_FP64:
        memcpy(at, &value, 8);
        return;
    case WEFT_FP32:
        memcpy(at, &f, 4);
        return;
    case WEFT_FP16:
        small = encode_small(value, 5, 10);
        break;
    case WEFT_BF16:
        small = encode_small(value, 8, 7);
        break;
    case WEFT_FP8_E4M3:
        small = encode_small(value, 4, 3);
        break;
    case WEFT_FP8_E5M2:
        small = encode_small(value, 5, 2);
        break;
    default:
        memcpy(at, &bits, size);
        return;
    }
    memcpy(at, &small, size);
}

static uint64_t mix(uint64_t x)
{
    x ^= x >> 33;
    x *= UINT64_C(0xff51afd7ed558ccd);
    x ^= x >> 29;
    return x;
}

static int is_unsigned(weft_dtype_t dtype)
{
    return dtype == WEFT_UINT8 || dtype == WEFT_UINT16 || dtype == WEFT_UINT32 ||
           dtype == WEFT_UINT64;
}

/* Two ranks contribute to each element of a sum, so that 3 bits of mantissa hold every result. */
static int contributes(uint32_t nranks, uint32_t rank, uint64_t i)
{
    uint32_t first = (uint32_t)(mix(i) % nranks);
    uint32_t second = (uint32_t)(mix(i + 77) % nranks);
    return rank == first || rank == second;
}

double values_input(weft_dtype_t dtype, weft_op_t op, uint32_t nranks, uint32_t rank, uint64_t i)
{
    uint64_t h = mix(i * 131 + rank);
    if (op == WEFT_MIN || op == WEFT_MAX) {
        double v = (double)(h % 8);
        return is_unsigned(dtype) ? v : v - 4;
    }
    if (op == WEFT_BAND || op == WEFT_BOR || op == WEFT_BXOR) {
        return (double)(op == WEFT_BAND ? h % 64 | mix(h) % 64 : h % 64 & mix(h) % 64);
    }
    if (op == WEFT_PROD) {
        return contributes(nranks, rank, i) ? 2 : 1;
    }
    return contributes(nranks, rank, i) ? (double)(h % 3 + 1) : 0;
}

double values_scalar(uint32_t rank)
{
    return rank % 2 == 0 ? 1 : 2;
}

/* AVG of small floats is divided in fp32 and rounded once to the type. */
static double average(weft_dtype_t dtype, double sum, uint32_t nranks)
{
    switch (dtype) {
    case WEFT_FP64:
        return sum / nranks;
    case WEFT_FP32:
    case WEFT_FP16:
    case WEFT_BF16:
    case WEFT_FP8_E4M3:
    case WEFT_FP8_E5M2:
        return (double)((float)sum / (float)nranks);
    default:
        return trunc(sum / nranks);
    }
}

static double fold_bits(weft_op_t op, double a, double b)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    return (double)(op == WEFT_BAND ? x & y : op == WEFT_BOR ? x | y : x ^ y);
}

double values_reduced(weft_dtype_t dtype, weft_op_t op, uint32_t nranks, uint64_t i)
{
    double acc = values_input(dtype, op, nranks, 0, i);
    if (op == WEFT_PREMULSUM) {
        acc *= values_scalar(0);
    }
    for (uint32_t r = 1; r < nranks; r++) {
        double v = values_input(dtype, op, nranks, r, i);
        if (op == WEFT_MIN) {
            acc = v < acc ? v : acc;
        } else if (op == WEFT_MAX) {
            acc = v > acc ? v : acc;
        } else if (op == WEFT_BAND || op == WEFT_BOR || op == WEFT_BXOR) {
            acc = fold_bits(op, acc, v);
        } else if (op == WEFT_PROD) {
            acc *= v;
        } else {
            acc += op == WEFT_PREMULSUM ? v * values_scalar(r) : v;
        }
    }
    return op == WEFT_AVG ? average(dtype, acc, nranks) : acc;
}
