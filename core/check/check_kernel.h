/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The checks of kernel plugins. */
#ifndef WEFT_CHECK_CHECK_KERNEL_H
#define WEFT_CHECK_CHECK_KERNEL_H

#include "core/check/check_layer.h"

/* Fills the table that the core calls in place of `own`. */
void weft_check_kernel(weft_check_t *check, const weft_kernel_ops_t *own);

#endif
