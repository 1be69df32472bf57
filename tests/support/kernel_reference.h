/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a combination must give, one element at a time, computed the slow way: integers in 64 bits,
 * floats in double with explicit rounding. Shares nothing with the plugins it judges. */
#ifndef WEFT_TESTS_KERNEL_REFERENCE_H
#define WEFT_TESTS_KERNEL_REFERENCE_H

#include <stdbool.h>

#include <weft/plugin/kernel.h>

/* One element of each operand, as bits. */
typedef struct reference_case {
    weft_dtype_t dtype;
    weft_op_t op;
    uint32_t nsrc;
    uint32_t pre_mask;
    uint32_t nranks;
    bool final;
    uint64_t scalar;
    uint64_t src[WEFT_COMBINE_MAX];
} reference_case_t;

size_t reference_size(weft_dtype_t dtype);
const char *reference_dtype_name(weft_dtype_t dtype);
const char *reference_op_name(weft_op_t op);

/* Element `i` of an array, as bits, and back. */
uint64_t reference_load(weft_dtype_t dtype, const void *array, size_t i);
void reference_store(weft_dtype_t dtype, void *array, size_t i, uint64_t bits);

/* Bits of the result. Which NaN a NaN is does not matter. */
uint64_t reference_combine(const reference_case_t *c);

/* Value of a float and the float nearest to a value that is exact in fp32. */
double reference_decode(weft_dtype_t dtype, uint64_t bits);
uint64_t reference_encode(weft_dtype_t dtype, double value);

bool reference_is_float(weft_dtype_t dtype);
/* True if the operator combines that type. */
bool reference_has(weft_dtype_t dtype, weft_op_t op);

/* The same number: equal bits, or both NaN. */
bool reference_same(weft_dtype_t dtype, uint64_t a, uint64_t b);

#endif
