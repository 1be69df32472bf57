/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators: made, split and ended. */
#include "bindings/nccl/init.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/nccl/config.h"
#include "bindings/nccl/cuda.h"
#include "bindings/nccl/debug.h"
#include "bindings/nccl/functions.h"
#include "bindings/nccl/group.h"
#include "bindings/nccl/kernel.h"

/* More ranks in one process are a mistake. */
enum { INIT_MOST_RANKS = 1024 };

_Static_assert(sizeof(ncclUniqueId) == sizeof(weft_unique_id_t), "ids are carried as they are");

NCCL_EXPORT ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    weft_unique_id_t made;
    if (id == NULL) {
        return nccl_fail(ncclInvalidArgument, "%s: uniqueId is NULL", __func__);
    }
    nccl_debug_hello();
    nccl_debug_comm_id();
    ncclResult_t result = nccl_report(__func__, weft_unique_id_create(&made, NULL), NULL);
    if (result == ncclSuccess) {
        memcpy(id, &made, sizeof *id);
    }
    return result;
}
NCCL_TWIN(ncclGetUniqueId);

/* Where there is CUDA, calls compute on the device that was current; a kernel that the user has
 * chosen stays. */
weft_status_t nccl_init_run(nccl_job_t *job)
{
    ncclComm_t comm = job->child;
    char device[48], label[sizeof "boot.label=" + sizeof job->label];
    const char *settings[3];
    weft_comm_options_t options = {
        .size = sizeof options, .settings = settings, .cancel_fd = comm->cancel};
    if (comm->streams) {
        snprintf(device, sizeof device, "kernel-cuda.device=%d", comm->device);
        settings[options.settings_count++] = "core.kernel=kernel-cuda";
        settings[options.settings_count++] = device;
    }
    if (job->label[0] != '\0') {
        snprintf(label, sizeof label, "boot.label=%s", job->label);
        settings[options.settings_count++] = label;
    }
    weft_comm_t *made = NULL;
    weft_status_t status = weft_comm_init_rank(&made, (uint32_t)comm->nranks, &job->id,
                                               (uint32_t)comm->rank, &options);
    if (status == WEFT_OK) {
        nccl_comm_adopt(comm, made);
    }
    return status;
}

static ncclResult_t init_check_ids(const nccl_init_args_t *args)
{
    for (int i = 0; i < args->nids || i == 0; i++) {
        weft_unique_id_t id;
        memcpy(&id, &args->id[i], sizeof id);
        if (weft_unique_id_check(&id) != WEFT_OK) {
            weft_error_t error = {.size = sizeof error};
            (void)weft_last_error(&error);
            return nccl_fail(ncclInvalidArgument, "%s: commId %d of %d: %s", args->name, i,
                             args->nids > 0 ? args->nids : 1, error.text);
        }
    }
    return ncclSuccess;
}

/* Several ids: their number and a checksum of all, so that ranks with others are told so. */
static void init_label(const nccl_init_args_t *args, char *label, size_t bytes)
{
    const unsigned char *ids = (const unsigned char *)args->id;
    uint32_t sum = 2166136261U; /* FNV-1a */
    for (size_t i = 0; i < (size_t)args->nids * sizeof *args->id; i++) {
        sum = (sum ^ ids[i]) * 16777619U;
    }
    if (args->nids > 1) {
        snprintf(label, bytes, "%d unique ids with checksum %08x", args->nids, sum);
    }
}

static ncclResult_t init_check(const nccl_init_args_t *args, bool *blocking_p, bool *host_p)
{
    if (args->comm_p == NULL || args->id == NULL) {
        return nccl_fail(ncclInvalidArgument, "%s: %s is NULL", args->name,
                         args->comm_p == NULL ? "comm" : "commId");
    }
    if (args->nranks < 1 || args->rank < 0 || args->rank >= args->nranks) {
        return nccl_fail(ncclInvalidArgument, "%s: rank %d of %d ranks", args->name, args->rank,
                         args->nranks);
    }
    ncclResult_t result = init_check_ids(args);
    *host_p = nccl_kernel_is_host();
    return result == ncclSuccess ? nccl_config_read(args->name, args->config, blocking_p) : result;
}

ncclResult_t nccl_init_put(const nccl_init_args_t *args)
{
    bool blocking = true, host = false;
    ncclResult_t result = init_check(args, &blocking, &host);
    if (result != ncclSuccess) {
        if (args->comm_p != NULL) {
            *args->comm_p = NULL;
        }
        return nccl_group_fail(result);
    }
    nccl_debug_hello();
    ncclComm_t comm = nccl_comm_create(args->name, args->nranks, args->rank, args->device);
    if (comm == NULL) {
        return nccl_group_fail(ncclSystemError);
    }
    comm->blocking = blocking;
    comm->channels = nccl_config_channels(args->config);
    /* Nobody can abort what is not in the program's hands yet. */
    if (!blocking) {
        nccl_comm_let_cancel(comm);
    }
    comm->streams = !host;
    *args->comm_p = comm;
    nccl_job_t job = {.name = args->name,
                      .run = nccl_init_run,
                      .child = comm,
                      .handle_p = args->comm_p,
                      .waits = blocking};
    memcpy(&job.id, args->id, sizeof job.id);
    init_label(args, job.label, sizeof job.label);
    return nccl_group_job(&job);
}

NCCL_EXPORT ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId id,
                                                int rank, ncclConfig_t *config)
{
    return nccl_init_put(
        &(nccl_init_args_t){__func__, comm, nranks, rank, nccl_cuda_device(), &id, config, 0});
}
NCCL_TWIN(ncclCommInitRankConfig);

NCCL_EXPORT ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank)
{
    return nccl_init_put(
        &(nccl_init_args_t){__func__, comm, nranks, rank, nccl_cuda_device(), &id, NULL, 0});
}
NCCL_TWIN(ncclCommInitRank);

/* NCCL has a root for each id, which hears the ranks one by one. weft's root hears all at once, and
 * the ranks then form a tree: they meet at the first id, and the others only have to be alike. */
NCCL_EXPORT ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int nranks, int rank, int nids,
                                                  ncclUniqueId *ids, ncclConfig_t *config)
{
    if (nids < 1 || nids > nranks) {
        return nccl_group_fail(
            nccl_fail(ncclInvalidArgument, "%s: %d ids for %d ranks", __func__, nids, nranks));
    }
    return nccl_init_put(
        &(nccl_init_args_t){__func__, comm, nranks, rank, nccl_cuda_device(), ids, config, nids});
}
NCCL_TWIN(ncclCommInitRankScalable);

/* Each rank is a device, or a thread's memory where the host computes. */
static ncclResult_t init_check_all(const char *call, const ncclComm_t *comms, int n,
                                   const int *devices)
{
    const int count = nccl_kernel_is_host() ? 0 : nccl_cuda_device_count();
    const int most = count > 0 ? count : INIT_MOST_RANKS;
    if (comms == NULL || n < 1) {
        return nccl_fail(ncclInvalidArgument, "%s: %s", call,
                         comms == NULL ? "comm is NULL" : "no devices");
    }
    if (n > (devices == NULL ? most : INIT_MOST_RANKS)) {
        return nccl_fail(ncclInvalidArgument, "%s: %d devices, there are %d", call, n, most);
    }
    for (int i = 0; i < n && devices != NULL; i++) {
        if (devices[i] < 0 || devices[i] >= most) {
            return nccl_fail(ncclInvalidArgument, "%s: devlist[%d] is device %d, there are 0 to %d",
                             call, i, devices[i], most - 1);
        }
    }
    return ncclSuccess;
}

NCCL_EXPORT ncclResult_t ncclCommInitAll(ncclComm_t *comms, int n, const int *devices)
{
    ncclUniqueId id;
    ncclResult_t result = init_check_all(__func__, comms, n, devices);
    result = result == ncclSuccess ? ncclGetUniqueId(&id) : result;
    if (result != ncclSuccess) {
        return nccl_group_fail(result);
    }
    ncclGroupStart();
    for (int i = 0; i < n; i++) {
        const int device = devices != NULL ? devices[i] : i;
        nccl_init_put(&(nccl_init_args_t){__func__, &comms[i], n, i, device, &id, NULL, 0});
    }
    return ncclGroupEnd();
}
NCCL_TWIN(ncclCommInitAll);

/* Where the parent is revoked, colours go over a communicator of the same ranks. */
static weft_status_t split_run(nccl_job_t *job)
{
    weft_comm_t *made = NULL, *again = NULL;
    weft_status_t status = WEFT_OK;
    if (job->parent->revoked) {
        status = nccl_comm_repeat(job->parent, &again);
    }
    if (status == WEFT_OK) {
        status =
            weft_comm_split(again != NULL ? again : job->parent->weft, job->color, job->key, &made);
    }
    weft_comm_destroy(again);
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
    bool waits = comm->blocking;
    result = nccl_comm_check_open(__func__, comm);
    result = result == ncclSuccess ? nccl_config_read(__func__, config, &waits) : result;
    nccl_job_t job = {.name = __func__,
                      .run = split_run,
                      .parent = comm,
                      .handle_p = child,
                      .color = color,
                      .key = key,
                      .waits = waits};
    if (result == ncclSuccess && color != NCCL_SPLIT_NOCOLOR) {
        job.child = nccl_comm_create_child(__func__, comm, config);
        result = job.child != NULL ? ncclSuccess : ncclSystemError;
    }
    if (result != ncclSuccess) {
        nccl_comm_release(comm);
        return nccl_group_fail(result);
    }
    *child = job.child;
    return nccl_group_job(&job);
}
NCCL_TWIN(ncclCommSplit);

/* What is under way is waited for when the communicator is destroyed: to wait here would be to
 * wait for ranks whose calls are this thread's next. */
NCCL_EXPORT ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    if (comm == NULL) {
        return ncclSuccess;
    }
    ncclResult_t result = nccl_comm_enter(__func__, comm);
    if (result == ncclSuccess) {
        const bool revoked = comm->revoked;
        if (revoked || atomic_exchange(&comm->finalized, true)) {
            result = nccl_fail(ncclInvalidArgument, "%s: the communicator is %s", __func__,
                               revoked ? "revoked" : "finalized");
        }
        nccl_comm_release(comm);
    }
    return nccl_group_fail(result);
}
NCCL_TWIN(ncclCommFinalize);

/* Whether a handle can be given back; then the caller holds it. One whose making somebody waits for
 * is that call's. */
static ncclResult_t end_check(const char *call, ncclComm_t comm)
{
    ncclResult_t result = nccl_comm_check(call, comm);
    if (result == ncclSuccess && comm->awaited && comm->weft == NULL &&
        atomic_load_explicit(&comm->state, memory_order_acquire) == ncclInProgress) {
        result = nccl_fail(ncclInvalidUsage,
                           "%s: a call waits until the communicator is made; set blocking = 0 in "
                           "its config to give up earlier",
                           call);
        (void)nccl_comm_release(comm);
    }
    return result;
}

/* Gives back a handle that is held, and lets go. Another thread that is inside a call frees the
 * communicator when it comes back. */
static ncclResult_t end_close(const char *call, ncclComm_t comm)
{
    ncclResult_t result = nccl_comm_close(call, comm);
    weft_status_t status = nccl_comm_release(comm);
    return result == ncclSuccess ? nccl_report(call, status, NULL) : result;
}

NCCL_EXPORT ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    if (comm == NULL) {
        return ncclSuccess;
    }
    ncclResult_t result = end_check(__func__, comm);
    return result == ncclSuccess ? end_close(__func__, comm) : nccl_group_fail(result);
}
NCCL_TWIN(ncclCommDestroy);

/* Another thread that is inside a call comes back within a second, also one that destroys the
 * communicator. */
NCCL_EXPORT ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    if (comm == NULL) {
        return ncclSuccess;
    }
    ncclResult_t result = end_check(__func__, comm);
    if (result != ncclSuccess) {
        const bool helped = result == ncclInvalidArgument && nccl_comm_abort_closed(comm);
        return helped ? ncclSuccess : nccl_group_fail(result);
    }
    nccl_comm_abort(comm);
    return end_close(__func__, comm);
}
NCCL_TWIN(ncclCommAbort);
