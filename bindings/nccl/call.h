/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One collective, send or receive, as it was called: to be started now or at the end of a group. */
#ifndef BINDINGS_NCCL_CALL_H
#define BINDINGS_NCCL_CALL_H

#include "bindings/nccl/comm.h"
#include "bindings/nccl/factors.h"

typedef struct nccl_call {
    struct nccl_call *next; /* of a group */
    const char *name;       /* of the function */
    ncclComm_t comm;        /* held */
    weft_coll_t coll;
    bool receives; /* SEND_RECV: which half it is */
    const void *send;
    void *recv;
    uint64_t count;
    weft_dtype_t dtype;
    weft_op_t op;
    uint32_t root; /* or peer */
    cudaStream_t stream;
    nccl_factor_t factor; /* PREMULSUM */
} nccl_call_t;

/* Fills in what needs a look-up: takes a hold of the communicator. `op` is used by collectives that
 * reduce. On failure nothing is held. */
ncclResult_t nccl_call_prepare(nccl_call_t *call, ncclDataType_t dtype, ncclRedOp_t op,
                               ncclComm_t comm);
/* Calls weft. */
ncclResult_t nccl_call_start(const nccl_call_t *call);
/* What a group would take, in seconds. The collectives of a communicator follow each other; its
 * messages start together, and those of one direction share the way. */
typedef struct nccl_price {
    double collectives, sends, receives;
} nccl_price_t;

/* Adds what the operation would take. */
ncclResult_t nccl_call_predict(const nccl_call_t *call, nccl_price_t *price);

#endif
