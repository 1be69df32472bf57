/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Taking in further ranks. All join anew with an id that one of the old ranks has made: the old
 * ones with their numbers, the new ones with those that follow. The old ranks hear of the id over
 * the communicator that they have. */
#include <stdlib.h>
#include <string.h>

#include "bindings/nccl/config.h"
#include "bindings/nccl/cuda.h"
#include "bindings/nccl/functions.h"
#include "bindings/nccl/group.h"
#include "bindings/nccl/init.h"

/* What an old rank tells the others. */
typedef struct grow_word {
    uint8_t given; /* it has the id */
    uint8_t id[NCCL_UNIQUE_ID_BYTES];
} grow_word_t;

_Static_assert(sizeof(grow_word_t) == 1 + NCCL_UNIQUE_ID_BYTES, "bytes of all ranks follow");

NCCL_EXPORT ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId *id)
{
    ncclResult_t result = nccl_comm_enter(__func__, comm);
    if (result != ncclSuccess) {
        return result;
    }
    result = id != NULL ? nccl_comm_check_usable(__func__, comm)
                        : nccl_fail(ncclInvalidArgument, "%s: uniqueId is NULL", __func__);
    result = result == ncclSuccess ? ncclGetUniqueId(id) : result;
    nccl_comm_release(comm);
    return result;
}
NCCL_TWIN(ncclCommGetUniqueId);

/* Exactly one rank has the id; all come to the same verdict. */
static weft_status_t grow_choose(nccl_job_t *job, const grow_word_t *words)
{
    int given = 0;
    for (int i = 0; i < job->parent->nranks; i++) {
        if (words[i].given != 0) {
            memcpy(&job->id, words[i].id, sizeof job->id);
            given++;
        }
    }
    job->mistake = given == 0   ? "no rank of the communicator gave a uniqueId"
                   : given == 1 ? NULL
                                : "several ranks of the communicator gave a uniqueId";
    return given == 1 ? WEFT_OK : WEFT_ERR_STATE;
}

static weft_status_t grow_run(nccl_job_t *job)
{
    grow_word_t own = {.given = job->gives_id};
    grow_word_t *words = calloc((size_t)job->parent->nranks, sizeof *words);
    if (words == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    memcpy(own.id, &job->id, sizeof own.id);
    weft_status_t status =
        weft_all_gather(&own, words, sizeof own, WEFT_UINT8, job->parent->weft, NULL);
    status = status == WEFT_OK ? grow_choose(job, words) : status;
    free(words);
    nccl_comm_set_maker(job->child, NULL);
    return status == WEFT_OK ? nccl_init_run(job) : status;
}

/* Fills in the child. The caller holds the parent. Without a config there is no maxCTAs: new ranks
 * do not know the parent's, and all must have the same. */
static ncclResult_t grow_plan(nccl_job_t *job, int nranks, int rank, const ncclConfig_t *config)
{
    ncclComm_t parent = job->parent;
    ncclResult_t result = nccl_comm_check_usable(job->name, parent);
    if (result == ncclSuccess && (nranks <= parent->nranks || rank != -1)) {
        result = rank != -1 ? nccl_fail(ncclInvalidArgument,
                                        "%s: rank %d: ranks that have the communicator pass -1, "
                                        "they keep their numbers",
                                        job->name, rank)
                            : nccl_fail(ncclInvalidArgument,
                                        "%s: %d ranks are not more than %d, which there are",
                                        job->name, nranks, parent->nranks);
    }
    if (result != ncclSuccess) {
        return result;
    }
    job->child = nccl_comm_create_child(job->name, parent, config);
    if (job->child == NULL) {
        return ncclSystemError;
    }
    job->child->nranks = nranks;
    job->child->rank = parent->rank;
    job->child->channels = nccl_config_channels(config);
    if (!job->waits) {
        nccl_comm_let_cancel(job->child);
    }
    return ncclSuccess;
}

/* An old rank's call. */
static ncclResult_t grow_put(nccl_job_t *job, int nranks, int rank, const ncclConfig_t *config)
{
    ncclResult_t result = nccl_comm_enter(job->name, job->parent);
    if (result != ncclSuccess) {
        return nccl_group_fail(result);
    }
    job->waits = job->parent->blocking;
    result = nccl_config_read(job->name, config, &job->waits);
    result = result == ncclSuccess ? grow_plan(job, nranks, rank, config) : result;
    if (result != ncclSuccess) {
        nccl_comm_release(job->parent);
        return nccl_group_fail(result);
    }
    *job->handle_p = job->child;
    return nccl_group_job(job);
}

NCCL_EXPORT ncclResult_t ncclCommGrow(ncclComm_t comm, int nranks, const ncclUniqueId *id, int rank,
                                      ncclComm_t *child, ncclConfig_t *config)
{
    if (child == NULL) {
        return nccl_group_fail(nccl_fail(ncclInvalidArgument, "%s: newcomm is NULL", __func__));
    }
    if (comm == NULL) {
        return nccl_init_put(
            &(nccl_init_args_t){__func__, child, nranks, rank, nccl_cuda_device(), id, config, 0});
    }
    nccl_job_t job = {.name = __func__,
                      .run = grow_run,
                      .parent = comm,
                      .handle_p = child,
                      .gives_id = id != NULL};
    if (id != NULL) {
        memcpy(&job.id, id, sizeof job.id);
    }
    return grow_put(&job, nranks, rank, config);
}
NCCL_TWIN(ncclCommGrow);
