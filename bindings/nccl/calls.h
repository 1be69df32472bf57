/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collectives, with an optional config of the call. */
#ifndef BINDINGS_NCCL_CALLS_H
#define BINDINGS_NCCL_CALLS_H

#include "bindings/nccl/call.h"

/* Returns a collective as it was called; `root` is 0 where there is none. */
static inline nccl_call_t nccl_calls_collective(const char *name, weft_coll_t coll,
                                                const void *send, void *recv, uint64_t count,
                                                int root, cudaStream_t stream)
{
    return (nccl_call_t){.name = name,
                         .coll = coll,
                         .send = send,
                         .recv = recv,
                         .count = count,
                         .root = (uint32_t)root,
                         .stream = stream};
}

/* Runs the call, or notes it in the open group. what->name … what->stream are set; the rest is
 * filled in here. */
ncclResult_t nccl_calls_put(const nccl_call_t *what, ncclDataType_t dtype, ncclRedOp_t op,
                            ncclComm_t comm, const ncclCollConfig_t *config);

#endif
