/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See combiner.h. */
#include "core/exec/combiner.h"

#include <stddef.h>

weft_status_t weft_combiner_select(const weft_kernel_ops_t *ops, weft_kernel_t *kernel,
                                   weft_dtype_t dtype, weft_op_t op, weft_combiner_t *combiner)
{
    *combiner = (weft_combiner_t){
        .status = WEFT_HAS(ops, weft_kernel_ops_t, combine_status) ? ops->combine_status : NULL,
        .kernel = kernel};
    return ops->select(kernel, dtype, op, &combiner->fn);
}
