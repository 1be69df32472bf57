/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The user operator of `weft perf -o user`: the value of largest magnitude, of two opposite ones
 * the positive. Any order of combining gives the same bits. */
#ifndef WEFT_TOOLS_PERF_USER_H
#define WEFT_TOOLS_PERF_USER_H

#include <weft/weft.h>

/* The one of the two, as the bits of an element; what is above the element's width is not looked
 * at. */
uint64_t perf_user_pick(weft_dtype_t dtype, uint64_t a, uint64_t b);
/* As weft_op_create() wants it. */
void perf_user_combine(void *inout, const void *in, uint64_t count, weft_dtype_t dtype, void *arg);

#endif
