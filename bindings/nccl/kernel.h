/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where calls compute. */
#ifndef BINDINGS_NCCL_KERNEL_H
#define BINDINGS_NCCL_KERNEL_H

#include <stdbool.h>

/* Whether calls compute on memory of the host: the process has no CUDA, or the user has chosen
 * another kernel than kernel-cuda, wherever weft's configuration lies. What cannot be read is not
 * chosen: making a communicator fails by it, and tells the other ranks. */
bool nccl_kernel_is_host(void);

#endif
