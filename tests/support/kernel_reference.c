/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The slow arithmetic that kernels are compared with. */
#include "kernel_reference.h"

#include <math.h>
#include <string.h>

/* Float formats: mantissa bits, exponent bias, all bits, magnitude of overflow, magnitude of a
 * NaN. */
typedef struct format {
    int mantissa, bias, bits;
    uint64_t top, nan;
} format_t;

static const format_t formats[WEFT_DTYPE_COUNT] = {
    [WEFT_FP16] = {10, 15, 16, 0x7c00, 0x7e00},
    [WEFT_BF16] = {7, 127, 16, 0x7f80, 0x7fc0},
    [WEFT_FP8_E4M3] = {3, 7, 8, 0x7f, 0x7f},
    [WEFT_FP8_E5M2] = {2, 15, 8, 0x7c, 0x7f},
    [WEFT_FP32] = {23, 127, 32, 0x7f800000, 0x7fc00000},
    [WEFT_FP64] = {52, 1023, 64, 0x7ff0000000000000, 0x7ff8000000000000},
};

size_t reference_size(weft_dtype_t dtype)
{
#define BYTES(value, name, bytes, text) [value] = (bytes),
    static const uint8_t sizes[] = {WEFT_DTYPE_MAP(BYTES)};
#undef BYTES
    return sizes[dtype];
}

const char *reference_dtype_name(weft_dtype_t dtype)
{
#define NAME(value, name, bytes, text) [value] = text,
    static const char *const names[] = {WEFT_DTYPE_MAP(NAME)};
#undef NAME
    return names[dtype];
}

const char *reference_op_name(weft_op_t op)
{
#define NAME(value, name, text) [value] = text,
    static const char *const names[] = {WEFT_OP_MAP(NAME)};
#undef NAME
    return names[op];
}

/* Constant sizes are loads, others calls. */
uint64_t reference_load(weft_dtype_t dtype, const void *array, size_t i)
{
    const size_t size = reference_size(dtype);
    const char *at = (const char *)array + i * size;
    uint64_t bits = 0; /* the tests run on little-endian machines only */
    switch (size) {
    case 1:
        memcpy(&bits, at, 1);
        break;
    case 2:
        memcpy(&bits, at, 2);
        break;
    case 4:
        memcpy(&bits, at, 4);
        break;
    default:
        memcpy(&bits, at, 8);
        break;
    }
    return bits;
}

void reference_store(weft_dtype_t dtype, void *array, size_t i, uint64_t bits)
{
    memcpy((char *)array + i * reference_size(dtype), &bits, reference_size(dtype));
}

bool reference_is_float(weft_dtype_t dtype)
{
    return formats[dtype].bits != 0;
}

bool reference_has(weft_dtype_t dtype, weft_op_t op)
{
    return !reference_is_float(dtype) || op < WEFT_BAND;
}

double reference_decode(weft_dtype_t dtype, uint64_t bits)
{
    const format_t *f = &formats[dtype];
    uint64_t sign = bits >> (f->bits - 1) & 1;
    uint64_t magnitude = bits & ((1ull << (f->bits - 1)) - 1);
    uint64_t fraction = magnitude & ((1ull << f->mantissa) - 1);
    int exponent = (int)(magnitude >> f->mantissa);
    double value;

    if (magnitude >= f->top) {
        value = magnitude == f->top && f->top != f->nan ? (double)INFINITY : (double)NAN;
    } else if (exponent == 0) {
        value = ldexp((double)fraction, 1 - f->bias - f->mantissa);
    } else {
        value = ldexp((double)(fraction + (1ull << f->mantissa)), exponent - f->bias - f->mantissa);
    }
    return sign != 0 ? -value : value;
}

static uint64_t encode_magnitude(const format_t *f, double value)
{
    int exponent = ilogb(value);
    double steps;
    uint64_t bits;

    if (exponent < 1 - f->bias) {
        exponent = 1 - f->bias;
    }
    /* nearbyint() rounds halves to even; the scaling is exact. */
    steps = nearbyint(ldexp(value, f->mantissa - exponent));
    bits = (uint64_t)steps;
    if (bits >= 1ull << f->mantissa) {
        bits += (uint64_t)(exponent + f->bias - 1) << f->mantissa;
    }
    return bits < f->top ? bits : f->top;
}

uint64_t reference_encode(weft_dtype_t dtype, double value)
{
    const format_t *f = &formats[dtype];
    uint64_t sign = signbit(value) ? 1ull << (f->bits - 1) : 0;
    value = fabs(value);
    if (isnan(value)) {
        return sign | f->nan;
    }
    if (isinf(value)) {
        return sign | f->top;
    }
    return value == 0 ? sign : sign | encode_magnitude(f, value);
}

static bool reference_is_nan(weft_dtype_t dtype, uint64_t bits)
{
    return reference_is_float(dtype) && isnan(reference_decode(dtype, bits));
}

bool reference_same(weft_dtype_t dtype, uint64_t a, uint64_t b)
{
    return a == b || (reference_is_nan(dtype, a) && reference_is_nan(dtype, b));
}

/* A sum, product or quotient of two fp32 numbers rounded to double and then to fp32 is the one
 * rounded once, as 53 ≥ 2 × 24 + 2. */
static double round_wide(weft_dtype_t dtype, double value)
{
    return dtype == WEFT_FP64 ? value : (double)(float)value;
}

/* … and to the type itself. */
static double round_narrow(weft_dtype_t dtype, double value)
{
    return reference_decode(dtype, reference_encode(dtype, round_wide(dtype, value)));
}

static double float_less(double a, double b)
{
    if (isnan(a) || isnan(b)) {
        return (double)NAN;
    }
    if (a == b) {
        return signbit(a) ? a : b;
    }
    return a < b ? a : b;
}

static double float_fold(weft_op_t op, double a, double b)
{
    switch (op) {
    case WEFT_PROD:
        return a * b;
    case WEFT_MIN:
        return float_less(a, b);
    case WEFT_MAX:
        return -float_less(-a, -b);
    default:
        return a + b;
    }
}

static uint64_t float_combine(const reference_case_t *c)
{
    double result = 0;
    for (uint32_t s = 0; s < c->nsrc; s++) {
        double x = reference_decode(c->dtype, c->src[s]);
        if (c->op == WEFT_PREMULSUM && (c->pre_mask >> s & 1) != 0) {
            x = round_narrow(c->dtype, x * reference_decode(c->dtype, c->scalar));
        }
        result = s == 0 ? x : round_wide(c->dtype, float_fold(c->op, result, x));
    }
    if (c->op == WEFT_AVG && c->final) {
        result = round_wide(c->dtype, result / round_wide(c->dtype, (double)c->nranks));
    }
    return reference_encode(c->dtype, result);
}

static bool is_signed(weft_dtype_t dtype)
{
    return dtype == WEFT_INT8 || dtype == WEFT_INT16 || dtype == WEFT_INT32 || dtype == WEFT_INT64;
}

/* Keeps the low bits of a type; negative numbers of signed types fill the rest with ones. */
static uint64_t integer_wrap(weft_dtype_t dtype, uint64_t x)
{
    unsigned unused = 64 - 8 * (unsigned)reference_size(dtype);
    x <<= unused;
    if (is_signed(dtype) && x >> 63 != 0 && unused > 0) {
        return x >> unused | ~0ull << (64 - unused);
    }
    return x >> unused;
}

static bool integer_less(weft_dtype_t dtype, uint64_t a, uint64_t b)
{
    const uint64_t flip = is_signed(dtype) ? 1ull << 63 : 0;
    return (a ^ flip) < (b ^ flip);
}

static uint64_t integer_fold(weft_dtype_t dtype, weft_op_t op, uint64_t a, uint64_t b)
{
    switch (op) {
    case WEFT_PROD:
        return a * b;
    case WEFT_MIN:
        return integer_less(dtype, b, a) ? b : a;
    case WEFT_MAX:
        return integer_less(dtype, a, b) ? b : a;
    case WEFT_BAND:
        return a & b;
    case WEFT_BOR:
        return a | b;
    case WEFT_BXOR:
        return a ^ b;
    default:
        return a + b;
    }
}

static uint64_t integer_combine(const reference_case_t *c)
{
    uint64_t result = 0;
    for (uint32_t s = 0; s < c->nsrc; s++) {
        uint64_t x = integer_wrap(c->dtype, c->src[s]);
        if (c->op == WEFT_PREMULSUM && (c->pre_mask >> s & 1) != 0) {
            x = integer_wrap(c->dtype, x * c->scalar);
        }
        result = s == 0 ? x : integer_wrap(c->dtype, integer_fold(c->dtype, c->op, result, x));
    }
    if (c->op == WEFT_AVG && c->final) {
        bool negative = is_signed(c->dtype) && result >> 63 != 0;
        uint64_t quotient = (negative ? 0 - result : result) / c->nranks;
        result = negative ? 0 - quotient : quotient;
    }
    return result;
}

uint64_t reference_combine(const reference_case_t *c)
{
    uint64_t bits = reference_is_float(c->dtype) ? float_combine(c) : integer_combine(c);
    unsigned unused = 64 - 8 * (unsigned)reference_size(c->dtype);
    return bits << unused >> unused;
}
