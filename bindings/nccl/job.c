/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Jobs and their threads. */
#include "bindings/nccl/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

nccl_job_t *nccl_job_new(const nccl_job_t *what)
{
    nccl_job_t *job = malloc(sizeof *job);
    if (job == NULL) {
        nccl_fail(ncclSystemError, "%s: no memory for a job", what->name);
        return NULL;
    }
    *job = *what;
    return job;
}

/* The communicator is made, or not: tells the handles. */
static void job_settle(nccl_job_t *job)
{
    if (job->child != NULL) {
        if (job->waits && job->result != ncclSuccess) {
            *job->handle_p = NULL;
            nccl_comm_release(job->child); /* the program's */
        } else {
            nccl_comm_settle(job->child, job->result, job->text);
        }
    }
    if (job->parent != NULL && !job->waits) {
        nccl_comm_settle(job->parent, job->result, job->text);
    }
}

static void job_free(nccl_job_t *job)
{
    nccl_comm_release(job->child);
    nccl_comm_release(job->parent);
    free(job->members);
    free(job);
}

static void *job_run(void *arg)
{
    nccl_job_t *job = arg;
    job->result = nccl_report(job->name, job->run(job), NULL);
    if (job->result != ncclSuccess) {
        snprintf(job->text, sizeof job->text, "%s", nccl_error_text());
    }
    job_settle(job);
    if (!job->waits) {
        job_free(job);
    }
    return NULL;
}

/* Starts a thread for the job; without one the job fails. */
static bool job_start(nccl_job_t *job)
{
    const bool waits = job->waits; /* else the job is gone when it has ended */
    pthread_t thread;
    int error = pthread_create(&thread, NULL, job_run, job);
    if (error == 0) {
        if (waits) {
            job->thread = thread;
        } else {
            pthread_detach(thread);
        }
        return true;
    }
    job->result =
        nccl_fail(ncclSystemError, "%s: cannot start a thread: %s", job->name, strerror(error));
    snprintf(job->text, sizeof job->text, "%s", nccl_error_text());
    job_settle(job);
    return false;
}

/* Frees a job that was waited for; returns the first failure. */
static ncclResult_t job_end(nccl_job_t *job, ncclResult_t result)
{
    if (result == ncclSuccess && job->result != ncclSuccess) {
        result = job->result;
        nccl_error_take(job->text);
    }
    job_free(job);
    return result;
}

static ncclResult_t jobs_wait(nccl_job_t *first)
{
    ncclResult_t result = ncclSuccess;
    for (nccl_job_t *job = first; job != NULL; job = job->next) {
        job->waits = true;
        if (!job_start(job)) {
            job->thread = pthread_self();
        }
    }
    while (first != NULL) {
        nccl_job_t *next = first->next;
        if (!pthread_equal(first->thread, pthread_self())) {
            pthread_join(first->thread, NULL);
        }
        result = job_end(first, result);
        first = next;
    }
    return result;
}

/* A detached job frees itself: its fields are gone once it has started. */
static ncclResult_t jobs_detach(nccl_job_t *first)
{
    while (first != NULL) {
        nccl_job_t *next = first->next;
        first->waits = false;
        if (!job_start(first)) {
            job_free(first);
        }
        first = next;
    }
    return ncclInProgress;
}

ncclResult_t nccl_jobs_run(nccl_job_t *first)
{
    bool wait = true;
    for (nccl_job_t *job = first; job != NULL; job = job->next) {
        wait = wait && job->waits;
    }
    if (!wait) {
        return jobs_detach(first);
    }
    if (first != NULL && first->next == NULL) {
        job_run(first);
        return job_end(first, ncclSuccess);
    }
    return jobs_wait(first);
}

void nccl_jobs_drop(nccl_job_t *first)
{
    while (first != NULL) {
        nccl_job_t *next = first->next;
        first->result = ncclInvalidUsage;
        first->waits = true;
        job_settle(first);
        job_free(first);
        first = next;
    }
}
