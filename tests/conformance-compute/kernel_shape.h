/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One combination to try on a kernel plugin: what, where its operands lie, and what must come
 * out. */
#ifndef WEFT_TESTS_KERNEL_SHAPE_H
#define WEFT_TESTS_KERNEL_SHAPE_H

#include "arena.h"
#include "tests/support/kernel_reference.h"

#define SHAPE_PERIOD 1021 /* inputs and results repeat after a prime number of elements */
#define SHAPE_LARGEST ((size_t)1 << 20) /* bytes of the largest operand */

/* Ends the test, or the case of a kit: what was computed, found and expected. */
typedef void (*shape_fail_fn_t)(const char *text);

/* Memory and values of the operands; reused from case to case. */
typedef struct shape_bench {
    arena_t src[WEFT_COMBINE_MAX], dst[WEFT_COMBINE_MAX];
    uint64_t value[WEFT_COMBINE_MAX][SHAPE_PERIOD];
    uint64_t expected[SHAPE_PERIOD];
    uint8_t *pool[WEFT_COMBINE_MAX]; /* the values as they lie in memory, repeated */
    uint8_t *result;                 /* the expected ones likewise */
    uint8_t scalar[8];
    reference_case_t what;
    uint64_t seed;
    shape_fail_fn_t fail;
} shape_bench_t;

/* Where operands lie and how the kernel is called. */
typedef struct shape {
    uint32_t ndst;
    size_t count;
    uint32_t nt_mask;
    size_t offset[2 * WEFT_COMBINE_MAX]; /* elements, sources first */
    int32_t in_place[WEFT_COMBINE_MAX];  /* source that the destination equals, or −1 */
} shape_t;

void shape_open(shape_bench_t *bench, shape_fail_fn_t fail);
void shape_close(shape_bench_t *bench);
uint64_t shape_random(shape_bench_t *bench);

/* Fills in values of a type: extremes, special values, small numbers and random bits. */
void shape_fill(shape_bench_t *bench, weft_dtype_t dtype);

/* Draws what to compute of so many sources. The values are those of shape_fill(). */
reference_case_t shape_draw_case(shape_bench_t *bench, weft_dtype_t dtype, weft_op_t op,
                                 uint32_t nsrc);

/* Computes what must come out of `what`, for operands of up to `elements`. */
void shape_expect(shape_bench_t *bench, const reference_case_t *what, size_t elements);

/* Draws places for the operands. */
shape_t shape_draw(shape_bench_t *bench, uint32_t ndst, size_t count);

/* Runs it. Fails with the first wrong element, a stray store or a changed source. */
void shape_check(shape_bench_t *bench, const shape_t *shape, weft_combine_fn_t fn);

#endif
