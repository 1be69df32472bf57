/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions that select() returns: combinations of memory on the device and on the host. */
#ifndef KERNEL_CUDA_CUDA_COMBINE_H
#define KERNEL_CUDA_CUDA_COMBINE_H

#include <weft/plugin/kernel.h>

/* Returns the function for a data type and an operator, or NULL. */
weft_combine_fn_t cuda_combine_function(weft_dtype_t dtype, weft_op_t op);

/* As weft_kernel_ops_t.combine_status. */
weft_status_t cuda_combine_status(weft_kernel_t *kernel);

#endif
