/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Handles: their life and their checks. */
#include "bindings/nccl/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bindings/nccl/config.h"
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
    atomic_init(&comm->state, ncclInProgress);
    comm->nranks = nranks;
    comm->rank = rank;
    comm->device = device;
    comm->blocking = true;
    pthread_mutex_init(&comm->lock, NULL);
    nccl_pool_open(comm);
    (void)nccl_pool_hold(&comms, comm); /* the job's */
    return comm;
}

ncclComm_t nccl_comm_create_child(const char *call, ncclComm_t parent, const ncclConfig_t *config)
{
    ncclComm_t child = nccl_comm_create(call, 0, 0, parent->device);
    if (child != NULL) {
        child->blocking = config != NULL ? nccl_config_blocking(config) : parent->blocking;
        child->channels = config != NULL ? nccl_config_channels(config) : parent->channels;
        child->streams = parent->streams;
        child->maker = parent;
    }
    return child;
}

/* Without a descriptor its joining ends later. */
void nccl_comm_let_cancel(ncclComm_t comm)
{
    int cancel = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    comm->cancel = cancel > 0 ? cancel : 0;
}

void nccl_comm_set_maker(ncclComm_t comm, ncclComm_t maker)
{
    pthread_mutex_lock(&comm->lock);
    comm->maker = maker;
    pthread_mutex_unlock(&comm->lock);
}

void nccl_comm_abort(ncclComm_t comm)
{
    pthread_mutex_lock(&comm->lock);
    if (comm->weft != NULL) {
        (void)weft_comm_abort(comm->weft);
    } else if (comm->maker != NULL) {
        (void)weft_comm_abort(comm->maker->weft);
    }
    if (comm->cancel > 0) {
        (void)eventfd_write(comm->cancel, 1);
    }
    pthread_mutex_unlock(&comm->lock);
}

/* weft judges its handles, so one that ends meanwhile is an error of weft's. */
bool nccl_comm_abort_closed(ncclComm_t comm)
{
    weft_comm_t *weft = nccl_pool_knows(&comms, comm) ? atomic_load(&comm->weft) : NULL;
    return weft != NULL && weft_comm_abort(weft) == WEFT_OK;
}

void nccl_comm_adopt(ncclComm_t comm, weft_comm_t *made)
{
    uint32_t rank = 0, nranks = 0;
    weft_comm_rank(made, &rank);
    weft_comm_size(made, &nranks);
    comm->rank = (int)rank;
    comm->nranks = (int)nranks;
    pthread_mutex_lock(&comm->lock);
    comm->weft = made;
    pthread_mutex_unlock(&comm->lock);
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

weft_status_t nccl_comm_release(ncclComm_t comm)
{
    if (comm == NULL || !nccl_pool_let_go(comm)) {
        return WEFT_OK;
    }
    weft_status_t status = weft_comm_destroy(comm->weft);
    comm->weft = NULL;
    pthread_mutex_destroy(&comm->lock);
    free(comm->factors);
    nccl_retired_forget(&comm->retired);
    if (comm->cancel > 0) {
        close(comm->cancel);
    }
    nccl_pool_give(&comms, comm);
    return status;
}

static ncclResult_t comm_fail_ended(const char *call)
{
    return nccl_fail(ncclInvalidArgument, "%s: comm is no communicator, or was destroyed", call);
}

ncclResult_t nccl_comm_close(const char *call, ncclComm_t comm)
{
    if (!nccl_pool_close(comm)) {
        return comm_fail_ended(call);
    }
    (void)nccl_comm_release(comm); /* the caller holds it as well */
    return ncclSuccess;
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
    return nccl_pool_hold(&comms, comm) ? ncclSuccess : comm_fail_ended(call);
}

/* Whether it can be used. */
static ncclResult_t comm_check_state(const char *call, ncclComm_t comm)
{
    int state = atomic_load_explicit(&comm->state, memory_order_acquire);
    if (state == ncclInProgress) {
        return nccl_fail(ncclInvalidArgument,
                         "%s: %s; wait until ncclCommGetAsyncError() gives ncclSuccess", call,
                         comm->weft == NULL
                             ? "the communicator is still being made"
                             : "another one is still being made of the communicator");
    }
    return state == ncclSuccess ? ncclSuccess
                                : nccl_fail((ncclResult_t)state, "%s: %s", call, comm->text);
}

ncclResult_t nccl_comm_enter(const char *call, ncclComm_t comm)
{
    ncclResult_t result = nccl_comm_check(call, comm);
    if (result == ncclSuccess) {
        result = comm_check_state(call, comm);
        if (result != ncclSuccess) {
            (void)nccl_comm_release(comm);
        }
    }
    return result;
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
