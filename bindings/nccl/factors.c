/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of a communicator's operators. Their numbers follow the built-in ones. The process
 * gives each number once, so that another communicator's operator, and one that has ended, is found
 * nowhere. */
#include "bindings/nccl/factors.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/nccl/functions.h"
#include "bindings/nccl/tables.h"

enum { FACTORS_NUMBERS = INT_MAX - ncclNumOps }; /* then they begin anew */

static int factors_number(void)
{
    static _Atomic uint32_t given;
    return ncclNumOps + (int)(atomic_fetch_add(&given, 1) % FACTORS_NUMBERS);
}

/* Under the lock: a free place, or NULL. */
static nccl_factor_t *factors_place(ncclComm_t comm)
{
    for (uint32_t i = 0; i < comm->nfactors; i++) {
        if (comm->factors[i].number == 0) {
            return &comm->factors[i];
        }
    }
    uint32_t more = comm->nfactors > 0 ? 2 * comm->nfactors : 8;
    nccl_factor_t *factors = realloc(comm->factors, more * sizeof *factors);
    if (factors == NULL) {
        return NULL;
    }
    memset(factors + comm->nfactors, 0, (more - comm->nfactors) * sizeof *factors);
    nccl_factor_t *place = &factors[comm->nfactors];
    comm->factors = factors;
    comm->nfactors = more;
    return place;
}

static ncclResult_t factors_add(ncclComm_t comm, const nccl_factor_t *factor, ncclRedOp_t *op)
{
    pthread_mutex_lock(&comm->lock);
    nccl_factor_t *place = factors_place(comm);
    if (place != NULL) {
        *place = *factor;
        place->number = factors_number();
        *op = (ncclRedOp_t)place->number;
    }
    pthread_mutex_unlock(&comm->lock);
    return place != NULL ? ncclSuccess
                         : nccl_fail(ncclSystemError, "ncclRedOpCreatePreMulSum: no memory");
}

NCCL_EXPORT ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar,
                                                  ncclDataType_t dtype,
                                                  ncclScalarResidence_t residence, ncclComm_t comm)
{
    weft_dtype_t weft_dtype;
    if (op == NULL || scalar == NULL) {
        return nccl_fail(ncclInvalidArgument, "%s: %s is NULL", __func__,
                         op == NULL ? "op" : "scalar");
    }
    ncclResult_t result = nccl_table_dtype(__func__, dtype, &weft_dtype);
    if (result == ncclSuccess && residence != ncclScalarDevice &&
        residence != ncclScalarHostImmediate) {
        result = nccl_fail(ncclInvalidArgument, "%s: no residence %d", __func__, (int)residence);
    }
    result = result == ncclSuccess ? nccl_comm_enter(__func__, comm) : result;
    if (result != ncclSuccess) {
        return result;
    }
    nccl_factor_t factor = {.dtype = dtype};
    if (residence == ncclScalarDevice) {
        factor.at = scalar;
    } else {
        memcpy(factor.bytes, scalar, weft_dtype_size(weft_dtype));
    }
    result = factors_add(comm, &factor, op);
    nccl_comm_release(comm);
    return result;
}
NCCL_TWIN(ncclRedOpCreatePreMulSum);

/* Under the lock: the operator's entry, or NULL. */
static nccl_factor_t *factors_find(ncclComm_t comm, ncclRedOp_t op)
{
    for (uint32_t i = 0; i < comm->nfactors && op != 0; i++) {
        if (comm->factors[i].number == (int)op) {
            return &comm->factors[i];
        }
    }
    return NULL;
}

NCCL_EXPORT ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm)
{
    ncclResult_t result = nccl_comm_check(__func__, comm);
    if (result != ncclSuccess) {
        return result;
    }
    pthread_mutex_lock(&comm->lock);
    nccl_factor_t *factor = factors_find(comm, op);
    if (factor != NULL) {
        factor->number = 0;
    }
    pthread_mutex_unlock(&comm->lock);
    nccl_comm_release(comm);
    return factor != NULL ? ncclSuccess
                          : nccl_fail(ncclInvalidArgument,
                                      "%s: %d is no operator that was made for this communicator",
                                      __func__, (int)op);
}
NCCL_TWIN(ncclRedOpDestroy);

ncclResult_t nccl_factor_get(const char *call, ncclComm_t comm, ncclRedOp_t op,
                             ncclDataType_t dtype, nccl_factor_t *factor)
{
    pthread_mutex_lock(&comm->lock);
    const nccl_factor_t *found = factors_find(comm, op);
    const bool exists = found != NULL;
    if (exists) {
        *factor = *found;
    }
    pthread_mutex_unlock(&comm->lock);
    if (!exists) {
        return nccl_fail(ncclInvalidArgument, "%s: the communicator has no operator %d", call,
                         (int)op);
    }
    return factor->dtype == dtype
               ? ncclSuccess
               : nccl_fail(ncclInvalidArgument,
                           "%s: operator %d was made for data type %d, not for %d", call, (int)op,
                           (int)factor->dtype, (int)dtype);
}
