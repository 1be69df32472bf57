/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Jobs and their threads. */
#include "bindings/nccl/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/sdk/quiet_thread.h>

/* A parent is in progress until the last of its jobs has ended. Its first failure stays. */
static void job_settle_parent(const nccl_job_t *job)
{
    const bool untold =
        atomic_load_explicit(&job->parent->state, memory_order_relaxed) == ncclInProgress;
    if (untold && (job->after == NULL || job->result != ncclSuccess)) {
        nccl_comm_settle(job->parent, job->result, job->text);
    }
}

/* The communicator is made, or not: tells the handles. */
static void job_settle(nccl_job_t *job)
{
    if (job->child != NULL) {
        nccl_comm_set_maker(job->child, NULL);
        if (job->waits && job->result != ncclSuccess) {
            *job->handle_p = NULL;
            (void)nccl_comm_close(job->name, job->child);
        } else {
            nccl_comm_settle(job->child, job->result, job->text);
        }
    }
    if (job->parent != NULL && !job->waits) {
        job_settle_parent(job);
    }
}

static void job_let_go(const nccl_job_t *job)
{
    nccl_comm_release(job->child);
    nccl_comm_release(job->parent);
    free(job->members);
}

static void job_free(nccl_job_t *job)
{
    job_let_go(job);
    free(job);
}

/* It does not run: the program gets no handle, and the parent is as it was. */
static void job_drop(nccl_job_t *job)
{
    job->result = ncclInvalidUsage;
    job->waits = true;
    job_settle(job);
    job_let_go(job);
}

nccl_job_t *nccl_job_new(const nccl_job_t *what)
{
    nccl_job_t *job = malloc(sizeof *job);
    if (job == NULL) {
        nccl_job_t dropped = *what;
        job_drop(&dropped);
        nccl_fail(ncclSystemError, "%s: no memory for a job", what->name);
        return NULL;
    }
    *job = *what;
    if (job->child != NULL) {
        job->child->awaited = job->waits;
    }
    return job;
}

static void job_run(nccl_job_t *job)
{
    weft_status_t status = job->run(job);
    job->result = job->mistake != NULL
                      ? nccl_fail(ncclInvalidUsage, "%s: %s", job->name, job->mistake)
                      : nccl_report(job->name, status, NULL);
    if (job->result != ncclSuccess) {
        snprintf(job->text, sizeof job->text, "%s", nccl_error_text());
    }
    if (job->result == ncclTimeout && job->label[0] != '\0') {
        nccl_fail(ncclTimeout, "%s; ranks meet at the first of several ids", job->text);
        snprintf(job->text, sizeof job->text, "%s", nccl_error_text());
    }
    job_settle(job);
    if (!job->waits) {
        job_free(job);
    }
}

static void *job_thread(void *arg)
{
    nccl_job_t *job = arg;
    (void)pthread_setname_np(pthread_self(), "weft-job");
    while (job != NULL) {
        nccl_job_t *after = job->after;
        job_run(job);
        job = after;
    }
    return NULL;
}

/* Starts a thread for the job and those that follow it; without one they fail. */
static bool job_start(nccl_job_t *job)
{
    const bool waits = job->waits; /* else the job is gone when it has ended */
    pthread_t thread;
    int error = weft_quiet_thread_create(&thread, NULL, job_thread, job);
    if (error == 0) {
        if (waits) {
            job->thread = thread;
        } else {
            pthread_detach(thread);
        }
        return true;
    }
    for (nccl_job_t *each = job; each != NULL; each = each->after) {
        each->result = nccl_fail(ncclSystemError, "%s: cannot start a thread: %s", each->name,
                                 strerror(error));
        snprintf(each->text, sizeof each->text, "%s", nccl_error_text());
        job_settle(each);
    }
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

/* Jobs of one parent follow each other, as its operations do, in the order of the calls. */
static void jobs_chain(nccl_job_t *first)
{
    for (nccl_job_t *job = first; job != NULL; job = job->next) {
        nccl_job_t *later = job->parent != NULL ? job->next : NULL;
        while (later != NULL && later->parent != job->parent) {
            later = later->next;
        }
        job->after = later;
        if (later != NULL) {
            later->follows = true;
        }
    }
}

static ncclResult_t jobs_wait(nccl_job_t *first)
{
    ncclResult_t result = ncclSuccess;
    jobs_chain(first);
    for (nccl_job_t *job = first; job != NULL; job = job->next) {
        job->waits = true;
        job->thread = pthread_self(); /* none of its own */
    }
    for (nccl_job_t *job = first; job != NULL; job = job->next) {
        if (!job->follows) {
            job_start(job);
        }
    }
    for (nccl_job_t *job = first; job != NULL; job = job->next) {
        if (!pthread_equal(job->thread, pthread_self())) {
            pthread_join(job->thread, NULL);
        }
    }
    while (first != NULL) {
        nccl_job_t *next = first->next;
        result = job_end(first, result);
        first = next;
    }
    return result;
}

/* Leaves those in the list that follow no other: `after` has the rest. */
static void jobs_unlink_followers(nccl_job_t *first)
{
    for (nccl_job_t *job = first; job != NULL; job = job->next) {
        while (job->next != NULL && job->next->follows) {
            job->next = job->next->next;
        }
    }
}

/* A detached job frees itself: its fields are gone once it, or the one before it, has started. */
static ncclResult_t jobs_detach(nccl_job_t *first)
{
    jobs_chain(first);
    for (nccl_job_t *job = first; job != NULL; job = job->next) {
        job->waits = false;
        if (job->parent != NULL) {
            nccl_comm_settle(job->parent, ncclInProgress, "");
        }
    }
    jobs_unlink_followers(first);
    while (first != NULL) {
        nccl_job_t *next = first->next, *unstarted = job_start(first) ? NULL : first;
        while (unstarted != NULL) {
            nccl_job_t *after = unstarted->after;
            job_free(unstarted);
            unstarted = after;
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
    for (nccl_job_t *job = first; job != NULL; job = job->next) {
        if (job->child != NULL) {
            job->child->awaited = wait;
        }
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
        job_drop(first);
        free(first);
        first = next;
    }
}
