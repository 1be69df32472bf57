/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Input and expected data of `weft perf`. Every element is a pure function of (seed, rank, index),
 * made so that any order of combining gives the same bits:
 *
 *   sum, avg, mulsum of floats   small integers from at most K ranks of a window that moves with
 *                                the index, so that every partial sum is representable
 *   prod of floats               powers of two and signs, and one factor with two mantissa bits
 *   min, max, user               any finite value
 *   integers                     any value (they wrap); prod odd values; avg as floats, no
 *                                overflow; band mostly ones, bor mostly zeros, so that they differ
 *   no reduction                 any bits
 *
 * Only avg of floats over a number of ranks that is no power of two may be off, by 2 ulp. */
#include "tools/perf_data.h"

#include <math.h>
#include <string.h>

#include "core/base/coll.h"
#include "tools/perf_float.h"
#include "tools/perf_job.h"
#include "tools/perf_user.h"

/* How one data type limits the data. */
typedef struct data_limits {
    int64_t sum;       /* integers up to here, and their sums, are exact; floats and avg */
    uint32_t factors;  /* ranks that may contribute a power of two to a product */
    uint32_t is_float; /* 1: floating point */
    uint32_t is_signed;
} data_limits_t;

static const data_limits_t limits[] = {
    [WEFT_INT8] = {INT8_MAX, 0, 0, 1},           [WEFT_UINT8] = {UINT8_MAX, 0, 0, 0},
    [WEFT_INT16] = {INT16_MAX, 0, 0, 1},         [WEFT_UINT16] = {UINT16_MAX, 0, 0, 0},
    [WEFT_INT32] = {INT32_MAX, 0, 0, 1},         [WEFT_UINT32] = {UINT32_MAX, 0, 0, 0},
    [WEFT_INT64] = {INT64_C(1) << 52, 0, 0, 1},  [WEFT_UINT64] = {INT64_C(1) << 52, 0, 0, 0},
    [WEFT_FP16] = {1 << 11, 12, 1, 1},           [WEFT_FP32] = {1 << 24, 100, 1, 1},
    [WEFT_FP64] = {INT64_C(1) << 40, 500, 1, 1}, [WEFT_BF16] = {1 << 8, 100, 1, 1},
    [WEFT_FP8_E4M3] = {1 << 4, 5, 1, 1},         [WEFT_FP8_E5M2] = {1 << 3, 12, 1, 1},
};

/* Mixes 64 bits (the finaliser of D. Stafford's variant 13, in the public domain). */
static uint64_t perf_data_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t perf_data_hash(const perf_data_t *data, uint32_t rank, uint64_t index)
{
    return perf_data_mix(index * UINT64_C(0x9e3779b97f4a7c15) ^
                         perf_data_mix(data->seed * UINT64_C(0x10001) + rank + 1));
}

/* Whether `rank` is in the window of `width` ranks of this element. */
static bool perf_data_contributes(const perf_data_t *data, uint32_t rank, uint64_t index,
                                  uint64_t width)
{
    uint32_t n = data->nranks;
    if (width >= n) {
        return true;
    }
    uint64_t first = perf_data_mix(index + data->seed) % n;
    return (rank + n - first) % n < width;
}

static double perf_data_scalar_of(uint32_t rank)
{
    return rank % 2 == 0 ? 1 : 2;
}

/* A term of a sum whose partial sums stay within the limit. */
static int64_t perf_data_sum_term(const perf_data_t *data, uint32_t rank, uint64_t index)
{
    const data_limits_t *limit = &limits[data->test.dtype];
    int64_t room = data->test.op == WEFT_PREMULSUM ? limit->sum / 2 : limit->sum;
    int64_t width = room / 2 < data->nranks ? room / 2 : (int64_t)data->nranks;
    int64_t most = room / width;
    if (!perf_data_contributes(data, rank, index, (uint64_t)width)) {
        return 0;
    }
    uint64_t h = perf_data_hash(data, rank, index);
    int64_t term = (int64_t)((h >> 1) % (uint64_t)(most + 1));
    return limit->is_signed && (h & 1) != 0 ? -term : term;
}

static double perf_data_product_factor(const perf_data_t *data, uint32_t rank, uint64_t index)
{
    const data_limits_t *limit = &limits[data->test.dtype];
    uint64_t h = perf_data_hash(data, rank, index);
    double factor = (h & 1) != 0 ? -1 : 1;
    if (perf_data_contributes(data, rank, index, limit->factors)) {
        factor = ldexp(factor, (int)(h >> 1 & 3) % 3 - 1);
    }
    if (perf_data_mix(index ^ data->seed << 32) % data->nranks == rank) {
        factor *= 1 + 0.25 * (double)(h >> 3 & 3);
    }
    return factor;
}

/* Bits of a finite, non-zero value of a float type. */
static uint64_t perf_data_finite_bits(weft_dtype_t dtype, uint64_t h)
{
    uint64_t mask =
        weft_dtype_size(dtype) == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * weft_dtype_size(dtype)) - 1;
    double value = perf_float_decode(dtype, h & mask);
    return isfinite(value) && value != 0 ? h & mask : perf_float_encode(dtype, 1);
}

/* Bits of which about one is set for each rank, or an eighth of them if there are few ranks. */
static uint64_t perf_data_rare_bits(const perf_data_t *data, uint32_t rank, uint64_t index)
{
    uint64_t h = perf_data_hash(data, rank, index);
    uint64_t bits = h & (h >> 21 | h << 43) & (h >> 42 | h << 22);
    return h % data->nranks < 8 ? bits : 0;
}

/* What `rank` puts in, as the bits of one element. */
static uint64_t perf_data_input(const perf_data_t *data, uint32_t rank, uint64_t index)
{
    const data_limits_t *limit = &limits[data->test.dtype];
    weft_op_t op = data->test.op;
    if (!weft_coll_reduces(data->test.coll)) {
        return perf_data_hash(data, rank, index);
    }
    if (limit->is_float) {
        if (op == WEFT_PROD) {
            return perf_float_encode(data->test.dtype, perf_data_product_factor(data, rank, index));
        }
        if (op == WEFT_MIN || op == WEFT_MAX || op == WEFT_OP_USER) {
            return perf_data_finite_bits(data->test.dtype, perf_data_hash(data, rank, index));
        }
        return perf_float_encode(data->test.dtype, (double)perf_data_sum_term(data, rank, index));
    }
    if (op == WEFT_AVG) {
        return (uint64_t)perf_data_sum_term(data, rank, index);
    }
    if (op == WEFT_BAND || op == WEFT_BOR) {
        return perf_data_rare_bits(data, rank, index) ^ (op == WEFT_BAND ? UINT64_MAX : 0);
    }
    return perf_data_hash(data, rank, index) | (op == WEFT_PROD ? 1 : 0);
}

/* The value of integer bits, as an ordered number: signed values are extended. */
static int64_t perf_data_extend(weft_dtype_t dtype, uint64_t bits)
{
    unsigned shift = 64 - 8 * (unsigned)weft_dtype_size(dtype);
    uint64_t high = bits << shift;
    if (!limits[dtype].is_signed) {
        return (int64_t)(high >> shift);
    }
    return (int64_t)high >> shift;
}

static bool perf_data_integer_less(weft_dtype_t dtype, uint64_t a, uint64_t b)
{
    int64_t x = perf_data_extend(dtype, a);
    int64_t y = perf_data_extend(dtype, b);
    return limits[dtype].is_signed ? x < y : (uint64_t)x < (uint64_t)y;
}

static uint64_t perf_data_reduce_integers(const perf_data_t *data, uint64_t index)
{
    weft_dtype_t dtype = data->test.dtype;
    uint64_t all = perf_data_input(data, 0, index);
    if (data->test.op == WEFT_PREMULSUM) {
        all *= (uint64_t)perf_data_scalar_of(0);
    }
    for (uint32_t r = 1; r < data->nranks; r++) {
        uint64_t one = perf_data_input(data, r, index);
        switch (data->test.op) {
        case WEFT_PROD:
            all *= one;
            break;
        case WEFT_MIN:
            all = perf_data_integer_less(dtype, one, all) ? one : all;
            break;
        case WEFT_MAX:
            all = perf_data_integer_less(dtype, all, one) ? one : all;
            break;
        case WEFT_BAND:
            all &= one;
            break;
        case WEFT_BOR:
            all |= one;
            break;
        case WEFT_BXOR:
            all ^= one;
            break;
        case WEFT_PREMULSUM:
            all += one * (uint64_t)perf_data_scalar_of(r);
            break;
        default:
            all += one;
        }
    }
    return data->test.op == WEFT_AVG
               ? (uint64_t)(perf_data_extend(dtype, all) / (int64_t)data->nranks)
               : all;
}

static double perf_data_reduce_floats(const perf_data_t *data, uint64_t index)
{
    weft_dtype_t dtype = data->test.dtype;
    weft_op_t op = data->test.op;
    double all = op == WEFT_PROD ? 1 : op == WEFT_MIN ? INFINITY : op == WEFT_MAX ? -INFINITY : 0;
    for (uint32_t r = 0; r < data->nranks; r++) {
        if (op == WEFT_PROD) {
            all *= perf_data_product_factor(data, r, index);
        } else if (op == WEFT_MIN || op == WEFT_MAX) {
            double one = perf_float_decode(
                dtype, perf_data_finite_bits(dtype, perf_data_hash(data, r, index)));
            all = op == WEFT_MIN ? fmin(all, one) : fmax(all, one);
        } else {
            double scalar = op == WEFT_PREMULSUM ? perf_data_scalar_of(r) : 1;
            all += scalar * (double)perf_data_sum_term(data, r, index);
        }
    }
    return op == WEFT_AVG ? all / data->nranks : all;
}

static uint64_t perf_data_reduce_by_user(const perf_data_t *data, uint64_t index)
{
    uint64_t all = perf_data_input(data, 0, index);
    for (uint32_t r = 1; r < data->nranks; r++) {
        all = perf_user_pick(data->test.dtype, all, perf_data_input(data, r, index));
    }
    return all;
}

/* Bits of the right result of one element: number `index` of the send buffer of rank `from`, or of
 * the reduction. */
static uint64_t perf_data_expected(const perf_data_t *data, uint32_t from, uint64_t index)
{
    const perf_case_t *test = &data->test;
    if (from != PERF_REDUCED) {
        return perf_data_input(data, from, index);
    }
    if (test->op == WEFT_OP_USER) {
        return perf_data_reduce_by_user(data, index);
    }
    if (!limits[test->dtype].is_float) {
        return perf_data_reduce_integers(data, index);
    }
    return perf_float_encode(test->dtype, perf_data_reduce_floats(data, index));
}

static uint64_t perf_data_load(const uint8_t *at, size_t bytes)
{
    uint64_t bits = 0;
    memcpy(&bits, at, bytes);
    return bits;
}

static uint64_t perf_data_narrow(uint64_t bits, size_t bytes)
{
    return bytes == 8 ? bits : bits & ((UINT64_C(1) << 8 * bytes) - 1);
}

/* −0 and 0 are the same result. */
static bool perf_data_equal(const perf_data_t *data, uint64_t found, uint64_t right)
{
    weft_dtype_t dtype = data->test.dtype;
    if (found == right) {
        return true;
    }
    if (!limits[dtype].is_float || !weft_coll_reduces(data->test.coll)) {
        return false;
    }
    double a = perf_float_decode(dtype, found);
    double b = perf_float_decode(dtype, right);
    bool exact = data->test.op != WEFT_AVG || (data->nranks & (data->nranks - 1)) == 0;
    return a == b || (!exact && perf_float_distance(dtype, found, right) <= 2);
}

void perf_data_fill_send(const perf_data_t *data, perf_range_t range, void *piece)
{
    size_t bytes = weft_dtype_size(data->test.dtype);
    for (uint64_t i = 0; i < range.count; i++) {
        uint64_t bits = perf_data_input(data, data->rank, range.first + i);
        memcpy((uint8_t *)piece + i * bytes, &bits, bytes);
    }
}

uint64_t perf_data_check_send(const perf_data_t *data, perf_range_t range, const void *piece)
{
    size_t bytes = weft_dtype_size(data->test.dtype);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < range.count; i++) {
        uint64_t found = perf_data_load((const uint8_t *)piece + i * bytes, bytes);
        wrong +=
            found != perf_data_narrow(perf_data_input(data, data->rank, range.first + i), bytes);
    }
    return wrong;
}

/* What of the segment is in the range. */
static uint64_t perf_data_check_segment(const perf_data_t *data, const perf_segment_t *segment,
                                        perf_range_t range, const uint8_t *piece)
{
    size_t bytes = weft_dtype_size(data->test.dtype);
    uint64_t end = range.first + range.count, last = segment->at + segment->count;
    uint64_t wrong = 0;
    end = last < end ? last : end;
    for (uint64_t i = segment->at > range.first ? segment->at : range.first; i < end; i++) {
        uint64_t right = perf_data_expected(data, segment->from, segment->first + i - segment->at);
        uint64_t found = perf_data_load(piece + (i - range.first) * bytes, bytes);
        wrong += !perf_data_equal(data, found, perf_data_narrow(right, bytes));
    }
    return wrong;
}

uint64_t perf_data_check_recv(const perf_data_t *data, perf_range_t range, const void *piece)
{
    const perf_layout_t *layout = data->test.layout;
    uint64_t wrong = 0;
    for (uint32_t s = 0; s < layout->nsegments; s++) {
        wrong += perf_data_check_segment(data, &layout->segments[s], range, piece);
    }
    return wrong;
}

void perf_data_scalar(weft_dtype_t dtype, uint32_t rank, void *scalar)
{
    double value = perf_data_scalar_of(rank);
    uint64_t bits = limits[dtype].is_float ? perf_float_encode(dtype, value) : (uint64_t)value;
    memcpy(scalar, &bits, weft_dtype_size(dtype));
}
