/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operators that a program makes: sums of products with a factor of this rank. */
#ifndef BINDINGS_NCCL_FACTORS_H
#define BINDINGS_NCCL_FACTORS_H

#include "bindings/nccl/comm.h"

enum { NCCL_FACTOR_BYTES = 8 };

typedef struct nccl_factor {
    int number; /* the ncclRedOp_t; 0: the place is free */
    ncclDataType_t dtype;
    const void *at; /* NULL: the bytes are here */
    uint8_t bytes[NCCL_FACTOR_BYTES];
} nccl_factor_t;

/* Copies the factor of an operator of `comm`, which is one from ncclNumOps on. */
ncclResult_t nccl_factor_get(const char *call, ncclComm_t comm, ncclRedOp_t op,
                             ncclDataType_t dtype, nccl_factor_t *factor);

#endif
