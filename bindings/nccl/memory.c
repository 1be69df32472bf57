/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory: allocated, registered, and in windows. NCCL lets each rank end a window on its own,
 * weft's windows end on all ranks together: so a window here is registered memory of this rank,
 * which peers do not read in place. The results are the same. */
#include "bindings/nccl/comm.h"
#include "bindings/nccl/cuda.h"
#include "bindings/nccl/functions.h"
#include "bindings/nccl/host_memory.h"
#include "bindings/nccl/kernel.h"
#include "bindings/nccl/pool.h"

enum { MEMORY_WINDOW_FLAGS = 0x0f };

struct ncclWindow_vidmem {
    ncclComm_t comm; /* for comparison */
    void *memory;
    weft_mem_region_t *region;
};

static nccl_pool_t windows = NCCL_POOL(struct ncclWindow_vidmem);

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

static ncclResult_t memory_register(const char *call, ncclComm_t comm, void *memory, size_t bytes,
                                    weft_mem_region_t **region_p)
{
    ncclResult_t result = nccl_comm_enter(call, comm);
    if (result != ncclSuccess) {
        return result;
    }
    result = nccl_report(call, weft_mem_register(comm->weft, memory, bytes, region_p), comm->weft);
    nccl_comm_release(comm);
    return result;
}

/* The caller holds the communicator. */
static ncclResult_t memory_deregister(const char *call, ncclComm_t comm, weft_mem_region_t *region)
{
    return nccl_report(call, weft_mem_deregister(comm->weft, region), comm->weft);
}

NCCL_EXPORT ncclResult_t ncclCommRegister(ncclComm_t comm, void *memory, size_t bytes,
                                          void **handle)
{
    weft_mem_region_t *region = NULL;
    if (handle == NULL || memory == NULL || bytes == 0) {
        return nccl_fail(ncclInvalidArgument, "%s: %s", __func__,
                         handle == NULL ? "handle is NULL" : "no memory");
    }
    ncclResult_t result = memory_register(__func__, comm, memory, bytes, &region);
    *handle = region;
    return result;
}
NCCL_TWIN(ncclCommRegister);

NCCL_EXPORT ncclResult_t ncclCommDeregister(ncclComm_t comm, void *handle)
{
    ncclResult_t result = nccl_comm_check(__func__, comm);
    if (result == ncclSuccess) {
        result = memory_deregister(__func__, comm, handle);
        nccl_comm_release(comm);
    }
    return result;
}
NCCL_TWIN(ncclCommDeregister);

NCCL_EXPORT ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *memory, size_t bytes,
                                                ncclWindow_t *window, int flags)
{
    if (window == NULL || memory == NULL || bytes == 0 || (flags & ~MEMORY_WINDOW_FLAGS) != 0) {
        return nccl_fail(ncclInvalidArgument, "%s: %s", __func__,
                         window == NULL                 ? "win is NULL"
                         : memory == NULL || bytes == 0 ? "no memory"
                                                        : "unknown flags");
    }
    ncclWindow_t made = nccl_pool_take(&windows);
    if (made == NULL) {
        return nccl_fail(ncclSystemError, "%s: no memory for a window", __func__);
    }
    made->comm = comm;
    made->memory = memory;
    ncclResult_t result = memory_register(__func__, comm, memory, bytes, &made->region);
    if (result != ncclSuccess) {
        nccl_pool_give(&windows, made);
        return result;
    }
    nccl_pool_open(made);
    *window = made;
    return ncclSuccess;
}
NCCL_TWIN(ncclCommWindowRegister);

static ncclResult_t window_fail_ended(const char *call)
{
    return nccl_fail(ncclInvalidArgument, "%s: win is no window, or was deregistered", call);
}

static void window_release(ncclWindow_t window)
{
    if (nccl_pool_let_go(window)) {
        nccl_pool_give(&windows, window);
    }
}

/* On success the caller holds both. */
static ncclResult_t window_enter(const char *call, ncclComm_t comm, ncclWindow_t window)
{
    ncclResult_t result = nccl_comm_check(call, comm);
    if (result != ncclSuccess) {
        return result;
    }
    if (!nccl_pool_hold(&windows, window)) {
        result = window_fail_ended(call);
    } else if (window->comm != comm) {
        result = nccl_fail(ncclInvalidArgument, "%s: the window is of another communicator", call);
        window_release(window);
    }
    if (result != ncclSuccess) {
        nccl_comm_release(comm);
    }
    return result;
}

static void window_leave(ncclComm_t comm, ncclWindow_t window)
{
    window_release(window);
    nccl_comm_release(comm);
}

NCCL_EXPORT ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window)
{
    if (window == NULL) {
        return ncclSuccess;
    }
    ncclResult_t result = window_enter(__func__, comm, window);
    if (result != ncclSuccess) {
        return result;
    }
    if (nccl_pool_close(window)) {
        result = memory_deregister(__func__, comm, window->region);
        window_release(window); /* the program's */
    } else {
        result = window_fail_ended(__func__);
    }
    window_leave(comm, window);
    return result;
}
NCCL_TWIN(ncclCommWindowDeregister);

NCCL_EXPORT ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t window, void **memory)
{
    if (window == NULL || memory == NULL) {
        return nccl_fail(ncclInvalidArgument, "%s: %s is NULL", __func__,
                         window == NULL ? "win" : "outUserPtr");
    }
    ncclResult_t result = window_enter(__func__, comm, window);
    if (result == ncclSuccess) {
        *memory = window->memory;
        window_leave(comm, window);
    }
    return result;
}
NCCL_TWIN(ncclWinGetUserPtr);
