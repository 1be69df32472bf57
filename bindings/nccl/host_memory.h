/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of the host that ncclMemAlloc() gave out. */
#ifndef BINDINGS_NCCL_HOST_MEMORY_H
#define BINDINGS_NCCL_HOST_MEMORY_H

#include <stdbool.h>

#include "bindings/nccl/types.h"

/* Zeroed memory, which other ranks of the host read in place. Any thread. */
ncclResult_t nccl_host_memory_alloc(void **memory_p, size_t bytes);
/* False: it is none of this memory, and was left alone. Any thread. */
bool nccl_host_memory_free(void *memory);

#endif
