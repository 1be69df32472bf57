/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Second addresses for shared memory of the host, at which the device sees it. The core unmaps the
 * memory of a connection when that is closed; a registration under the address of the core's would
 * have to end before, and the driver then waits for all kernels of the process, which may wait for
 * the rank that closes. An alias stays registered when the connection is closed. */
#ifndef KERNEL_CUDA_CUDA_ALIAS_H
#define KERNEL_CUDA_CUDA_ALIAS_H

#include "cuda_instance.h"

/* Maps the pages of a range once more, and registers them. *shift_p: what is added to an address of
 * the range, 0 where the memory is not shared or the system refuses: then nothing was registered.
 * The alias ends with cuda_alias_drop() with the same arguments, or with the kernel.
 * Errors: those of the driver. */
cudaError_t cuda_alias_add(weft_kernel_t *kernel, const void *at, uint64_t bytes,
                           ptrdiff_t *shift_p);

/* Nothing on the device uses the alias of this shift any more. The kernel keeps it; when it has
 * many it leaves them to the process (cuda_kept.h). */
void cuda_alias_drop(weft_kernel_t *kernel, const void *at, ptrdiff_t shift);

/* Leaves all to the process. */
void cuda_alias_close(weft_kernel_t *kernel);

#endif
