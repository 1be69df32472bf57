/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Windows. NCCL lets each rank end a window on its own, and so do weft's windows for puts. Those
 * that peers read in place end on all ranks together: so messages and collectives use a window here
 * as registered memory of this rank. The results are the same. */
#include "bindings/nccl/window.h"

#include "bindings/nccl/comm.h"
#include "bindings/nccl/functions.h"
#include "bindings/nccl/pool.h"

enum { WINDOW_FLAGS = 0x0f };

struct ncclWindow_vidmem {
    ncclComm_t comm; /* for comparison */
    void *memory;
    weft_mem_region_t *region;
    _Atomic(weft_window_t *) puts; /* where puts of peers go; NULL: deregistered */
};

static nccl_pool_t windows = NCCL_POOL(struct ncclWindow_vidmem);

/* The window comes first: ranks count theirs, and one whose memory cannot be pinned has counted it
 * as the others have. */
static weft_status_t window_open(ncclWindow_t window, size_t bytes)
{
    weft_comm_t *comm = window->comm->weft;
    weft_window_t *puts = NULL;
    weft_status_t status = weft_window_register_local(comm, window->memory, bytes, &puts);
    if (status != WEFT_OK) {
        return status;
    }
    status = weft_mem_register(comm, window->memory, bytes, &window->region);
    if (status != WEFT_OK) {
        (void)weft_window_deregister(comm, puts);
        return status;
    }
    atomic_init(&window->puts, puts);
    return WEFT_OK;
}

static weft_status_t window_end(ncclWindow_t window)
{
    weft_window_t *puts = atomic_exchange(&window->puts, NULL);
    return nccl_retire(window->comm->weft, &window->comm->retired, puts, window->region);
}

NCCL_EXPORT ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *memory, size_t bytes,
                                                ncclWindow_t *window, int flags)
{
    if (window == NULL || memory == NULL || bytes == 0 || (flags & ~WINDOW_FLAGS) != 0) {
        return nccl_fail(ncclInvalidArgument, "%s: %s", __func__,
                         window == NULL                 ? "win is NULL"
                         : memory == NULL || bytes == 0 ? "no memory"
                                                        : "unknown flags");
    }
    ncclResult_t result = nccl_comm_enter(__func__, comm);
    if (result != ncclSuccess) {
        return result;
    }
    ncclWindow_t made = nccl_pool_take(&windows);
    if (made == NULL) {
        nccl_comm_release(comm);
        return nccl_fail(ncclSystemError, "%s: no memory for a window", __func__);
    }
    made->comm = comm;
    made->memory = memory;
    result = nccl_report(__func__, window_open(made, bytes), comm->weft);
    if (result == ncclSuccess) {
        nccl_pool_open(made);
        *window = made;
    } else {
        nccl_pool_give(&windows, made);
    }
    nccl_comm_release(comm);
    return result;
}
NCCL_TWIN(ncclCommWindowRegister);

static ncclResult_t window_fail_ended(const char *call)
{
    return nccl_fail(ncclInvalidArgument, "%s: win is no window, or was deregistered", call);
}

void nccl_window_release(ncclWindow_t window)
{
    if (window != NULL && nccl_pool_let_go(window)) {
        nccl_pool_give(&windows, window);
    }
}

ncclResult_t nccl_window_hold(const char *call, ncclComm_t comm, ncclWindow_t window)
{
    if (window == NULL) {
        return nccl_fail(ncclInvalidArgument, "%s: the window is NULL", call);
    }
    if (!nccl_pool_hold(&windows, window)) {
        return window_fail_ended(call);
    }
    if (window->comm != comm) {
        nccl_window_release(window);
        return nccl_fail(ncclInvalidArgument, "%s: the window is of another communicator", call);
    }
    return ncclSuccess;
}

weft_window_t *nccl_window_of_weft(ncclWindow_t window)
{
    return atomic_load(&window->puts);
}

/* On success the caller holds both. */
static ncclResult_t window_enter(const char *call, ncclComm_t comm, ncclWindow_t window)
{
    ncclResult_t result = nccl_comm_check(call, comm);
    if (result != ncclSuccess) {
        return result;
    }
    result = nccl_window_hold(call, comm, window);
    if (result != ncclSuccess) {
        nccl_comm_release(comm);
    }
    return result;
}

static void window_leave(ncclComm_t comm, ncclWindow_t window)
{
    nccl_window_release(window);
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
        result = nccl_report(__func__, window_end(window), comm->weft);
        nccl_window_release(window); /* the program's */
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
