/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A user operator: the value of largest magnitude. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "tools/perf_float.h"
#include "tools/perf_user.h"

static bool perf_user_is_float(weft_dtype_t dtype)
{
    return dtype >= WEFT_FP16;
}

static bool perf_user_is_signed(weft_dtype_t dtype)
{
    return dtype == WEFT_INT8 || dtype == WEFT_INT16 || dtype == WEFT_INT32 || dtype == WEFT_INT64;
}

/* Magnitude of an integer; *negative says its sign. */
static uint64_t perf_user_magnitude(weft_dtype_t dtype, uint64_t bits, bool *negative)
{
    unsigned shift = 64 - 8 * (unsigned)weft_dtype_size(dtype);
    uint64_t high = bits << shift;
    *negative = perf_user_is_signed(dtype) && high >> 63 != 0;
    return (*negative ? 0 - high : high) >> shift;
}

static bool perf_user_float_beats(weft_dtype_t dtype, uint64_t a, uint64_t b)
{
    double x = perf_float_decode(dtype, a);
    double y = perf_float_decode(dtype, b);
    return fabs(x) != fabs(y) ? fabs(x) > fabs(y) : signbit(x) == 0;
}

static bool perf_user_integer_beats(weft_dtype_t dtype, uint64_t a, uint64_t b)
{
    bool a_negative;
    bool b_negative;
    uint64_t x = perf_user_magnitude(dtype, a, &a_negative);
    uint64_t y = perf_user_magnitude(dtype, b, &b_negative);
    return x != y ? x > y : !a_negative;
}

uint64_t perf_user_pick(weft_dtype_t dtype, uint64_t a, uint64_t b)
{
    if (perf_user_is_float(dtype)) {
        unsigned width = 8 * (unsigned)weft_dtype_size(dtype);
        uint64_t mask = UINT64_MAX >> (64 - width);
        return perf_user_float_beats(dtype, a & mask, b & mask) ? a : b;
    }
    return perf_user_integer_beats(dtype, a, b) ? a : b;
}

void perf_user_combine(void *inout, const void *in, uint64_t count, weft_dtype_t dtype, void *arg)
{
    size_t bytes = weft_dtype_size(dtype);
    (void)arg;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t a = 0;
        uint64_t b = 0;
        memcpy(&a, (uint8_t *)inout + i * bytes, bytes);
        memcpy(&b, (const uint8_t *)in + i * bytes, bytes);
        uint64_t best = perf_user_pick(dtype, a, b);
        memcpy((uint8_t *)inout + i * bytes, &best, bytes);
    }
}
