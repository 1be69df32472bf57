/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The combinations of device/device_combine.h, compiled as host code, against the slow reference:
 * every data type and operator, numbers of operands, alignments and lengths, by one thread and by
 * several whose shares are done in turn. */
#include <stdio.h>
#include <string.h>

#include "plugins/kernel-cuda/device/device_combine.h"
#include "tests/support/kernel_reference.h"
#include "tests/support/unit.h"

#define MOST 200u /* elements */
#define GUARD 64u /* bytes before and behind an operand that nobody may touch */
#define ROOM (GUARD + 16u + 8u * MOST + GUARD)
#define FILLER 0xa5

typedef struct operand {
    _Alignas(16) uint8_t bytes[ROOM];
    size_t begin;
} operand_t;

typedef struct bench {
    operand_t src[WEFT_COMBINE_MAX], dst[WEFT_COMBINE_MAX], before[WEFT_COMBINE_MAX];
    uint64_t scalar;
    uint64_t seed;
} bench_t;

/* One case. in_place: the first destination is the last source. */
typedef struct shape {
    uint32_t threads;
    uint32_t count;
    uint32_t ndst;
    int together; /* all operands reach alignment at once */
    int in_place;
} shape_t;

static bench_t bench = {.seed = 1};

static uint64_t draw(void)
{
    bench.seed ^= bench.seed << 13;
    bench.seed ^= bench.seed >> 7;
    bench.seed ^= bench.seed << 17;
    return bench.seed;
}

/* Random bits, extremes, and floats of like size whose sums round. */
static uint64_t draw_value(weft_dtype_t dtype)
{
    static const double values[] = {0, -0.0, 1, -1, 0.375, 3, 448, 57344, 65504, 1e-7, 6e-8, 1e30};
    const uint64_t random = draw();
    switch (random % 4) {
    case 0:
        return random >> 8;
    case 1:
        return random % 8 < 4 ? 0 : ~0ull << (random % 64);
    default:
        return reference_is_float(dtype) ? reference_encode(dtype, values[random / 4 % 12])
                                         : random / 4 % 17 - 8;
    }
}

static void place(operand_t *operand, weft_dtype_t dtype, size_t offset)
{
    memset(operand->bytes, FILLER, sizeof operand->bytes);
    operand->begin = GUARD + offset;
    for (uint32_t i = 0; i < MOST; i++) {
        reference_store(dtype, operand->bytes + operand->begin, i, draw_value(dtype));
    }
}

static void place_all(weft_dtype_t dtype, const shape_t *shape, weft_combine_t *c)
{
    const size_t elem = reference_size(dtype);
    const size_t common = draw() % (16 / elem) * elem;
    for (uint32_t i = 0; i < WEFT_COMBINE_MAX; i++) {
        place(&bench.src[i], dtype, shape->together ? common : draw() % (16 / elem) * elem);
        place(&bench.dst[i], dtype, shape->together ? common : draw() % (16 / elem) * elem);
        c->src[i] = bench.src[i].bytes + bench.src[i].begin;
        c->dst[i] = bench.dst[i].bytes + bench.dst[i].begin;
    }
    if (shape->in_place) {
        bench.dst[0] = bench.src[c->nsrc - 1];
        c->src[c->nsrc - 1] = c->dst[0] = bench.dst[0].bytes + bench.dst[0].begin;
    }
    memcpy(bench.before, bench.src, sizeof bench.before);
}

static void check_element(const reference_case_t *what, const operand_t *dst, uint32_t i)
{
    reference_case_t at = *what;
    for (uint32_t s = 0; s < what->nsrc; s++) {
        const operand_t *src = &bench.before[s];
        at.src[s] = reference_load(what->dtype, src->bytes + src->begin, i);
    }
    const uint64_t expected = reference_combine(&at);
    const uint64_t found = reference_load(what->dtype, dst->bytes + dst->begin, i);
    if (!reference_same(what->dtype, expected, found)) {
        fail_msg("%s %s of %u: element %u is %#llx, not %#llx", reference_dtype_name(what->dtype),
                 reference_op_name(what->op), what->nsrc, i, (unsigned long long)found,
                 (unsigned long long)expected);
    }
}

static void check_result(const reference_case_t *what, const shape_t *shape)
{
    const size_t bytes = shape->count * reference_size(what->dtype);
    const size_t last = MOST * reference_size(what->dtype);
    for (uint32_t d = 0; d < shape->ndst; d++) {
        const operand_t *dst = &bench.dst[d];
        for (uint32_t i = 0; i < shape->count; i++) {
            check_element(what, dst, i);
        }
        for (size_t i = 0; i < ROOM; i++) {
            if (i < dst->begin || i >= dst->begin + last) {
                assert_int_equal(dst->bytes[i], FILLER);
            }
        }
        /* What is moved only keeps every bit, also those of a NaN. */
        if (what->nsrc == 1 && what->pre_mask == 0 && !(what->op == WEFT_AVG && what->final)) {
            const operand_t *src = &bench.before[0];
            assert_memory_equal(dst->bytes + dst->begin, src->bytes + src->begin, bytes);
        }
    }
    for (uint32_t s = 0; s + (shape->in_place ? 1 : 0) < what->nsrc; s++) {
        assert_memory_equal(bench.src[s].bytes, bench.before[s].bytes, ROOM);
    }
}

/* Bytes of the destinations behind the last element keep what they were. */
static void check_rest(const operand_t *before, const shape_t *shape, size_t elem)
{
    for (uint32_t d = 0; d < shape->ndst; d++) {
        const size_t end = bench.dst[d].begin + shape->count * elem;
        assert_memory_equal(bench.dst[d].bytes + end, before[d].bytes + end, ROOM - end);
    }
}

static void try(reference_case_t *what, const shape_t *shape)
{
    operand_t before[WEFT_COMBINE_MAX];
    weft_combine_t c = {.count = shape->count,
                        .nsrc = what->nsrc,
                        .ndst = shape->ndst,
                        .pre_mask = what->pre_mask,
                        .flags = what->final ? WEFT_COMBINE_FINAL : 0,
                        .nranks = what->nranks};
    place_all(what->dtype, shape, &c);
    memcpy(before, bench.dst, sizeof before);
    memcpy(&bench.scalar, &what->scalar, sizeof bench.scalar);
    c.scalar = what->pre_mask != 0 ? &bench.scalar : NULL;
    for (uint32_t thread = 0; thread < shape->threads; thread++) {
        cuda_combine(what->dtype, what->op, &c, thread, shape->threads);
    }
    check_result(what, shape);
    check_rest(before, shape, reference_size(what->dtype));
}

static reference_case_t draw_case(weft_dtype_t dtype, weft_op_t op, uint32_t nsrc)
{
    static const uint32_t nranks[] = {1, 2, 3, 7, 8, 200, 1000, 70000};
    reference_case_t what = {.dtype = dtype, .op = op, .nsrc = nsrc, .final = draw() % 2 != 0};
    what.nranks = nranks[draw() % 8];
    if (op == WEFT_PREMULSUM) {
        what.pre_mask = (uint32_t)(draw() % (1u << nsrc));
        what.scalar = draw_value(dtype);
        reference_store(dtype, &bench.scalar, 0, what.scalar);
        what.scalar = reference_load(dtype, &bench.scalar, 0);
    }
    return what;
}

static void try_all(weft_dtype_t dtype, weft_op_t op, uint32_t threads)
{
    for (uint32_t i = 0; i < 16 * 12; i++) {
        reference_case_t what = draw_case(dtype, op, 1 + i % 4);
        shape_t shape = {.threads = threads,
                         .count = (uint32_t)(draw() % (MOST + 1)),
                         .ndst = 1 + i / 4 % 4,
                         .together = i / 16 % 2 != 0,
                         .in_place = draw() % 3 == 0};
        try(&what, &shape);
    }
}

static void one_thread_gives_the_bits_of_the_reference(void **state)
{
    (void)state;
    for (weft_dtype_t dtype = 0; dtype < WEFT_DTYPE_COUNT; dtype++) {
        for (weft_op_t op = 0; op < WEFT_OP_COUNT; op++) {
            if (reference_has(dtype, op)) {
                try_all(dtype, op, 1);
            }
        }
    }
}

static void several_threads_share_the_elements(void **state)
{
    static const uint32_t threads[] = {2, 3, 7, 32};
    (void)state;
    for (weft_dtype_t dtype = 0; dtype < WEFT_DTYPE_COUNT; dtype++) {
        for (weft_op_t op = 0; op < WEFT_OP_COUNT; op++) {
            if (reference_has(dtype, op)) {
                try_all(dtype, op, threads[((uint32_t)dtype + (uint32_t)op) % 4]);
            }
        }
    }
}

static void every_short_length_at_every_offset_is_right(void **state)
{
    (void)state;
    for (weft_dtype_t dtype = 0; dtype < WEFT_DTYPE_COUNT; dtype++) {
        for (uint32_t count = 0; count <= 3 * 16 + 1; count++) {
            for (uint32_t i = 0; i < 8; i++) {
                reference_case_t what = draw_case(dtype, WEFT_SUM, 1 + i % 2);
                shape_t shape = {
                    .threads = 1 + i / 4 * 4, .count = count, .ndst = 1 + i / 2 % 2, .together = 1};
                try(&what, &shape);
            }
        }
    }
}

/* All pairs of 8-bit floats; all 16-bit floats beside random others. */
static void every_pattern_of_small_floats_combines_as_the_reference_says(void **state)
{
    static const weft_dtype_t types[] = {WEFT_FP16, WEFT_BF16, WEFT_FP8_E4M3, WEFT_FP8_E5M2};
    (void)state;
    for (uint32_t i = 0; i < 4 * WEFT_BAND; i++) {
        reference_case_t what = {.dtype = types[i / WEFT_BAND],
                                 .op = i % WEFT_BAND,
                                 .nsrc = 2,
                                 .nranks = 3,
                                 .final = true};
        const size_t bits = 8 * reference_size(what.dtype);
        for (uint64_t pattern = 0; pattern < 65536; pattern++) {
            uint64_t result = 0;
            what.src[0] = pattern & ((1ull << bits) - 1);
            what.src[1] = bits == 8 ? pattern >> 8 : draw() & 0xffff;
            weft_combine_t c = {.src = {&what.src[0], &what.src[1]},
                                .dst = {&result},
                                .count = 1,
                                .nsrc = 2,
                                .ndst = 1,
                                .flags = WEFT_COMBINE_FINAL,
                                .nranks = 3};
            cuda_combine(what.dtype, what.op, &c, 0, 1);
            if (!reference_same(what.dtype, reference_combine(&what), result)) {
                fail_msg("%s %s: %#llx and %#llx give %#llx", reference_dtype_name(what.dtype),
                         reference_op_name(what.op), (unsigned long long)what.src[0],
                         (unsigned long long)what.src[1], (unsigned long long)result);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_gives_the_bits_of_the_reference),
        cmocka_unit_test(several_threads_share_the_elements),
        cmocka_unit_test(every_short_length_at_every_offset_is_right),
        cmocka_unit_test(every_pattern_of_small_floats_combines_as_the_reference_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
