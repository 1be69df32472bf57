/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Entry points of groups: the noted operations progress together when the group ends. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/comm/args_check.h"
#include "core/comm/call.h"
#include "core/comm/group.h"
#include "core/comm/group_run.h"

/* Ends what has a request or a queue of its own and was not begun. The request may be anywhere by
 * now: the variable that its call was given belongs to the caller again, and may be gone. */
static void group_end_unbegun(const weft_group_t *group, weft_status_t status)
{
    for (weft_group_note_t *note = group->first; note != NULL; note = note->next) {
        if (note->owner == WEFT_GROUP_OWN_REQUEST && !note->started) {
            note->started = true;
            note->request->appended = true;
            weft_async_end(note->request->async, status);
        }
    }
}

/* Drops a group that failed with `status`. Its error stays the thread's. */
static void group_give_up(weft_group_t *group, weft_status_t status, weft_request_t *whole)
{
    weft_error_t kept = *weft_error_record();
    group_end_unbegun(group, status);
    weft_group_forget(group, false);
    if (whole != NULL) {
        weft_request_free(whole);
    }
    *weft_error_record() = kept;
}

/* Runs the closed group. `call`: of its request; NULL: waits for the end. */
static weft_status_t group_finish(weft_group_t *group, const weft_call_t *call)
{
    weft_request_t *whole = NULL;
    weft_status_t status = group->failed;
    if (status != WEFT_OK) {
        weft_group_raise();
    } else if (call != NULL) {
        uint32_t room = group->notes > 0 ? group->notes : 1;
        status = weft_request_create_group(call, room, &whole);
    }
    if (status == WEFT_OK && (group->notes > 0 || whole != NULL)) {
        status = weft_group_run(group, &whole, call);
    }
    if (status != WEFT_OK) {
        group_give_up(group, status, whole);
    } else {
        weft_group_forget(group, false);
    }
    return status;
}

/* Drops the group that the thread leaves open. */
static void group_end_with_thread(void)
{
    weft_group_t group;
    if (!weft_group_is_open()) {
        return;
    }
    while (!weft_group_close(&group)) {
    }
    if (group.notes > 0) {
        weft_log(WEFT_LOG_WARN, "group",
                 "a thread ended with an open group, whose %" PRIu32
                 " call%s dropped: call weft_group_end() first",
                 group.notes, group.notes > 1 ? "s are" : " is");
    }
    group_end_unbegun(&group, weft_fail(WEFT_ERR_STATE, 0,
                                        "the thread that opened the group ended without "
                                        "weft_group_end()"));
    weft_group_forget(&group, false);
}

static const weft_os_thread_end_t group_thread_end = {group_end_with_thread};

weft_status_t weft_group_start(void)
{
    if (!weft_group_is_open()) {
        weft_os_at_thread_end(&group_thread_end);
    }
    weft_group_open();
    return WEFT_OK;
}

static weft_status_t group_result(weft_status_t status)
{
    return status == WEFT_OK ? status : weft_api_error("group", status);
}

static weft_status_t group_refuse_closed(const char *call)
{
    return group_result(weft_fail(WEFT_ERR_ARG, 0, "%s: no group is open", call));
}

weft_status_t weft_group_end(void)
{
    weft_group_t group;
    if (!weft_group_is_open()) {
        return group_refuse_closed("weft_group_end");
    }
    return weft_group_close(&group) ? group_result(group_finish(&group, NULL)) : WEFT_OK;
}

weft_status_t weft_group_cancel(void)
{
    weft_group_t group;
    if (!weft_group_is_open()) {
        return group_refuse_closed("weft_group_cancel");
    }
    (void)weft_group_fail(
        weft_fail(WEFT_ERR_STATE, 0, "the group was cancelled: weft_group_cancel() was called"));
    if (weft_group_close(&group)) {
        weft_group_raise();
        group_give_up(&group, group.failed, NULL);
    }
    return WEFT_OK;
}

/* Smallest weft_call_t that can name a queue. */
#define CALL_WITH_QUEUE (offsetof(weft_call_t, context) + sizeof(void *))

static weft_status_t group_check_call(const weft_call_t *call)
{
    if (call == NULL || call->size < CALL_WITH_QUEUE) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         call == NULL
                             ? "weft_group_end_async: call is NULL"
                             : "weft_group_end_async: set call->size to sizeof(weft_call_t)");
    }
    if (!weft_call_is_async(call)) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "weft_group_end_async: neither request_p nor queue is set; a group whose "
                         "end is waited for ends with weft_group_end()");
    }
    if (call->timeout != 0 || call->scalar != NULL || call->scalar_read != WEFT_SCALAR_AT_CALL ||
        call->stream != NULL || call->source_p != NULL) {
        return weft_fail(
            WEFT_ERR_ARG, 0,
            "weft_group_end_async: only request_p, queue, context and patience may be set; "
            "timeouts and the like belong to the calls of the group");
    }
    if (call->size >= WEFT_CALL_WITH_PATIENCE && isnan(call->patience)) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "weft_group_end_async: weft_call_t.patience is not a number; give "
                         "seconds");
    }
    return weft_group_is_nested()
               ? weft_fail(WEFT_ERR_STATE, 0,
                           "weft_group_end_async: an inner group ends with weft_group_end()")
               : WEFT_OK;
}

weft_status_t weft_group_end_async(const weft_call_t *call)
{
    weft_group_t group;
    if (!weft_group_is_open()) {
        return group_refuse_closed("weft_group_end_async");
    }
    weft_status_t status = group_check_call(call);
    if (status != WEFT_OK) {
        return group_result(status);
    }
    (void)weft_group_close(&group);
    return group_result(group_finish(&group, call));
}
