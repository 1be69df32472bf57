/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One collective, message or one-sided call, as it was called: to be started now or at the end of a
 * group. */
#ifndef BINDINGS_NCCL_CALL_H
#define BINDINGS_NCCL_CALL_H

#include "bindings/nccl/factors.h"

/* What a call with a peer does. */
typedef enum nccl_end {
    NCCL_END_SEND,
    NCCL_END_RECV,
    NCCL_END_PUT,
    NCCL_END_SIGNAL,
    NCCL_END_WAIT, /* for `count` signals */
} nccl_end_t;

typedef struct nccl_call {
    struct nccl_call *next; /* of a group */
    const char *name;       /* of the function */
    ncclComm_t comm;        /* held */
    weft_coll_t coll;
    nccl_end_t end; /* SEND_RECV: which one it is */
    const void *send;
    void *recv;
    uint64_t count;
    weft_dtype_t dtype;
    weft_op_t op;
    uint32_t root; /* or peer */
    cudaStream_t stream;
    nccl_factor_t factor; /* PREMULSUM */
    ncclWindow_t window;  /* PUT; held */
    uint64_t offset;      /* into it, in bytes */
} nccl_call_t;

/* Fills in what needs a look-up: takes a hold of the communicator and of the window. `op` is used
 * by collectives that reduce. On failure nothing is held. */
ncclResult_t nccl_call_prepare(nccl_call_t *call, ncclDataType_t dtype, ncclRedOp_t op,
                               ncclComm_t comm);
/* Lets go of them. */
void nccl_call_release(const nccl_call_t *call);
/* Calls weft. */
ncclResult_t nccl_call_start(const nccl_call_t *call);
/* What a group would take, in seconds. The collectives of a communicator follow each other; its
 * messages start together, and those of one direction share the way. */
typedef struct nccl_price {
    double collectives, sends, receives;
} nccl_price_t;

/* Adds what the operation would take. A put takes what a send does; what a wait waits for is not
 * known here, so it takes nothing. */
ncclResult_t nccl_call_predict(const nccl_call_t *call, nccl_price_t *price);

#endif
