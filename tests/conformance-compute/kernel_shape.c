/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Draws, runs and judges single combinations. */
#include "kernel_shape.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OFFSETS 40 /* an operand lies up to so many elements off the end of its page */

static uint8_t *shape_memory(void)
{
    uint8_t *memory = calloc(1, SHAPE_LARGEST);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

void shape_open(shape_bench_t *bench, shape_fail_fn_t fail)
{
    memset(bench, 0, sizeof *bench);
    bench->fail = fail;
    bench->seed = 0x9e3779b97f4a7c15;
    for (uint32_t i = 0; i < WEFT_COMBINE_MAX; i++) {
        arena_open(&bench->src[i], SHAPE_LARGEST + OFFSETS * 8);
        arena_open(&bench->dst[i], SHAPE_LARGEST + OFFSETS * 8);
        bench->pool[i] = shape_memory();
    }
    bench->result = shape_memory();
}

void shape_close(shape_bench_t *bench)
{
    for (uint32_t i = 0; i < WEFT_COMBINE_MAX; i++) {
        arena_close(&bench->src[i]);
        arena_close(&bench->dst[i]);
        free(bench->pool[i]);
    }
    free(bench->result);
}

/* Steele, Lea and Flood's splitmix64. */
uint64_t shape_random(shape_bench_t *bench)
{
    uint64_t z = bench->seed += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static uint64_t draw_value(shape_bench_t *bench, weft_dtype_t dtype)
{
    const uint64_t random = shape_random(bench), kind = random % 8, bits = shape_random(bench);
    const unsigned width = 8 * (unsigned)reference_size(dtype);
    const double small = (double)(int64_t)(bits % 4001) - 2000;

    if (kind == 0) {
        /* Zero, one bit, all but one bit, sign, all ones: limits of integers, subnormals, NaN. */
        uint64_t one = 1ull << (random >> 8) % width;
        const uint64_t extremes[] = {0, 1, one, ~one, 1ull << (width - 1), ~0ull, ~0ull >> 1};
        return extremes[(random >> 16) % 7];
    }
    if (reference_is_float(dtype) && kind == 1) {
        const double special[] = {0.0, -0.0, (double)INFINITY, -(double)INFINITY};
        return reference_encode(dtype, special[random >> 8 & 3]);
    }
    if (reference_is_float(dtype) && kind < 6) {
        return reference_encode(dtype, (double)(float)(small / 257));
    }
    return bits;
}

void shape_fill(shape_bench_t *bench, weft_dtype_t dtype)
{
    const size_t size = reference_size(dtype);
    for (uint32_t s = 0; s < WEFT_COMBINE_MAX; s++) {
        for (size_t i = 0; i < SHAPE_PERIOD; i++) {
            reference_store(dtype, bench->pool[s], i, draw_value(bench, dtype));
            bench->value[s][i] = reference_load(dtype, bench->pool[s], i);
        }
        for (size_t i = SHAPE_PERIOD; i < SHAPE_LARGEST / size; i++) {
            reference_store(dtype, bench->pool[s], i, bench->value[s][i % SHAPE_PERIOD]);
        }
    }
}

reference_case_t shape_draw_case(shape_bench_t *bench, weft_dtype_t dtype, weft_op_t op,
                                 uint32_t nsrc)
{
    static const uint32_t nranks[] = {1, 2, 3, 7, 8, 200, 1000, 70000};
    const uint64_t random = shape_random(bench);
    reference_case_t what = {.dtype = dtype, .op = op, .nsrc = nsrc, .final = random % 2 != 0};
    what.nranks = nranks[random / 2 % 8];
    if (op == WEFT_PREMULSUM) {
        what.pre_mask = (uint32_t)(random / 16 % (1u << nsrc));
        what.scalar = bench->value[0][random / 256 % SHAPE_PERIOD];
        if (reference_is_float(dtype) && random / 4096 % 2 != 0) {
            what.scalar = reference_encode(dtype, 0.375);
        }
    }
    return what;
}

void shape_expect(shape_bench_t *bench, const reference_case_t *what, size_t elements)
{
    reference_case_t one = *what;
    bench->what = *what;
    reference_store(what->dtype, bench->scalar, 0, what->scalar);
    one.scalar = reference_load(what->dtype, bench->scalar, 0);
    for (size_t i = 0; i < SHAPE_PERIOD && i < elements; i++) {
        for (uint32_t s = 0; s < what->nsrc; s++) {
            one.src[s] = bench->value[s][i];
        }
        bench->expected[i] = reference_combine(&one);
    }
    for (size_t i = 0; i < elements; i++) {
        reference_store(what->dtype, bench->result, i, bench->expected[i % SHAPE_PERIOD]);
    }
}

shape_t shape_draw(shape_bench_t *bench, uint32_t ndst, size_t count)
{
    shape_t shape = {.ndst = ndst, .count = count};
    uint32_t taken = 0;
    for (uint32_t i = 0; i < 2 * WEFT_COMBINE_MAX; i++) {
        uint64_t random = shape_random(bench);
        shape.offset[i] = random % 2 == 0 ? 0 : random / 2 % OFFSETS;
    }
    for (uint32_t d = 0; d < WEFT_COMBINE_MAX; d++) {
        uint32_t s = (uint32_t)(shape_random(bench) % (3 * WEFT_COMBINE_MAX));
        bool equal = s < bench->what.nsrc && (taken >> s & 1) == 0;
        shape.in_place[d] = equal ? (int32_t)s : -1;
        taken |= equal ? 1u << s : 0;
    }
    shape.nt_mask = (uint32_t)shape_random(bench) % (1u << WEFT_COMBINE_MAX);
    return shape;
}

static void place(shape_bench_t *bench, const shape_t *shape, weft_combine_t *c)
{
    const size_t size = reference_size(bench->what.dtype), bytes = shape->count * size;
    for (uint32_t s = 0; s < bench->what.nsrc; s++) {
        arena_place(&bench->src[s], bytes, shape->offset[s] * size);
        memcpy(bench->src[s].data, bench->pool[s], bytes);
        c->src[s] = bench->src[s].data;
    }
    for (uint32_t d = 0; d < shape->ndst; d++) {
        arena_place(&bench->dst[d], bytes, shape->offset[WEFT_COMBINE_MAX + d] * size);
        memset(bench->dst[d].data, 0x5a, bytes);
        c->dst[d] =
            shape->in_place[d] < 0 ? bench->dst[d].data : bench->src[shape->in_place[d]].data;
    }
}

static void describe(const shape_bench_t *bench, const shape_t *shape, char *text, size_t size)
{
    snprintf(text, size,
             "%s %s, %u sources, %u destinations, count %zu, scaled %#x, streamed %#x, final %d, "
             "in place %d %d %d %d",
             reference_dtype_name(bench->what.dtype), reference_op_name(bench->what.op),
             bench->what.nsrc, shape->ndst, shape->count, bench->what.pre_mask, shape->nt_mask,
             bench->what.final, shape->in_place[0], shape->in_place[1], shape->in_place[2],
             shape->in_place[3]);
}

/* A copy must keep every bit, even of a NaN. */
static bool is_copy(const reference_case_t *what)
{
    return what->nsrc == 1 && what->pre_mask == 0 && !(what->op == WEFT_AVG && what->final);
}

static void check_element(const shape_bench_t *bench, const shape_t *shape, size_t i,
                          uint64_t found, uint64_t wanted)
{
    char text[400];
    if (found != wanted &&
        (is_copy(&bench->what) || !reference_same(bench->what.dtype, found, wanted))) {
        describe(bench, shape, text, 256);
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, ": element %zu is %#llx, must be %#llx", i,
                 (unsigned long long)found, (unsigned long long)wanted);
        bench->fail(text);
    }
}

/* Most blocks are equal byte by byte; only NaNs may differ. */
static void check_results(const shape_bench_t *bench, const shape_t *shape, const uint8_t *dst)
{
    enum { BLOCK = 32 };
    const weft_dtype_t dtype = bench->what.dtype;
    const size_t size = reference_size(dtype);
    const uint8_t *result = is_copy(&bench->what) ? bench->pool[0] : bench->result;
    for (size_t first = 0; first < shape->count; first += BLOCK) {
        size_t n = shape->count - first < BLOCK ? shape->count - first : BLOCK;
        if (memcmp(dst + first * size, result + first * size, n * size) == 0) {
            continue;
        }
        for (size_t i = first; i < first + n; i++) {
            check_element(bench, shape, i, reference_load(dtype, dst, i),
                          reference_load(dtype, result, i));
        }
    }
}

static void check_surroundings(const shape_bench_t *bench, const shape_t *shape)
{
    const size_t bytes = shape->count * reference_size(bench->what.dtype);
    bool clean = true, kept = true;
    uint32_t overwritten = 0;
    char text[400];
    for (uint32_t d = 0; d < shape->ndst; d++) {
        clean = clean && arena_is_clean(&bench->dst[d]);
        overwritten |= shape->in_place[d] < 0 ? 0 : 1u << shape->in_place[d];
    }
    for (uint32_t s = 0; s < bench->what.nsrc; s++) {
        clean = clean && arena_is_clean(&bench->src[s]);
        kept = kept && ((overwritten >> s & 1) != 0 ||
                        memcmp(bench->src[s].data, bench->pool[s], bytes) == 0);
    }
    if (!clean || !kept) {
        describe(bench, shape, text, 256);
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, ": %s",
                 clean ? "a source changed" : "stored outside a destination");
        bench->fail(text);
    }
}

void shape_check(shape_bench_t *bench, const shape_t *shape, weft_combine_fn_t fn)
{
    weft_combine_t c = {
        .count = shape->count,
        .nsrc = bench->what.nsrc,
        .ndst = shape->ndst,
        .pre_mask = bench->what.pre_mask,
        .nt_mask = shape->nt_mask,
        .flags = bench->what.final ? WEFT_COMBINE_FINAL : 0,
        .nranks = bench->what.nranks,
        .scalar = bench->what.pre_mask != 0 ? bench->scalar : NULL,
    };
    place(bench, shape, &c);
    fn(&c);
    for (uint32_t d = 0; d < shape->ndst; d++) {
        check_results(bench, shape, c.dst[d]);
    }
    check_surroundings(bench, shape);
}
