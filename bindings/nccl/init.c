/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators: made, split and ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/nccl/config.h"
#include "bindings/nccl/cuda.h"
#include "bindings/nccl/debug.h"
#include "bindings/nccl/environment.h"
#include "bindings/nccl/functions.h"
#include "bindings/nccl/group.h"

_Static_assert(sizeof(ncclUniqueId) == sizeof(weft_unique_id_t), "ids are carried as they are");

NCCL_EXPORT ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    weft_unique_id_t made;
    if (id == NULL) {
        return nccl_fail(ncclInvalidArgument, "%s: uniqueId is NULL", __func__);
    }
    nccl_debug_hello();
    ncclResult_t result = nccl_report(__func__, weft_unique_id_create(&made, NULL), NULL);
    if (result == ncclSuccess) {
        memcpy(id, &made, sizeof *id);
    }
    return result;
}
NCCL_TWIN(ncclGetUniqueId);

/* Where there is CUDA, calls compute on the device that was current; a kernel that the user has
 * chosen stays. */
static weft_status_t init_run(nccl_job_t *job)
{
    ncclComm_t comm = job->child;
    char device[48];
    snprintf(device, sizeof device, "kernel-cuda.device=%d", comm->device);
    const char *const settings[] = {"core.kernel=kernel-cuda", device};
    const weft_comm_options_t options = {
        .size = sizeof options, .settings = settings, .settings_count = 2};
    return weft_comm_init_rank(&comm->weft, (uint32_t)comm->nranks, &job->id, (uint32_t)comm->rank,
                               comm->streams ? &options : NULL);
}

typedef struct init_args {
    const char *name;
    ncclComm_t *comm_p;
    int nranks, rank, device;
    const ncclUniqueId *id;
    const ncclConfig_t *config;
} init_args_t;

static ncclResult_t init_check(const init_args_t *args, bool *blocking_p)
{
    if (args->comm_p == NULL || args->id == NULL) {
        return nccl_fail(ncclInvalidArgument, "%s: %s is NULL", args->name,
                         args->comm_p == NULL ? "comm" : "commId");
    }
    if (args->nranks < 1 || args->rank < 0 || args->rank >= args->nranks) {
        return nccl_fail(ncclInvalidArgument, "%s: rank %d of %d ranks", args->name, args->rank,
                         args->nranks);
    }
    return nccl_config_read(args->name, args->config, blocking_p);
}

static ncclResult_t init_put(const init_args_t *args)
{
    bool blocking = true;
    ncclResult_t result = init_check(args, &blocking);
    if (result != ncclSuccess) {
        return nccl_group_fail(result);
    }
    nccl_debug_hello();
    ncclComm_t comm = nccl_comm_create(args->name, args->nranks, args->rank, args->device);
    if (comm == NULL) {
        return nccl_group_fail(ncclSystemError);
    }
    comm->blocking = blocking;
    comm->streams = nccl_cuda_loaded() && !nccl_env_host_kernel();
    nccl_comm_hold(comm); /* the job's */
    *args->comm_p = comm;
    nccl_job_t job = {.name = args->name,
                      .run = init_run,
                      .child = comm,
                      .handle_p = args->comm_p,
                      .waits = blocking};
    memcpy(&job.id, args->id, sizeof job.id);
    return nccl_group_job(&job);
}

NCCL_EXPORT ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId id,
                                                int rank, ncclConfig_t *config)
{
    return init_put(&(init_args_t){__func__, comm, nranks, rank, nccl_cuda_device(), &id, config});
}
NCCL_TWIN(ncclCommInitRankConfig);

NCCL_EXPORT ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank)
{
    return init_put(&(init_args_t){__func__, comm, nranks, rank, nccl_cuda_device(), &id, NULL});
}
NCCL_TWIN(ncclCommInitRank);

/* Several ids spread the work of joining. weft's tree needs one: the first. */
NCCL_EXPORT ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int nranks, int rank, int nids,
                                                  ncclUniqueId *ids, ncclConfig_t *config)
{
    if (nids < 1 || nids > nranks) {
        return nccl_group_fail(
            nccl_fail(ncclInvalidArgument, "%s: %d ids for %d ranks", __func__, nids, nranks));
    }
    return init_put(&(init_args_t){__func__, comm, nranks, rank, nccl_cuda_device(), ids, config});
}
NCCL_TWIN(ncclCommInitRankScalable);

NCCL_EXPORT ncclResult_t ncclCommInitAll(ncclComm_t *comms, int n, const int *devices)
{
    ncclUniqueId id;
    if (comms == NULL || n < 1) {
        return nccl_group_fail(nccl_fail(ncclInvalidArgument, "%s: %s", __func__,
                                         comms == NULL ? "comm is NULL" : "no devices"));
    }
    ncclResult_t result = ncclGetUniqueId(&id);
    if (result != ncclSuccess) {
        return nccl_group_fail(result);
    }
    ncclGroupStart();
    for (int i = 0; i < n; i++) {
        const int device = devices != NULL ? devices[i] : i;
        init_put(&(init_args_t){__func__, &comms[i], n, i, device, &id, NULL});
    }
    return ncclGroupEnd();
}
NCCL_TWIN(ncclCommInitAll);

static weft_status_t split_run(nccl_job_t *job)
{
    weft_comm_t *made = NULL;
    weft_status_t status = weft_comm_split(job->parent->weft, job->color, job->key, &made);
    if (status == WEFT_OK && job->child != NULL) {
        nccl_comm_adopt(job->child, made);
    }
    return status;
}

NCCL_EXPORT ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *child,
                                       ncclConfig_t *config)
{
    if (child == NULL || color < NCCL_SPLIT_NOCOLOR) {
        return nccl_group_fail(nccl_fail(ncclInvalidArgument,
                                         child == NULL ? "%s: newcomm is NULL" : "%s: color %d",
                                         __func__, color));
    }
    ncclResult_t result = nccl_comm_enter(__func__, comm);
    if (result != ncclSuccess) {
        return nccl_group_fail(result);
    }
    bool blocking = comm->blocking;
    result = nccl_comm_check_usable(__func__, comm);
    result = result == ncclSuccess ? nccl_config_read(__func__, config, &blocking) : result;
    nccl_job_t job = {.name = __func__,
                      .run = split_run,
                      .parent = comm,
                      .handle_p = child,
                      .color = color,
                      .key = key,
                      .waits = blocking};
    if (result == ncclSuccess && color != NCCL_SPLIT_NOCOLOR) {
        job.child = nccl_comm_create_child(__func__, comm, blocking);
        result = job.child != NULL ? ncclSuccess : ncclSystemError;
    }
    if (result != ncclSuccess) {
        nccl_comm_release(comm);
        return nccl_group_fail(result);
    }
    *child = job.child;
    if (!blocking) {
        nccl_comm_settle(comm, ncclInProgress, "");
    }
    return nccl_group_job(&job);
}
NCCL_TWIN(ncclCommSplit);

/* What is under way is waited for when the communicator is destroyed: to wait here would be to
 * wait for ranks whose calls are this thread's next. */
NCCL_EXPORT ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    ncclResult_t result = nccl_comm_enter(__func__, comm);
    if (result == ncclSuccess) {
        comm->finalized = true;
        nccl_comm_release(comm);
    }
    return nccl_group_fail(result);
}
NCCL_TWIN(ncclCommFinalize);

/* Whether a handle can be given back. One whose making somebody waits for is that call's. */
static ncclResult_t end_check(const char *call, ncclComm_t comm)
{
    ncclResult_t result = nccl_comm_check(call, comm);
    if (result == ncclSuccess && comm->blocking &&
        atomic_load_explicit(&comm->state, memory_order_acquire) == ncclInProgress) {
        result = nccl_fail(ncclInvalidUsage,
                           "%s: a call waits until the communicator is made; set blocking = 0 in "
                           "its config to give up earlier",
                           call);
    }
    return result;
}

NCCL_EXPORT ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    if (comm == NULL) {
        return ncclSuccess;
    }
    ncclResult_t result = end_check(__func__, comm);
    return result == ncclSuccess ? nccl_report(__func__, nccl_comm_release(comm), NULL)
                                 : nccl_group_fail(result);
}
NCCL_TWIN(ncclCommDestroy);

/* Another thread that is inside a call frees the handle when it comes back, within a second. */
NCCL_EXPORT ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    if (comm == NULL) {
        return ncclSuccess;
    }
    ncclResult_t result = end_check(__func__, comm);
    if (result != ncclSuccess) {
        return nccl_group_fail(result);
    }
    if (atomic_load_explicit(&comm->state, memory_order_acquire) != ncclInProgress &&
        comm->weft != NULL) {
        weft_comm_abort(comm->weft);
    }
    nccl_comm_release(comm);
    return ncclSuccess;
}
NCCL_TWIN(ncclCommAbort);
