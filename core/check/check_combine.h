/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Combinations under core.check. A function of a kernel gets no argument that says whose it is, so
 * each function that a kernel gives out is called through a function of its own. */
#ifndef WEFT_CHECK_CHECK_COMBINE_H
#define WEFT_CHECK_CHECK_COMBINE_H

#include "core/check/check_layer.h"

/* Returns a function that calls `own` and compares a part of its results; `own` itself, if all are
 * in use. A wrong result ends the process: a combination cannot fail. */
weft_combine_fn_t weft_check_combine(weft_check_t *check, weft_dtype_t dtype, weft_op_t op,
                                     weft_combine_fn_t own);
/* The functions of this layer become free. */
void weft_check_combine_forget(const weft_check_t *check);

#endif
