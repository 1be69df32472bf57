/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bits of the float types to double and back. An implementation of its own, so that a fault of a
 * kernel's conversion does not hide itself in the check. */
#ifndef WEFT_TOOLS_PERF_FLOAT_H
#define WEFT_TOOLS_PERF_FLOAT_H

#include <weft/types.h>

double perf_float_decode(weft_dtype_t dtype, uint64_t bits);
/* To nearest, ties to even; the value must be finite and inside the type's range. */
uint64_t perf_float_encode(weft_dtype_t dtype, double value);
/* Representable values between two finite ones; a large number if one is not finite. */
uint64_t perf_float_distance(weft_dtype_t dtype, uint64_t a, uint64_t b);

#endif
