/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which memory the device may access: buffers of the caller, and memory of other devices. */
#ifndef KERNEL_CUDA_CUDA_ACCESS_H
#define KERNEL_CUDA_CUDA_ACCESS_H

#include "cuda_instance.h"

/* Enables access to another device's memory. *can_p tells whether the driver knows a path.
 * Errors: ERR_UNSUPPORTED (the driver refuses), ERR_SYSTEM. */
weft_status_t cuda_peer_enable(weft_kernel_t *kernel, int other, bool *can_p);

/* Checks that the device can access `at`, a buffer that errors call `name`. Enables peer access
 * where it is memory of another device. Errors: ERR_UNSUPPORTED with the reason recorded,
 * ERR_SYSTEM. */
weft_status_t cuda_check_access(weft_kernel_t *kernel, const void *at, const char *name);

/* Does the same for a copy that a stream makes later. It refuses pageable host memory, which the
 * runtime would read at once. */
weft_status_t cuda_check_access_async(weft_kernel_t *kernel, const void *at, const char *name);

#endif
