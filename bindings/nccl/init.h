/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Joining with an id. */
#ifndef BINDINGS_NCCL_INIT_H
#define BINDINGS_NCCL_INIT_H

#include "bindings/nccl/job.h"

typedef struct nccl_init_args {
    const char *name; /* of the function */
    ncclComm_t *comm_p;
    int nranks, rank, device;
    const ncclUniqueId *id;
    const ncclConfig_t *config;
    int nids; /* at `id`; 0: one, and the function is told of no others */
} nccl_init_args_t;

/* Joins, or notes it in the open group. */
ncclResult_t nccl_init_put(const nccl_init_args_t *args);
/* A job's run: job->child joins with job->id. */
weft_status_t nccl_init_run(nccl_job_t *job);

#endif
