/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Groups. Nothing of a group begins before its end: then its communicators are made, and after
 * them its operations start as one group of weft. */
#include "bindings/nccl/group.h"

#include <stdlib.h>
#include <string.h>

#include "bindings/nccl/functions.h"
#include "bindings/nccl/refusal.h"

/* Whether the communicators of a group wait in the calls that make others of them. */
typedef enum group_mode { GROUP_ANY, GROUP_BLOCKING, GROUP_NONBLOCKING } group_mode_t;

typedef struct group {
    uint32_t depth;
    group_mode_t mode;
    ncclResult_t failed; /* of the first call that failed */
    char text[NCCL_ERROR_BYTES];
    nccl_call_t *first_call, **end_call;
    nccl_job_t *first_job, **end_job;
} group_t;

/* Static by thread: so is a group. */
static _Thread_local group_t open_group;

ncclResult_t nccl_group_fail(ncclResult_t result)
{
    const bool failure = result != ncclSuccess && result != ncclInProgress;
    if (open_group.depth > 0 && failure && open_group.failed == ncclSuccess) {
        open_group.failed = result;
        strncpy(open_group.text, nccl_error_text(), sizeof open_group.text - 1);
    }
    return result;
}

static group_mode_t group_mode_of(ncclComm_t comm)
{
    return comm->blocking ? GROUP_BLOCKING : GROUP_NONBLOCKING;
}

ncclResult_t nccl_group_call(const nccl_call_t *call)
{
    if (open_group.depth == 0) {
        nccl_retired_end(call->comm->weft, &call->comm->retired);
        ncclResult_t result = nccl_call_start(call);
        nccl_call_release(call);
        return result;
    }
    nccl_call_t *note = malloc(sizeof *note);
    if (note == NULL) {
        nccl_call_release(call);
        return nccl_group_fail(nccl_fail(ncclSystemError, "%s: no memory in a group", call->name));
    }
    open_group.mode = group_mode_of(call->comm);
    *note = *call;
    note->next = NULL;
    *open_group.end_call = note;
    open_group.end_call = &note->next;
    return ncclSuccess;
}

/* One end cannot both wait and return at once. NCCL refuses what makes communicators so, and lets
 * operations mix. */
static ncclResult_t group_check_mode(const nccl_job_t *job)
{
    const group_mode_t mode = group_mode_of(job->parent != NULL ? job->parent : job->child);
    if (open_group.mode != GROUP_ANY && open_group.mode != mode) {
        return nccl_fail(ncclInvalidArgument,
                         "%s: communicators with blocking = 0 and others cannot be in one group; "
                         "make a group for each kind",
                         job->name);
    }
    open_group.mode = mode;
    return ncclSuccess;
}

ncclResult_t nccl_group_job(const nccl_job_t *what)
{
    nccl_job_t *job = nccl_job_new(what);
    if (job == NULL) {
        return nccl_group_fail(ncclSystemError);
    }
    if (open_group.depth == 0) {
        return nccl_jobs_run(job);
    }
    ncclResult_t result = group_check_mode(job);
    if (result != ncclSuccess) {
        nccl_jobs_drop(job);
        return nccl_group_fail(result);
    }
    *open_group.end_job = job;
    open_group.end_job = &job->next;
    return ncclSuccess;
}

static void calls_drop(nccl_call_t *first)
{
    while (first != NULL) {
        nccl_call_t *next = first->next;
        nccl_call_release(first);
        free(first);
        first = next;
    }
}

/* weft keeps the first failure of the calls for the end of its group. */
static ncclResult_t calls_start(const char *end, const nccl_call_t *first)
{
    ncclResult_t result = ncclSuccess;
    if (first == NULL) {
        return ncclSuccess;
    }
    for (const nccl_call_t *call = first; call != NULL; call = call->next) {
        /* Windows cannot within weft's group. */
        nccl_retired_end(call->comm->weft, &call->comm->retired);
    }
    weft_group_start();
    for (const nccl_call_t *call = first; call != NULL && result == ncclSuccess;
         call = call->next) {
        result = nccl_call_start(call);
    }
    weft_status_t status = weft_group_end();
    return result != ncclSuccess ? result : nccl_report(end, status, NULL);
}

/* Operations follow what is made of their communicator: a group with both waits for all it
 * makes. */
static void group_wait_for_parents(const group_t *group)
{
    bool both = false;
    for (const nccl_job_t *job = group->first_job; job != NULL; job = job->next) {
        for (const nccl_call_t *call = group->first_call; call != NULL; call = call->next) {
            both = both || call->comm == job->parent;
        }
    }
    for (nccl_job_t *job = group->first_job; job != NULL && both; job = job->next) {
        job->waits = true;
    }
}

/* Takes what the thread has noted, and closes its group. */
static group_t group_take(void)
{
    group_t group = open_group;
    memset(&open_group, 0, sizeof open_group);
    return group;
}

static ncclResult_t group_drop(group_t *group)
{
    calls_drop(group->first_call);
    nccl_jobs_drop(group->first_job);
    nccl_error_take(group->text);
    return group->failed;
}

static ncclResult_t group_not_open(const char *call)
{
    return nccl_fail(ncclInvalidUsage, "%s: no group is open in this thread", call);
}

/* Drops the group that the thread leaves open. The variables that have the handles of its jobs may
 * have gone with the thread's stack: so these are handles given back. */
static void group_end_with_thread(void *unused)
{
    ncclComm_t gone;
    unsigned calls = 0;
    (void)unused;
    if (open_group.depth == 0) {
        return;
    }
    group_t group = group_take();
    for (const nccl_call_t *call = group.first_call; call != NULL; call = call->next) {
        calls++;
    }
    for (nccl_job_t *job = group.first_job; job != NULL; job = job->next) {
        job->handle_p = &gone;
        calls++;
    }
    if (calls > 0) {
        nccl_fail(ncclInvalidUsage,
                  "a thread ended with an open group, whose %u calls are dropped: call "
                  "ncclGroupEnd first",
                  calls);
    }
    calls_drop(group.first_call);
    nccl_jobs_drop(group.first_job);
}

static pthread_once_t end_once = PTHREAD_ONCE_INIT;
static pthread_key_t end_key;
static bool end_key_made;

static void group_end_init(void)
{
    end_key_made = pthread_key_create(&end_key, group_end_with_thread) == 0;
}

void nccl_group_start(void)
{
    if (open_group.depth++ == 0) {
        open_group.end_call = &open_group.first_call;
        open_group.end_job = &open_group.first_job;
        (void)pthread_once(&end_once, group_end_init);
        if (end_key_made) {
            (void)pthread_setspecific(end_key, &open_group);
        }
    }
}

ncclResult_t nccl_group_end(const char *call)
{
    if (open_group.depth == 0) {
        return group_not_open(call);
    }
    if (--open_group.depth > 0) {
        return ncclSuccess;
    }
    group_t group = group_take();
    if (group.failed != ncclSuccess) {
        return group_drop(&group);
    }
    group_wait_for_parents(&group);
    ncclResult_t result = nccl_jobs_run(group.first_job);
    if (result == ncclSuccess || result == ncclInProgress) {
        ncclResult_t started = calls_start(call, group.first_call);
        result = started != ncclSuccess ? started : result;
    }
    calls_drop(group.first_call);
    return result;
}

NCCL_EXPORT ncclResult_t ncclGroupStart(void)
{
    nccl_group_start();
    return ncclSuccess;
}
NCCL_TWIN(ncclGroupStart);

NCCL_EXPORT ncclResult_t ncclGroupEnd(void)
{
    return nccl_group_end(__func__);
}
NCCL_TWIN(ncclGroupEnd);

/* `size` is as far as the program's header knows the struct; it grows at its end. */
static ncclResult_t group_check_info(const ncclSimInfo_t *info)
{
    if (info == NULL || info->magic != NCCL_SIM_INFO_MAGIC || info->size < sizeof *info) {
        return nccl_fail(ncclInvalidArgument,
                         "ncclGroupSimulateEnd: info is NULL, or was not set with "
                         "NCCL_SIM_INFO_INITIALIZER");
    }
    return ncclSuccess;
}

/* Communicators that the group would make are not there yet: such a group has no price. */
static ncclResult_t group_predict(const group_t *group, ncclSimInfo_t *info)
{
    nccl_price_t price = {.collectives = 0};
    ncclResult_t result = group_check_info(info);
    if (result == ncclSuccess && group->first_job != NULL) {
        result = nccl_refuse("ncclGroupSimulateEnd", "the group makes communicators");
    }
    for (const nccl_call_t *c = group->first_call; c != NULL && result == ncclSuccess;
         c = c->next) {
        result = nccl_call_predict(c, &price);
    }
    if (result == ncclSuccess) {
        const double messages = price.sends > price.receives ? price.sends : price.receives;
        info->estimatedTime = (float)((price.collectives + messages) * 1e6);
    }
    return result;
}

NCCL_EXPORT ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *info)
{
    if (open_group.depth == 0) {
        return group_not_open(__func__);
    }
    group_t group = group_take();
    if (group.failed == ncclSuccess) {
        group.failed = group_predict(&group, info);
        strncpy(group.text, nccl_error_text(), sizeof group.text - 1);
    }
    return group_drop(&group);
}
NCCL_TWIN(ncclGroupSimulateEnd);
