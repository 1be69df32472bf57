/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Samples of combinations, computed again. A combination cannot fail, so a wrong one ends the
 * process: what it wrote goes to other ranks. */
#include "core/check/check_combine.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/log.h"
#include "core/os/os_fork.h"

#define FUNCTIONS 256u
#define SAMPLES 32u
#define ELEMENT 8u

static struct {
    weft_check_t *check;
    weft_combine_fn_t own;
    weft_dtype_t dtype;
    weft_op_t op;
} functions[FUNCTIONS];
/* A place that was half filled at a fork() has a layer of the parent's, if any. */
static weft_os_process_mutex_t functions_lock;

/* Arithmetic ----------------------------------------------------------------------------------- */

typedef struct combine_value {
    double real;
    uint64_t bits; /* of integers, as wide as they are */
} combine_value_t;

static bool combine_is_float(weft_dtype_t dtype)
{
    return dtype == WEFT_FP32 || dtype == WEFT_FP64;
}

static bool combine_is_signed(weft_dtype_t dtype)
{
    return dtype == WEFT_INT8 || dtype == WEFT_INT16 || dtype == WEFT_INT32 || dtype == WEFT_INT64;
}

/* The bits of an integer as a number of 64 bits that orders as the integer does. */
static int64_t combine_ordered(weft_dtype_t dtype, uint64_t bits)
{
    unsigned unused = 64 - 8 * (unsigned)weft_dtype_bytes(dtype);
    return combine_is_signed(dtype) ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
}

static bool combine_is_less(weft_dtype_t dtype, uint64_t a, uint64_t b)
{
    return combine_is_signed(dtype) ? combine_ordered(dtype, a) < combine_ordered(dtype, b) : a < b;
}

static combine_value_t combine_read(weft_dtype_t dtype, const uint8_t *at)
{
    combine_value_t value = {.real = 0};
    float single;
    if (dtype == WEFT_FP32) {
        memcpy(&single, at, sizeof single);
        value.real = (double)single;
    } else if (dtype == WEFT_FP64) {
        memcpy(&value.real, at, sizeof value.real);
    }
    memcpy(&value.bits, at, weft_dtype_bytes(dtype));
    return value;
}

static uint64_t combine_integers(weft_dtype_t dtype, weft_op_t op, uint64_t a, uint64_t b)
{
    switch (op) {
    case WEFT_PROD:
        return a * b;
    case WEFT_MIN:
        return combine_is_less(dtype, b, a) ? b : a;
    case WEFT_MAX:
        return combine_is_less(dtype, a, b) ? b : a;
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

static double combine_doubles(weft_op_t op, double a, double b)
{
    if (isnan(a) || isnan(b)) {
        return (double)NAN;
    }
    switch (op) {
    case WEFT_PROD:
        return a * b;
    case WEFT_MIN:
        return b < a ? b : a;
    case WEFT_MAX:
        return a < b ? b : a;
    default:
        return a + b;
    }
}

/* Rounds as the type does, after each step: a sum or a product may leave its range. */
static double combine_reals(weft_dtype_t dtype, weft_op_t op, double a, double b)
{
    double value = combine_doubles(op, a, b);
    return dtype == WEFT_FP32 ? (double)(float)value : value;
}

static bool combine_is_near(weft_dtype_t dtype, double a, double b, double size)
{
    double room = (dtype == WEFT_FP32 ? 1e-5 : 1e-13) * (size + fabs(a));
    return a == b || !isfinite(a) || fabs(a - b) <= room;
}

/* Samples -------------------------------------------------------------------------------------- */

typedef struct combine_sample {
    uint64_t at;
    uint8_t src[WEFT_COMBINE_MAX][ELEMENT];
} combine_sample_t;

static uint32_t combine_take(const weft_combine_t *c, size_t elem, combine_sample_t *samples)
{
    uint32_t count = c->count < SAMPLES ? (uint32_t)c->count : SAMPLES;
    for (uint32_t i = 0; i < count; i++) {
        samples[i].at = count == 1 ? 0 : i * (c->count - 1) / (count - 1);
        for (uint32_t s = 0; s < c->nsrc; s++) {
            memcpy(samples[i].src[s], (const uint8_t *)c->src[s] + samples[i].at * elem, elem);
        }
    }
    return count;
}

/* Copies of any type are compared, and reductions of integers and of floats that C has. */
static bool combine_is_known(weft_dtype_t dtype, weft_op_t op, const weft_combine_t *c)
{
    bool final = op == WEFT_AVG && (c->flags & WEFT_COMBINE_FINAL) != 0;
    if (c->pre_mask != 0 || final) {
        return false;
    }
    return c->nsrc == 1 || combine_is_float(dtype) || dtype <= WEFT_UINT64;
}

static bool combine_is_right(weft_dtype_t dtype, weft_op_t op, const weft_combine_t *c,
                             const combine_sample_t *sample, const uint8_t *dst)
{
    size_t elem = weft_dtype_bytes(dtype);
    const uint8_t *got = dst + sample->at * elem;
    if (c->nsrc == 1) {
        return memcmp(got, sample->src[0], elem) == 0;
    }
    combine_value_t value = combine_read(dtype, sample->src[0]), found = combine_read(dtype, got);
    double size = fabs(value.real);
    for (uint32_t s = 1; s < c->nsrc; s++) {
        combine_value_t next = combine_read(dtype, sample->src[s]);
        value.bits = combine_integers(dtype, op, value.bits, next.bits);
        value.real = combine_reals(dtype, op, value.real, next.real);
        size = op == WEFT_PROD ? fabs(value.real) : size + fabs(next.real);
    }
    uint64_t mask = elem == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * elem) - 1;
    return combine_is_float(dtype) ? combine_is_near(dtype, value.real, found.real, size)
                                   : ((value.bits ^ found.bits) & mask) == 0;
}

static void combine_fail(const weft_check_t *check, const char *contract, weft_dtype_t dtype,
                         uint64_t at, const weft_combine_t *c)
{
    static const char *const types[] = {
#define TYPE(value, name, bytes, text) [value] = text,
        WEFT_DTYPE_MAP(TYPE)
#undef TYPE
    };
    (void)weft_check_breach(check, "combine", contract,
                            "element %llu of %llu of type %s is wrong, %u sources, %u destinations",
                            (unsigned long long)at, (unsigned long long)c->count, types[dtype],
                            c->nsrc, c->ndst);
    weft_log(WEFT_LOG_ERROR, "check", "this process ends: a combination cannot fail");
    abort();
}

static bool combine_src_is_dst(const weft_combine_t *c, uint32_t s)
{
    bool same = false;
    for (uint32_t d = 0; d < c->ndst; d++) {
        same = same || c->dst[d] == c->src[s];
    }
    return same;
}

static void combine_compare(const weft_check_t *check, weft_dtype_t dtype, weft_op_t op,
                            const weft_combine_t *c, const combine_sample_t *samples,
                            uint32_t count)
{
    size_t elem = weft_dtype_bytes(dtype);
    for (uint32_t i = 0; i < count; i++) {
        const combine_sample_t *sample = &samples[i];
        for (uint32_t d = 0; d < c->ndst; d++) {
            if (combine_is_known(dtype, op, c) &&
                !combine_is_right(dtype, op, c, sample, c->dst[d])) {
                combine_fail(check, "every dst = src[0] op src[1] op ..., element by element",
                             dtype, sample->at, c);
            }
        }
        for (uint32_t s = 0; s < c->nsrc; s++) {
            const uint8_t *src = (const uint8_t *)c->src[s] + sample->at * elem;
            if (!combine_src_is_dst(c, s) && memcmp(src, sample->src[s], elem) != 0) {
                combine_fail(check, "it reads the sources, and writes to the destinations", dtype,
                             sample->at, c);
            }
        }
    }
}

static void combine_run(uint32_t i, const weft_combine_t *c)
{
    combine_sample_t samples[SAMPLES];
    weft_check_t *check = functions[i].check;
    uint32_t count = combine_take(c, weft_dtype_bytes(functions[i].dtype), samples);
    weft_check_call_t call = weft_check_enter(check, "combine");
    functions[i].own(c);
    weft_check_leave(&call);
    combine_compare(check, functions[i].dtype, functions[i].op, c, samples, count);
}

/* One function per place ----------------------------------------------------------------------- */

#define EACH_4(X, n) X(n##0) X(n##1) X(n##2) X(n##3)
#define EACH_16(X, n) EACH_4(X, n##0) EACH_4(X, n##1) EACH_4(X, n##2) EACH_4(X, n##3)
#define EACH_64(X, n) EACH_16(X, n##0) EACH_16(X, n##1) EACH_16(X, n##2) EACH_16(X, n##3)
#define EACH_256(X) EACH_64(X, 0) EACH_64(X, 1) EACH_64(X, 2) EACH_64(X, 3)

/* A name of four digits to the base of four is its place. */
#define PLACE(n) ((n) / 1000 * 64 + (n) / 100 % 10 * 16 + (n) / 10 % 10 * 4 + (n) % 10)
#define FUNCTION(n)                                                                                \
    static void combine_at_##n(const weft_combine_t *c)                                            \
    {                                                                                              \
        combine_run(PLACE(1##n - 10000), c);                                                       \
    }
EACH_256(FUNCTION)
#undef PLACE

#define ENTRY(n) combine_at_##n,
static const weft_combine_fn_t entries[FUNCTIONS] = {EACH_256(ENTRY)};

weft_combine_fn_t weft_check_combine(weft_check_t *check, weft_dtype_t dtype, weft_op_t op,
                                     weft_combine_fn_t own)
{
    weft_os_process_lock(&functions_lock);
    uint32_t i = 0;
    while (i < FUNCTIONS && functions[i].check != NULL &&
           !(functions[i].check == check && functions[i].own == own &&
             functions[i].dtype == dtype && functions[i].op == op)) {
        i++;
    }
    if (i < FUNCTIONS && functions[i].check == NULL) {
        functions[i].own = own;
        functions[i].dtype = dtype;
        functions[i].op = op;
        functions[i].check = check;
    }
    weft_os_process_unlock(&functions_lock);
    return i < FUNCTIONS ? entries[i] : own;
}

void weft_check_combine_forget(const weft_check_t *check)
{
    weft_os_process_lock(&functions_lock);
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        if (functions[i].check == check) {
            functions[i].check = NULL;
        }
    }
    weft_os_process_unlock(&functions_lock);
}
