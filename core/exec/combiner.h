/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel's function for one data type and one operator, and how a call of it went. */
#ifndef WEFT_EXEC_COMBINER_H
#define WEFT_EXEC_COMBINER_H

#include <weft/plugin/kernel.h>

#include "core/plugin/loader.h"

typedef struct weft_combiner {
    weft_combine_fn_t fn;
    weft_status_t (*status)(weft_kernel_t *kernel); /* NULL: fn cannot fail */
    weft_kernel_t *kernel;
} weft_combiner_t;

/* Of the loaded kernel. Errors: those of its select(). */
weft_status_t weft_combiner_select(const weft_loaded_t *loaded, weft_kernel_t *kernel,
                                   weft_dtype_t dtype, weft_op_t op, weft_combiner_t *combiner);

/* Errors: those of the kernel's combine_status(). */
static inline weft_status_t weft_combiner_run(const weft_combiner_t *combiner,
                                              const weft_combine_t *c)
{
    combiner->fn(c);
    return combiner->status == NULL ? WEFT_OK : combiner->status(combiner->kernel);
}

#endif
