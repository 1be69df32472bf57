/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Going on with some of a communicator's ranks, also after it has failed: only they call, and the
 * new communicator needs nothing of the old one but its family. */
#include <stdlib.h>

#include "bindings/nccl/config.h"
#include "bindings/nccl/functions.h"
#include "bindings/nccl/group.h"

/* Other creations of a group do not count with these. */
#define SHRINK_TAG 0x6e636c73U

typedef struct shrink_args {
    ncclComm_t comm, *child_p;
    const int *exclude;
    int nexclude, flags;
    const ncclConfig_t *config;
} shrink_args_t;

static ncclResult_t shrink_check(const char *call, const shrink_args_t *args)
{
    if (args->exclude == NULL || args->child_p == NULL) {
        return nccl_fail(ncclInvalidArgument, "%s: %s is NULL", call,
                         args->child_p == NULL ? "newcomm" : "excludeRanksList");
    }
    if (args->nexclude < 1 || args->nexclude >= args->comm->nranks) {
        return nccl_fail(ncclInvalidArgument, "%s: %d ranks to exclude of %d", call, args->nexclude,
                         args->comm->nranks);
    }
    if ((args->flags & ~NCCL_SHRINK_ABORT) != 0) {
        return nccl_fail(ncclInvalidArgument, "%s: shrinkFlags is 0x%x, known is NCCL_SHRINK_ABORT",
                         call, (unsigned)args->flags);
    }
    return ncclSuccess;
}

/* Writes the ranks that stay, in their order; returns how many they are, or 0: a mistake, which is
 * recorded. */
static uint32_t shrink_fill(const char *call, const shrink_args_t *args, uint32_t *members)
{
    const int nranks = args->comm->nranks;
    uint32_t count = 0;
    for (int i = 0; i < args->nexclude; i++) {
        const int rank = args->exclude[i];
        if (rank < 0 || rank >= nranks || rank == args->comm->rank) {
            nccl_fail(ncclInvalidArgument,
                      rank == args->comm->rank
                          ? "%s: rank %d excludes itself; only ranks that stay call it"
                          : "%s: excludeRanksList has rank %d, which is none of the communicator",
                      call, rank);
            return 0;
        }
    }
    for (int rank = 0; rank < nranks; rank++) {
        bool stays = true;
        for (int i = 0; i < args->nexclude && stays; i++) {
            stays = args->exclude[i] != rank;
        }
        if (stays) {
            members[count++] = (uint32_t)rank;
        }
    }
    return count;
}

/* What is under way in the parent ends first where the caller says so. Without, a parent that has
 * failed is a mistake, as with NCCL. */
static ncclResult_t shrink_prepare(const char *call, const shrink_args_t *args)
{
    ncclComm_t comm = args->comm;
    weft_error_t failure = {.size = sizeof failure};
    if ((args->flags & NCCL_SHRINK_ABORT) != 0) {
        return nccl_report(call, weft_comm_abort(comm->weft), NULL);
    }
    weft_status_t status = weft_comm_error(comm->weft, &failure);
    if (status != WEFT_OK || failure.status == WEFT_OK || comm->revoked) {
        return nccl_report(call, status, NULL);
    }
    return nccl_fail(nccl_result_of(failure.status),
                     "%s: the communicator has failed, which NCCL_SHRINK_ABORT allows: %s", call,
                     failure.text);
}

static weft_status_t shrink_run(nccl_job_t *job)
{
    weft_comm_t *made = NULL;
    weft_status_t status =
        weft_comm_create_group(job->parent->weft, job->members, job->nmembers, SHRINK_TAG, &made);
    if (status == WEFT_OK) {
        nccl_comm_adopt(job->child, made);
    }
    return status;
}

/* Fills in members and child; what it made of them is the job's even after a failure. */
static ncclResult_t shrink_plan(const shrink_args_t *args, nccl_job_t *job)
{
    ncclResult_t result = shrink_check(job->name, args);
    if (result != ncclSuccess) {
        return result;
    }
    job->members = calloc((size_t)args->comm->nranks, sizeof *job->members);
    if (job->members == NULL) {
        return nccl_fail(ncclSystemError, "%s: no memory for %d ranks", job->name,
                         args->comm->nranks);
    }
    job->nmembers = shrink_fill(job->name, args, job->members);
    result = job->nmembers > 0 ? shrink_prepare(job->name, args) : ncclInvalidArgument;
    if (result == ncclSuccess) {
        job->child = nccl_comm_create_child(job->name, args->comm, args->config);
        result = job->child != NULL ? ncclSuccess : ncclSystemError;
    }
    return result;
}

NCCL_EXPORT ncclResult_t ncclCommShrink(ncclComm_t comm, int *exclude, int nexclude,
                                        ncclComm_t *child, ncclConfig_t *config, int flags)
{
    ncclResult_t result = nccl_comm_enter(__func__, comm);
    if (result != ncclSuccess) {
        return nccl_group_fail(result);
    }
    nccl_job_t job = {.name = __func__,
                      .run = shrink_run,
                      .parent = comm,
                      .handle_p = child,
                      .waits = comm->blocking};
    result = nccl_comm_check_open(__func__, comm);
    result = result == ncclSuccess ? nccl_config_read(__func__, config, &job.waits) : result;
    if (result == ncclSuccess) {
        result = shrink_plan(&(shrink_args_t){comm, child, exclude, nexclude, flags, config}, &job);
    }
    if (result != ncclSuccess) {
        nccl_comm_release(comm);
        free(job.members);
        return nccl_group_fail(result);
    }
    *child = job.child;
    return nccl_group_job(&job);
}
NCCL_TWIN(ncclCommShrink);

/* The communicator is only good for shrinking, aborting and destroying then. */
NCCL_EXPORT ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags)
{
    if (comm == NULL) {
        return ncclSuccess;
    }
    ncclResult_t result = nccl_comm_enter(__func__, comm);
    if (result != ncclSuccess) {
        return nccl_group_fail(result);
    }
    if (flags != NCCL_REVOKE_DEFAULT) {
        result =
            nccl_fail(ncclInvalidArgument, "%s: revokeFlags is %d, legal is 0", __func__, flags);
    } else {
        comm->revoked = true;
        result = nccl_report(__func__, weft_comm_abort(comm->weft), NULL);
    }
    nccl_comm_release(comm);
    return nccl_group_fail(result);
}
NCCL_TWIN(ncclCommRevoke);
