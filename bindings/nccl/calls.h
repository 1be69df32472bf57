/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collectives, with an optional config of the call. */
#ifndef BINDINGS_NCCL_CALLS_H
#define BINDINGS_NCCL_CALLS_H

#include "bindings/nccl/call.h"

/* Runs the call, or notes it in the open group. what->name … what->stream are set; the rest is
 * filled in here. */
ncclResult_t nccl_calls_put(const nccl_call_t *what, ncclDataType_t dtype, ncclRedOp_t op,
                            ncclComm_t comm, const ncclCollConfig_t *config);

#endif
