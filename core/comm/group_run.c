/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A closed group runs: its operations are started together, and progress together. */
#include "core/comm/group_run.h"

#include <errno.h>
#include <stdio.h>

#include "core/base/error.h"
#include "core/comm/args_check.h"
#include "core/comm/call.h"
#include "core/comm/engine.h"
#include "core/comm/group_fusion.h"
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

/* A fused call is submitted with the first of its fusion. */
static void group_submit(weft_group_note_t *note, uint64_t now)
{
    if (note->fusion != NULL) {
        weft_request_begin(&note->fusion->request, now);
        weft_submit(note->state, &note->fusion->request);
        note->fusion = NULL;
    } else if (!note->fused) {
        weft_submit(note->state, note->request);
    }
}

static weft_status_t group_append_all(const weft_group_t *group)
{
    uint64_t now = weft_os_clock_ns();
    weft_status_t status = WEFT_OK;
    for (weft_group_note_t *note = group->first; note != NULL && status == WEFT_OK;
         note = note->next) {
        if (note->owner != WEFT_GROUP_STREAM) {
            note->started = note->request->appended = true;
            note->request->error_p = note->owner == WEFT_GROUP_WAITS ? &note->error : NULL;
            weft_request_begin(note->request, now);
            group_submit(note, now);
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

static bool group_call_is_patient(const weft_call_t *call)
{
    return call->size >= WEFT_CALL_WITH_PATIENCE && call->patience > 0 && call->request_p != NULL;
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

/* Starts all operations of the group. On failure those that were begun have ended. */
static weft_status_t group_start(weft_group_t *group, weft_group_member_t *members, uint32_t count,
                                 weft_request_t *whole)
{
    weft_status_t status = group_bind_parts(group, whole);
    status = status == WEFT_OK ? group_make_ready(group) : status;
    if (status == WEFT_OK && group->notes > count) { /* a communicator has several calls */
        status = weft_group_fuse(group);
    }
    if (status != WEFT_OK) {
        return status;
    }
    group_prepare(group, members, count);
    status = group_append_all(group);
    if (status != WEFT_OK) {
        group_drive_rest(group, members, count);
    }
    return status;
}

/* Waits for the operations that were started, or leaves that to the request. */
static weft_status_t group_complete(weft_group_t *group, weft_group_member_t *members,
                                    uint32_t count, weft_request_t **whole_p,
                                    const weft_call_t *call)
{
    if (*whole_p == NULL) {
        group_drive(group, members, count);
        return group_collect(group);
    }
    if (group_call_is_patient(call)) {
        return group_let_go_patiently(whole_p, call, members, count);
    }
    group_let_go(*whole_p, call, members, count);
    return WEFT_OK;
}

static weft_status_t group_run(weft_group_t *group, weft_group_member_t *members,
                               weft_request_t **whole_p, const weft_call_t *call)
{
    uint32_t count = 0;
    weft_status_t status = weft_group_enter(group, members, &count);
    if (status != WEFT_OK) {
        return status;
    }
    status = group_start(group, members, count, *whole_p);
    if (status == WEFT_OK) {
        status = group_complete(group, members, count, whole_p, call);
        weft_group_forget(group, true);
    }
    weft_group_leave(members, count);
    return status;
}

weft_status_t weft_group_run(weft_group_t *group, weft_request_t **whole_p, const weft_call_t *call)
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
