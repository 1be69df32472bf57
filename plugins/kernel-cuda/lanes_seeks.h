/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Seeks: the host sets the number of an end's next slice. Runs take the number from each other, in
 * memory of the device, unless the host has set any since: to know, they find the count of all
 * seeks of the instance in the notice of their handle, which they read anyway. The thread rule is
 * that of draft.weft.kernel.lanes/0; communicators of several threads share the instance. */
#ifndef KERNEL_CUDA_LANES_SEEKS_H
#define KERNEL_CUDA_LANES_SEEKS_H

#include "lanes_types.h"

/* Tells a handle of all seeks from here on, those before included. It has its shared words. */
void lanes_seeks_add(weft_lanes_handle_t *handle);
/* Ends that, when no run of the handle will begin any more. Does nothing if it was never added. */
void lanes_seeks_remove(weft_lanes_handle_t *handle);

/* Tells all handles of one more, whose number is in its word. */
void lanes_seeks_count(weft_kernel_t *kernel);

#endif
