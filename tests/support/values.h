/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Test data whose right answer is one bit pattern, in whatever order it is combined: few
 * contributors per element, small numbers, powers of two for products. Written without a look at
 * the kernels. */
#ifndef WEFT_TEST_VALUES_H
#define WEFT_TEST_VALUES_H

#include <weft/weft.h>

/* Writes number `value` as element `i` of `buffer`, rounded to nearest even. */
void values_put(void *buffer, uint64_t i, weft_dtype_t dtype, double value);

/* What rank `rank` of `nranks` contributes to element `i`; premultiplied inputs are not scaled
 * yet. */
double values_input(weft_dtype_t dtype, weft_op_t op, uint32_t nranks, uint32_t rank, uint64_t i);
/* Factor of a rank for PREMULSUM. */
double values_scalar(uint32_t rank);
/* The reduction over all ranks. */
double values_reduced(weft_dtype_t dtype, weft_op_t op, uint32_t nranks, uint64_t i);

#endif
