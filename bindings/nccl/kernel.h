/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where calls compute. */
#ifndef BINDINGS_NCCL_KERNEL_H
#define BINDINGS_NCCL_KERNEL_H

#include <stdbool.h>

#include "bindings/nccl/types.h"

/* Whether calls compute on memory of the host: the process has no CUDA, or the user has chosen
 * another kernel than kernel-cuda, wherever weft's configuration lies. Fails if that cannot be
 * read. `call` is the function of NCCL. */
ncclResult_t nccl_kernel_find(const char *call, bool *host_p);

#endif
