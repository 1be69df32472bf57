/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory: allocated and registered. */
#include "bindings/nccl/comm.h"
#include "bindings/nccl/cuda.h"
#include "bindings/nccl/functions.h"
#include "bindings/nccl/host_memory.h"
#include "bindings/nccl/kernel.h"

NCCL_EXPORT ncclResult_t ncclMemAlloc(void **memory, size_t bytes)
{
    if (memory == NULL) {
        return nccl_fail(ncclInvalidArgument, "%s: ptr is NULL", __func__);
    }
    return nccl_kernel_is_host() ? nccl_host_memory_alloc(memory, bytes)
                                 : nccl_cuda_alloc(memory, bytes);
}
NCCL_TWIN(ncclMemAlloc);

NCCL_EXPORT ncclResult_t ncclMemFree(void *memory)
{
    return memory == NULL || nccl_host_memory_free(memory) ? ncclSuccess : nccl_cuda_free(memory);
}
NCCL_TWIN(ncclMemFree);

/* Beside a call of another thread memory is not pinned: there is no handle then, as where NCCL
 * skips a registration. */
static ncclResult_t memory_register(ncclComm_t comm, void *memory, size_t bytes,
                                    weft_mem_region_t **region)
{
    weft_status_t status = weft_mem_register(comm->weft, memory, bytes, region);
    return nccl_retired_must_wait(comm->weft, status)
               ? ncclSuccess
               : nccl_report("ncclCommRegister", status, comm->weft);
}

NCCL_EXPORT ncclResult_t ncclCommRegister(ncclComm_t comm, void *memory, size_t bytes,
                                          void **handle)
{
    weft_mem_region_t *region = NULL;
    if (handle == NULL || memory == NULL || bytes == 0) {
        return nccl_fail(ncclInvalidArgument, "%s: %s", __func__,
                         handle == NULL ? "handle is NULL" : "no memory");
    }
    ncclResult_t result = nccl_comm_enter(__func__, comm);
    if (result == ncclSuccess) {
        result = memory_register(comm, memory, bytes, &region);
        nccl_comm_release(comm);
    }
    *handle = region;
    return result;
}
NCCL_TWIN(ncclCommRegister);

NCCL_EXPORT ncclResult_t ncclCommDeregister(ncclComm_t comm, void *handle)
{
    ncclResult_t result = nccl_comm_check(__func__, comm);
    if (result == ncclSuccess) {
        /* NULL is the handle of what was not pinned. */
        weft_status_t status =
            handle != NULL ? nccl_retire(comm->weft, &comm->retired, NULL, handle) : WEFT_OK;
        result = nccl_report(__func__, status, comm->weft);
        nccl_comm_release(comm);
    }
    return result;
}
NCCL_TWIN(ncclCommDeregister);
