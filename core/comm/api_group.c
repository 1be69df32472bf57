/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Entry points of groups: the noted operations progress together when the group ends. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/comm/args_check.h"
#include "core/comm/call.h"
#include "core/comm/engine.h"
#include "core/comm/group.h"
#include "core/comm/group_members.h"
#include "core/comm/progress.h"
#include "core/comm/puts.h"
#include "core/comm/stream_prepare.h"
#include "core/comm/streams.h"

/* Groups of so many operations need no memory of the allocator. */
#define GROUP_FEW 8u

/* Gives the operation a request that outlives the group. */
static weft_status_t group_detach(weft_group_note_t *note)
{
    weft_request_t *request = weft_os_alloc(sizeof *request, 0);
    if (request == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate an operation");
    }
    *request = note->own;
    note->own.vectors = NULL;
    note->request = request;
    return WEFT_OK;
}

/* Makes all operations that the group would wait for parts of its request. */
static weft_status_t group_bind_parts(const weft_group_t *group, weft_request_t *whole)
{
    weft_async_group_t *parts = whole != NULL ? weft_request_group(whole) : NULL;
    for (weft_group_note_t *note = group->first; note != NULL && parts != NULL; note = note->next) {
        if (note->owner != WEFT_GROUP_WAITS) {
            continue;
        }
        weft_status_t status = group_detach(note);
        if (status != WEFT_OK) {
            return status;
        }
        weft_async_t *part = &parts->parts[parts->nparts];
        *part = (weft_async_t){
            .entry = {.request = note->request}, .group = parts, .index = parts->nparts++};
        note->request->async = part;
        note->owner = WEFT_GROUP_REQUEST;
        atomic_fetch_add_explicit(&parts->open, 1, memory_order_relaxed);
    }
    return WEFT_OK;
}

/* Does everything that can fail before anything is started. */
static weft_status_t group_make_ready(const weft_group_t *group)
{
    weft_status_t status = WEFT_OK;
    for (const weft_group_note_t *note = group->first; note != NULL && status == WEFT_OK;
         note = note->next) {
        weft_comm_state_t *state = note->state;
        status = weft_submit_open(state, &note->request->args);
        if (status == WEFT_OK && note->owner != WEFT_GROUP_WAITS) {
            status = weft_progress_attach(state);
        }
        if (status == WEFT_OK && note->owner == WEFT_GROUP_STREAM) {
            status = weft_streams_open(state);
        }
    }
    return status;
}

/* Running -------------------------------------------------------------------------------------- */

/* Links the requests that enter a stream together with the note's, those of its communicator that
 * follow it there: they become one launch, or one host wait. A note of another stream, or of none,
 * ends the row, so that the order of the calls is kept. */
static void group_link_row(weft_group_note_t *head)
{
    weft_request_t **last = &head->row;
    for (weft_group_note_t *note = head; note != NULL; note = note->next) {
        if (note->comm == head->comm &&
            (note->owner != WEFT_GROUP_STREAM || note->stream != head->stream)) {
            break;
        }
        if (note->comm == head->comm) {
            note->head = head;
            *last = note->request;
            last = &note->request->next;
        }
    }
    *last = NULL;
}

static void group_link_rows(const weft_group_t *group)
{
    for (weft_group_note_t *note = group->first; note != NULL; note = note->next) {
        if (note->owner == WEFT_GROUP_STREAM && note->head == NULL) {
            group_link_row(note);
        }
    }
}

static weft_status_t group_put_in_stream(weft_group_note_t *head)
{
    weft_status_t status = weft_streams_put(head->state, &head->stream, head->row);
    for (weft_group_note_t *note = head; note != NULL && status == WEFT_OK; note = note->next) {
        note->started |= note->head == head;
    }
    return status;
}

/* Peers may put into a member whose part is done, and nobody else takes it from them meanwhile. */
static bool group_has_to_step(const weft_comm_state_t *state)
{
    return weft_engine_is_busy(state) || weft_puts_listen(state);
}

static bool group_step(weft_group_member_t *members, uint32_t count)
{
    bool moved = false;
    for (uint32_t i = 0; i < count; i++) {
        if (group_has_to_step(members[i].state)) {
            moved |= weft_engine_step(members[i].state);
        }
    }
    return moved;
}

/* True if the communicator has operations in the group that are in no stream: those of streams
 * behind them are the host's. */
static bool group_uses_host(const weft_group_t *group, const weft_comm_t *comm)
{
    const weft_group_note_t *note = group->first;
    while (note != NULL && (note->comm != comm || note->owner == WEFT_GROUP_STREAM)) {
        note = note->next;
    }
    return note != NULL;
}

/* Prepares what goes into streams as far as it goes at once; true: try again. */
static bool group_prepare_step(const weft_group_t *group)
{
    bool again = false;
    for (const weft_group_note_t *note = group->first; note != NULL; note = note->next) {
        if (note->head == note && !group_uses_host(group, note->comm)) {
            again |= weft_stream_prepare_step(note->state, note->row);
        }
    }
    return again;
}

/* As weft_stream_prepare(), of all communicators together: one thread may have several ranks. */
static void group_prepare(const weft_group_t *group, weft_group_member_t *members, uint32_t count)
{
    uint64_t until = 0;
    if (group->in_streams == 0) {
        return;
    }
    group_link_rows(group);
    while (group_prepare_step(group)) {
        uint64_t now = weft_os_clock_ns();
        until = until == 0 ? now + WEFT_STREAM_PREPARE_NS : until;
        if (now > until) {
            return;
        }
        if (!group_step(members, count)) {
            weft_waiter_nap(&members[0].state->waiter);
        }
    }
}

static weft_status_t group_append_all(const weft_group_t *group)
{
    uint64_t now = weft_os_clock_ns();
    weft_status_t status = WEFT_OK;
    for (weft_group_note_t *note = group->first; note != NULL && status == WEFT_OK;
         note = note->next) {
        if (note->owner != WEFT_GROUP_STREAM) {
            note->started = true;
            note->request->error_p = note->owner == WEFT_GROUP_WAITS ? &note->error : NULL;
            weft_request_begin(note->request, now);
            weft_submit(note->state, note->request);
        } else if (!note->started) { /* not with the head of its row */
            status = group_put_in_stream(note);
        }
    }
    return status;
}

/* True if the group has to wait for it. */
static bool group_is_awaited(const weft_group_note_t *note)
{
    return note->started && (note->owner == WEFT_GROUP_WAITS || note->owner == WEFT_GROUP_REQUEST);
}

/* Finds the first operation that the group still waits for, from `note` on. */
static weft_group_note_t *group_first_waiting(weft_group_note_t *note)
{
    while (note != NULL && (!group_is_awaited(note) || note->request->state == WEFT_OP_DONE)) {
        note = note->next;
    }
    return note;
}

/* One idle step. With several communicators none may sleep alone: the group sleeps on the ports of
 * all, or naps. */
static void group_wait(weft_group_member_t *members, uint32_t count)
{
    weft_waiter_t *waiter = &members[0].state->waiter;
    if (weft_waiter_stays_awake(waiter, true)) {
        return;
    }
    weft_blocked_t blocked;
    weft_blocked_init(&blocked);
    for (uint32_t i = 0; i < count; i++) {
        if (group_has_to_step(members[i].state)) {
            weft_engine_find_blocked(members[i].state, &blocked);
            blocked.more |= weft_links_are_mixed(members[i].state->links);
        }
    }
    weft_waiter_sleep(waiter, NULL, &blocked);
}

static void group_drive_all(weft_group_note_t *note, weft_group_member_t *members, uint32_t count)
{
    weft_waiter_t *waiter = &members[0].state->waiter;
    while ((note = group_first_waiting(note)) != NULL) {
        if (group_step(members, count)) {
            weft_waiter_reset(waiter);
            continue;
        }
        if (!weft_waiter_spins(waiter)) {
            for (uint32_t i = 0; i < count; i++) {
                weft_submit_look_soon(members[i].state);
            }
        }
        group_wait(members, count);
    }
}

static void group_drive(weft_group_t *group, weft_group_member_t *members, uint32_t count)
{
    if (count > 1) {
        group_drive_all(group->first, members, count);
        return;
    }
    for (weft_group_note_t *note = group->first; (note = group_first_waiting(note)) != NULL;) {
        weft_engine_drive(members[0].state, note->request);
    }
}

/* Drives what was begun before the group failed. Its error stays the thread's. */
static void group_drive_rest(weft_group_t *group, weft_group_member_t *members, uint32_t count)
{
    weft_error_t kept = *weft_error_record();
    group_drive(group, members, count);
    *weft_error_record() = kept;
}

/* Makes the failure of one call the thread's error, with its reason. */
static weft_status_t group_raise(const weft_group_note_t *note)
{
    const weft_request_t *request = note->request;
    const char *call = weft_args_call(&request->args);
    if (note->error == NULL) {
        return weft_fail(request->status, 0, "%s in a group: %s", call,
                         weft_status_text(request->status));
    }
    weft_error_t *error = weft_error_record();
    *error = *note->error;
    snprintf(error->text, sizeof error->text, "%s in a group: %.440s", call, note->error->text);
    return request->status;
}

/* The first failure in order of the calls becomes the thread's error. */
static weft_status_t group_collect(const weft_group_t *group)
{
    for (const weft_group_note_t *note = group->first; note != NULL; note = note->next) {
        if (!group_is_awaited(note) || note->request->status >= 0) {
            continue;
        }
        return weft_comm_has_failed(note->state) ? weft_comm_failure(note->state)
                                                 : group_raise(note);
    }
    return WEFT_OK;
}

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

/* Lets the request go its way: nobody waits for its operations here. */
static void group_let_go(weft_request_t *whole, const weft_call_t *call,
                         const weft_group_member_t *members, uint32_t count)
{
    weft_async_group_t *parts = weft_request_group(whole);
    for (uint32_t i = 0; i < count && parts->nparts > 0; i++) {
        parts->comms[parts->ncomms++] = members[i].comm;
    }
    if (call->request_p != NULL) {
        *call->request_p = whole;
    }
    weft_async_group_end(parts);
}

/* Smallest weft_call_t that can be patient. */
#define CALL_WITH_PATIENCE (offsetof(weft_call_t, patience) + sizeof(double))

static bool group_call_is_patient(const weft_call_t *call)
{
    return call->size >= CALL_WITH_PATIENCE && call->patience > 0 && call->request_p != NULL;
}

/* Drives the communicators until the request is done or the time has come, or somebody else wants
 * one of them. */
static void group_drive_request(const weft_request_t *whole, weft_group_member_t *members,
                                uint32_t count, uint64_t until)
{
    bool wanted = false;
    if (count == 1) {
        weft_engine_drive_async(members[0].state, whole->async, until);
        return;
    }
    while (!weft_async_is_done(whole->async) && !wanted && weft_os_clock_ns() < until) {
        if (!group_step(members, count)) {
            group_wait(members, count);
        }
        for (uint32_t i = 0; i < count; i++) {
            wanted |= weft_comm_is_wanted(members[i].state);
        }
    }
}

/* Lets the request go, and waits for it as long as its call allows. As with single calls, a queue
 * is told only of what takes longer. Sets *whole_p to NULL, and returns the request's own status,
 * if it has ended. */
static weft_status_t group_let_go_patiently(weft_request_t **whole_p, const weft_call_t *call,
                                            weft_group_member_t *members, uint32_t count)
{
    weft_async_t *async = (*whole_p)->async;
    weft_completion_state_t *queue = weft_async_leave_queue(async);
    group_let_go(*whole_p, call, members, count);
    group_drive_request(*whole_p, members, count, weft_os_deadline(call->patience));
    if (!weft_async_is_done(async)) {
        weft_async_rejoin_queue(async, queue);
        return WEFT_OK;
    }
    weft_async_give_up_queue(async, queue);
    *whole_p = NULL;
    return weft_request_end(call->request_p);
}

/* `whole_p`: the request of the group, whose caller's options are `call`; NULL in it: waits for the
 * end. It is NULL afterwards if the request has ended. */
static weft_status_t group_run(weft_group_t *group, weft_group_member_t *members,
                               weft_request_t **whole_p, const weft_call_t *call)
{
    uint32_t count = 0;
    weft_status_t status = weft_group_enter(group, members, &count);
    if (status != WEFT_OK) {
        return status;
    }
    status = group_bind_parts(group, *whole_p);
    status = status == WEFT_OK ? group_make_ready(group) : status;
    if (status == WEFT_OK) {
        group_prepare(group, members, count);
        status = group_append_all(group);
        if (status == WEFT_OK && *whole_p != NULL) {
            if (group_call_is_patient(call)) {
                status = group_let_go_patiently(whole_p, call, members, count);
            } else {
                group_let_go(*whole_p, call, members, count);
            }
            weft_group_leave(members, count);
            return status;
        }
        if (status == WEFT_OK) {
            group_drive(group, members, count);
            status = group_collect(group);
        } else {
            group_drive_rest(group, members, count);
            group_end_unbegun(group, status);
        }
        weft_group_forget(group, true);
    }
    weft_group_leave(members, count);
    return status;
}

/* Runs a group that has not failed. */
static weft_status_t group_begin(weft_group_t *group, weft_request_t **whole_p,
                                 const weft_call_t *call)
{
    weft_group_member_t few[GROUP_FEW], *members = few;
    if (group->notes > GROUP_FEW) {
        members = weft_os_alloc(group->notes * sizeof *members, 0);
        if (members == NULL) {
            return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot run a group");
        }
    }
    /* The failure of an earlier call is no reason of one that gives none. */
    weft_error_t *last = weft_error_record();
    const weft_status_t earlier = last->status;
    last->status = WEFT_OK;
    weft_status_t status = group_run(group, members, whole_p, call);
    if (last->status == WEFT_OK) {
        last->status = earlier;
    }
    if (members != few) {
        weft_os_free(members);
    }
    return status;
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

/* Runs the closed group. `call`: as group_run(). */
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
        status = group_begin(group, &whole, call);
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
    if (call->size >= CALL_WITH_PATIENCE && isnan(call->patience)) {
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
