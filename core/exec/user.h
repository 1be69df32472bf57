/* SPDX-License-Identifier: BSD-3-Clause
 *
 * User operators in the executor: the caller's function in place of a kernel's. */
#ifndef WEFT_EXEC_USER_H
#define WEFT_EXEC_USER_H

#include <weft/plugin/kernel.h>
#include <weft/weft.h>

typedef struct weft_user_op {
    weft_op_fn_t fn; /* NULL: the kernel combines */
    void *arg;
} weft_user_op_t;

/* As a kernel's combine function, folding from the left with the user's function. Sources and
 * destinations may be the same memory at the same offset. */
void weft_user_combine(const weft_user_op_t *op, weft_dtype_t dtype, const weft_combine_t *c);

#endif
