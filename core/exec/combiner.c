/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See combiner.h. */
#include "core/exec/combiner.h"

#include <stddef.h>

#include "core/plugin/plugin_status.h"

weft_status_t weft_combiner_select(const weft_loaded_t *loaded, weft_kernel_t *kernel,
                                   weft_dtype_t dtype, weft_op_t op, weft_combiner_t *combiner)
{
    const weft_kernel_ops_t *ops = loaded->plugin->ops;
    *combiner = (weft_combiner_t){
        .status = WEFT_HAS(ops, weft_kernel_ops_t, combine_status) ? ops->combine_status : NULL,
        .kernel = kernel};
    return weft_plugin_status(loaded, "select", WEFT_RETURNS_FINAL,
                              ops->select(kernel, dtype, op, &combiner->fn));
}
