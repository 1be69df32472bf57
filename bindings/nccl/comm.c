/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Handles: their life and their checks. */
#include "bindings/nccl/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bindings/nccl/pool.h"

/* Other creations of a group do not count with these. */
#define COMM_TAG 0x6e636370U

static nccl_pool_t comms = NCCL_POOL(struct ncclComm);

ncclComm_t nccl_comm_create(const char *call, int nranks, int rank, int device)
{
    ncclComm_t comm = nccl_pool_take(&comms);
    if (comm == NULL) {
        nccl_fail(ncclSystemError, "%s: no memory for a communicator", call);
        return NULL;
    }
    atomic_init(&comm->users, 1);
    atomic_init(&comm->state, ncclInProgress);
    comm->nranks = nranks;
    comm->rank = rank;
    comm->device = device;
    comm->blocking = true;
    pthread_mutex_init(&comm->lock, NULL);
    return comm;
}

ncclComm_t nccl_comm_create_child(const char *call, ncclComm_t parent, bool blocking)
{
    ncclComm_t child = nccl_comm_create(call, 0, 0, parent->device);
    if (child != NULL) {
        child->blocking = blocking;
        child->streams = parent->streams;
        nccl_comm_hold(child); /* the job's */
    }
    return child;
}

void nccl_comm_adopt(ncclComm_t comm, weft_comm_t *made)
{
    uint32_t rank = 0, nranks = 0;
    weft_comm_rank(made, &rank);
    weft_comm_size(made, &nranks);
    comm->weft = made;
    comm->rank = (int)rank;
    comm->nranks = (int)nranks;
    /* Nothing was called yet; a communicator that failed meanwhile says so in its first call. */
    (void)weft_comm_set_channels(made, comm->channels);
}

weft_status_t nccl_comm_repeat(ncclComm_t comm, weft_comm_t **made_p)
{
    uint32_t *ranks = malloc((size_t)comm->nranks * sizeof *ranks);
    if (ranks == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    for (int i = 0; i < comm->nranks; i++) {
        ranks[i] = (uint32_t)i;
    }
    weft_status_t status =
        weft_comm_create_group(comm->weft, ranks, (uint32_t)comm->nranks, COMM_TAG, made_p);
    free(ranks);
    return status;
}

void nccl_comm_hold(ncclComm_t comm)
{
    atomic_fetch_add(&comm->users, 1);
}

weft_status_t nccl_comm_release(ncclComm_t comm)
{
    if (comm == NULL || atomic_fetch_sub(&comm->users, 1) > 1) {
        return WEFT_OK;
    }
    weft_status_t status = weft_comm_destroy(comm->weft);
    pthread_mutex_destroy(&comm->lock);
    free(comm->factors);
    if (comm->cancel > 0) {
        close(comm->cancel);
    }
    nccl_pool_give(&comms, comm);
    return status;
}

weft_status_t nccl_comm_close(ncclComm_t comm)
{
    atomic_store_explicit(&comm->closed, true, memory_order_relaxed);
    return nccl_comm_release(comm);
}

void nccl_comm_settle(ncclComm_t comm, ncclResult_t result, const char *text)
{
    if (result != ncclSuccess) {
        snprintf(comm->text, sizeof comm->text, "%s", text);
    }
    atomic_store_explicit(&comm->state, (int)result, memory_order_release);
}

ncclResult_t nccl_comm_check(const char *call, ncclComm_t comm)
{
    if (comm == NULL) {
        return nccl_fail(ncclInvalidArgument, "%s: comm is NULL", call);
    }
    if (!nccl_pool_has(&comms, comm)) {
        return nccl_fail(ncclInvalidArgument, "%s: comm is no communicator, or was destroyed",
                         call);
    }
    return !atomic_load_explicit(&comm->closed, memory_order_relaxed)
               ? ncclSuccess
               : nccl_fail(ncclInvalidArgument, "%s: comm was destroyed", call);
}

ncclResult_t nccl_comm_enter(const char *call, ncclComm_t comm)
{
    ncclResult_t result = nccl_comm_check(call, comm);
    if (result != ncclSuccess) {
        return result;
    }
    int state = atomic_load_explicit(&comm->state, memory_order_acquire);
    if (state == ncclInProgress) {
        return nccl_fail(ncclInvalidArgument,
                         "%s: the communicator is still being made; wait until "
                         "ncclCommGetAsyncError() gives ncclSuccess",
                         call);
    }
    if (state != ncclSuccess) {
        return nccl_fail((ncclResult_t)state, "%s: %s", call, comm->text);
    }
    nccl_comm_hold(comm);
    return ncclSuccess;
}

ncclResult_t nccl_comm_check_open(const char *call, ncclComm_t comm)
{
    return comm->finalized ? nccl_fail(ncclInvalidUsage, "%s: the communicator is finalized", call)
                           : ncclSuccess;
}

ncclResult_t nccl_comm_check_usable(const char *call, ncclComm_t comm)
{
    return comm->revoked ? nccl_fail(ncclInvalidUsage, "%s: the communicator is revoked", call)
                         : nccl_comm_check_open(call, comm);
}
