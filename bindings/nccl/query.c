/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Questions to the library and to communicators, and errors. */
#include "bindings/nccl/comm.h"
#include "bindings/nccl/debug.h"
#include "bindings/nccl/functions.h"

NCCL_EXPORT ncclResult_t ncclGetVersion(int *version)
{
    nccl_debug_used();
    if (version == NULL) {
        return nccl_fail(ncclInvalidArgument, "%s: version is NULL", __func__);
    }
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}
NCCL_TWIN(ncclGetVersion);

NCCL_EXPORT const char *ncclGetErrorString(ncclResult_t result)
{
    static const char *const texts[ncclNumResults] = {
        [ncclSuccess] = "no error",
        [ncclUnhandledCudaError] = "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
        [ncclSystemError] = "unhandled system error (run with NCCL_DEBUG=INFO for details)",
        [ncclInternalError] = "internal error (run with NCCL_DEBUG=INFO for details)",
        [ncclInvalidArgument] = "invalid argument (run with NCCL_DEBUG=WARN for details)",
        [ncclInvalidUsage] = "invalid usage (run with NCCL_DEBUG=WARN for details)",
        [ncclRemoteError] = "remote process exited or there was a network error",
        [ncclInProgress] = "operation in progress",
        [ncclTimeout] = "timeout",
    };
    return (unsigned)result < ncclNumResults ? texts[result] : "unknown result code";
}
NCCL_TWIN(ncclGetErrorString);

/* Some programs ask with a communicator whose making failed, which is no longer one. */
NCCL_EXPORT const char *ncclGetLastError(ncclComm_t comm)
{
    (void)comm;
    return nccl_error_text();
}
NCCL_TWIN(ncclGetLastError);

NCCL_EXPORT void ncclResetDebugInit(void)
{
}
NCCL_TWIN(ncclResetDebugInit);

static ncclResult_t query_error(ncclComm_t comm, ncclResult_t *error)
{
    *error = (ncclResult_t)atomic_load_explicit(&comm->state, memory_order_acquire);
    /* A revoked communicator is quiet, which is what its programs wait for. */
    if (*error == ncclSuccess && !comm->revoked) {
        weft_error_t failure = {.size = sizeof failure};
        weft_status_t status = weft_comm_error(comm->weft, &failure);
        *error = nccl_result_of(status != WEFT_OK ? status : failure.status);
        if (*error != ncclSuccess) {
            nccl_error_take(failure.text);
        }
    } else if (*error != ncclSuccess && *error != ncclInProgress) {
        nccl_error_take(comm->text);
    }
    return ncclSuccess;
}

NCCL_EXPORT ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
    ncclResult_t result = nccl_comm_check(__func__, comm);
    if (result != ncclSuccess) {
        return result;
    }
    result = error != NULL ? query_error(comm, error)
                           : nccl_fail(ncclInvalidArgument, "%s: asyncError is NULL", __func__);
    nccl_comm_release(comm);
    return result;
}
NCCL_TWIN(ncclCommGetAsyncError);

/* Which of the communicator's numbers. */
typedef enum { QUERY_COUNT, QUERY_DEVICE, QUERY_RANK } query_t;

static ncclResult_t query_number(const char *call, ncclComm_t comm, query_t what, int *out)
{
    ncclResult_t result = nccl_comm_enter(call, comm);
    if (result != ncclSuccess) {
        return result;
    }
    if (out == NULL) {
        result = nccl_fail(ncclInvalidArgument, "%s: the result's address is NULL", call);
    } else {
        *out = what == QUERY_COUNT    ? comm->nranks
               : what == QUERY_DEVICE ? comm->device
                                      : comm->rank;
    }
    nccl_comm_release(comm);
    return result;
}

NCCL_EXPORT ncclResult_t ncclCommCount(ncclComm_t comm, int *count)
{
    return query_number(__func__, comm, QUERY_COUNT, count);
}
NCCL_TWIN(ncclCommCount);

NCCL_EXPORT ncclResult_t ncclCommCuDevice(ncclComm_t comm, int *device)
{
    return query_number(__func__, comm, QUERY_DEVICE, device);
}
NCCL_TWIN(ncclCommCuDevice);

NCCL_EXPORT ncclResult_t ncclCommUserRank(ncclComm_t comm, int *rank)
{
    return query_number(__func__, comm, QUERY_RANK, rank);
}
NCCL_TWIN(ncclCommUserRank);
