/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making and splitting communicators. That waits for other ranks, which may be the same thread's:
 * so each has a thread where there are several, or where the caller does not wait. */
#ifndef BINDINGS_NCCL_JOB_H
#define BINDINGS_NCCL_JOB_H

#include "bindings/nccl/comm.h"

typedef struct nccl_job {
    struct nccl_job *next;
    struct nccl_job *after; /* of the same parent: runs when this one has ended */
    bool follows;
    const char *name; /* of the function */
    /* Makes child->weft; the status is weft's, and so is the thread's error. */
    weft_status_t (*run)(struct nccl_job *job);
    ncclComm_t child;     /* held; NULL: a split that this rank is not in */
    ncclComm_t parent;    /* held, or NULL */
    ncclComm_t *handle_p; /* the program's; NULL after a failure that was waited for */
    weft_unique_id_t id;
    char label[64]; /* what all ranks that join must say alike; "": nothing */
    int color, key;
    uint32_t *members; /* ranks of the parent, which the job frees; NULL: no shrink */
    uint32_t nmembers;
    bool gives_id;       /* of ncclCommGrow: this rank has it */
    const char *mistake; /* of the programs, instead of weft's error; set by run */
    bool waits;          /* for its end */
    ncclResult_t result;
    char text[NCCL_ERROR_BYTES];
    pthread_t thread;
} nccl_job_t;

/* A copy of the job on the heap. NULL: there is no memory, which is recorded, and the job is
 * dropped like those of nccl_jobs_drop(). */
nccl_job_t *nccl_job_new(const nccl_job_t *what);
/* Runs the jobs of a list and frees them. If all wait, returns the first failure or success; else
 * ncclInProgress: the state of each handle then tells. */
ncclResult_t nccl_jobs_run(nccl_job_t *first);
/* Frees the jobs of a list as if they had failed with the last error. */
void nccl_jobs_drop(nccl_job_t *first);

#endif
