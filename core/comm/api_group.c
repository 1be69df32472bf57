/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Entry points of groups: the noted operations progress together when the group ends. */
#include <errno.h>

#include "core/base/error.h"
#include "core/comm/call.h"
#include "core/comm/engine.h"
#include "core/comm/group.h"
#include "core/comm/handle.h"
#include "core/comm/progress.h"
#include "core/comm/streams.h"

/* A communicator that the group uses, held while it runs. */
typedef struct group_member {
    weft_comm_t *comm;
    weft_comm_state_t *state;
} group_member_t;

weft_status_t weft_group_start(void)
{
    weft_group_open();
    return WEFT_OK;
}

/* Members -------------------------------------------------------------------------------------- */

static group_member_t *group_find_member(group_member_t *members, uint32_t count, weft_comm_t *comm)
{
    for (uint32_t i = 0; i < count; i++) {
        if (members[i].comm == comm) {
            return &members[i];
        }
    }
    return NULL;
}

static void group_leave_all(const group_member_t *members, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        weft_comm_leave(members[i].state);
    }
}

/* Takes every communicator of the group for this thread. */
static weft_status_t group_enter_all(const weft_group_t *group, group_member_t *members,
                                     uint32_t *count_p)
{
    uint32_t count = 0;
    for (const weft_group_note_t *note = group->first; note != NULL; note = note->next) {
        if (group_find_member(members, count, note->comm) != NULL) {
            continue;
        }
        weft_status_t status = weft_comm_enter(note->comm, "weft_group_end", &members[count].state);
        if (status != WEFT_OK) {
            group_leave_all(members, count);
            return status;
        }
        members[count++].comm = note->comm;
    }
    *count_p = count;
    return WEFT_OK;
}

/* Makes all operations that the group would wait for parts of its request. */
static void group_bind_parts(const weft_group_t *group, weft_request_t *whole)
{
    weft_async_group_t *parts = whole != NULL ? weft_request_group(whole) : NULL;
    for (weft_group_note_t *note = group->first; note != NULL && parts != NULL; note = note->next) {
        if (note->async || note->in_stream) {
            continue;
        }
        weft_async_t *part = &parts->parts[parts->nparts];
        *part = (weft_async_t){
            .entry = {.request = note->request}, .group = parts, .index = parts->nparts++};
        note->request->async = part;
        note->part = true;
        atomic_fetch_add_explicit(&parts->open, 1, memory_order_relaxed);
    }
}

/* Does everything that can fail before anything is started. */
static weft_status_t group_make_ready(const weft_group_t *group, group_member_t *members,
                                      uint32_t count)
{
    weft_status_t status = WEFT_OK;
    for (const weft_group_note_t *note = group->first; note != NULL && status == WEFT_OK;
         note = note->next) {
        weft_comm_state_t *state = group_find_member(members, count, note->comm)->state;
        if (note->request->args.coll == WEFT_SEND_RECV) {
            status = weft_p2p_open(&state->p2p, state->self.nranks);
        }
        if (status == WEFT_OK && (note->async || note->in_stream || note->part)) {
            status = weft_progress_attach(state);
        }
        if (status == WEFT_OK && note->in_stream) {
            status = weft_streams_open(state);
        }
    }
    return status;
}

/* Running -------------------------------------------------------------------------------------- */

/* Puts the note into its stream, together with the notes of its communicator that follow it
 * there: they become one launch, or one host wait. A note of another stream, or of none, ends the
 * row, so that the order of the calls is kept. */
static weft_status_t group_put_in_stream(weft_comm_state_t *state, weft_group_note_t *first)
{
    void *stream = first->stream;
    weft_request_t *requests = NULL, **last = &requests;
    weft_group_note_t *end = first;
    for (; end != NULL; end = end->next) {
        if (end->comm == first->comm && (!end->in_stream || end->stream != stream)) {
            break;
        }
        if (end->comm == first->comm) {
            *last = end->request;
            last = &end->request->next;
        }
    }
    *last = NULL;
    weft_status_t status = weft_streams_put(state, &stream, requests);
    for (weft_group_note_t *note = first; note != end && status == WEFT_OK; note = note->next) {
        note->started |= note->comm == first->comm;
    }
    return status;
}

static weft_status_t group_append_all(const weft_group_t *group, group_member_t *members,
                                      uint32_t count)
{
    uint64_t now = weft_os_clock_ns();
    weft_status_t status = WEFT_OK;
    for (weft_group_note_t *note = group->first; note != NULL && status == WEFT_OK;
         note = note->next) {
        weft_comm_state_t *state = group_find_member(members, count, note->comm)->state;
        if (note->in_stream && !note->started) {
            status = group_put_in_stream(state, note);
        } else if (!note->in_stream) {
            note->started = true;
            note->request->started = now;
            note->request->deadline = weft_os_deadline(note->request->timeout);
            weft_submit(state, note->request);
        }
    }
    return status;
}

/* True if the group has to wait for it. */
static bool group_is_awaited(const weft_group_note_t *note)
{
    return note->started && !note->in_stream && !note->async;
}

/* Finds the first operation that the group still waits for, from `note` on. */
static weft_group_note_t *group_first_waiting(weft_group_note_t *note)
{
    while (note != NULL && (!group_is_awaited(note) || note->request->state == WEFT_OP_DONE)) {
        note = note->next;
    }
    return note;
}

static bool group_step(group_member_t *members, uint32_t count)
{
    bool moved = false;
    for (uint32_t i = 0; i < count; i++) {
        if (weft_engine_is_busy(members[i].state)) {
            moved |= weft_engine_step(members[i].state);
        }
    }
    return moved;
}

/* With several communicators none may sleep alone, so the group naps for all. */
static void group_drive_all(weft_group_note_t *note, group_member_t *members, uint32_t count)
{
    weft_waiter_t *waiter = &members[0].state->waiter;
    while ((note = group_first_waiting(note)) != NULL) {
        if (group_step(members, count)) {
            weft_waiter_reset(waiter);
            continue;
        }
        if (waiter->idle >= waiter->spins) {
            for (uint32_t i = 0; i < count; i++) {
                weft_submit_look_soon(members[i].state);
            }
        }
        weft_waiter_nap(waiter);
    }
}

static void group_drive(weft_group_t *group, group_member_t *members, uint32_t count)
{
    if (count > 1) {
        group_drive_all(group->first, members, count);
        return;
    }
    for (weft_group_note_t *note = group->first; (note = group_first_waiting(note)) != NULL;) {
        weft_engine_drive(members[0].state, note->request);
    }
}

/* The first failure in order of the calls becomes the thread's error. */
static weft_status_t group_collect(const weft_group_t *group, group_member_t *members,
                                   uint32_t count)
{
    for (const weft_group_note_t *note = group->first; note != NULL; note = note->next) {
        const weft_request_t *request = note->request;
        if (!group_is_awaited(note) || request->status >= 0) {
            continue;
        }
        weft_comm_state_t *state = group_find_member(members, count, note->comm)->state;
        return weft_comm_has_failed(state) ? weft_comm_failure(state)
                                           : weft_fail(request->status, 0, "%s in a group: %s",
                                                       weft_coll_name(request->args.coll),
                                                       weft_status_text(request->status));
    }
    return WEFT_OK;
}

/* Drops the notes. The group also owns the requests of blocking calls, and those that were never
 * started. Communicators among the members, which this thread holds, keep the memory for the next
 * group. */
static void group_forget(weft_group_t *group, group_member_t *members, uint32_t count)
{
    while (group->first != NULL) {
        weft_group_note_t *note = group->first;
        const group_member_t *member = group_find_member(members, count, note->comm);
        weft_comm_state_t *state = member != NULL ? member->state : NULL;
        bool owns = !note->part && (!note->started || group_is_awaited(note));
        group->first = note->next;
        if (!note->started && note->request_p != NULL) {
            *note->request_p = NULL;
        }
        if (owns && note->async) {
            weft_request_free(note->request);
        } else if (owns) {
            weft_os_free(note->request->vectors);
            weft_spares_put(state != NULL ? &state->spares.requests : NULL, note->request);
        }
        weft_spares_put(state != NULL ? &state->spares.notes : NULL, note);
    }
}

/* Lets the request go its way: nobody waits for its operations here. */
static void group_let_go(weft_request_t *whole, const weft_call_t *call,
                         const group_member_t *members, uint32_t count)
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

/* `whole`: the request of the group, whose caller's options are `call`; NULL: waits for the end. */
static weft_status_t group_run(weft_group_t *group, group_member_t *members, weft_request_t *whole,
                               const weft_call_t *call)
{
    uint32_t count = 0;
    weft_status_t status = group_enter_all(group, members, &count);
    if (status != WEFT_OK) {
        return status;
    }
    group_bind_parts(group, whole);
    status = group_make_ready(group, members, count);
    if (status == WEFT_OK) {
        weft_error_t kept;
        status = group_append_all(group, members, count);
        if (status == WEFT_OK && whole != NULL) {
            group_let_go(whole, call, members, count);
            group_leave_all(members, count);
            return status;
        }
        kept = *weft_error_record();
        group_drive(group, members, count);
        *weft_error_record() = kept;
        status = status == WEFT_OK ? group_collect(group, members, count) : status;
        group_forget(group, members, count);
    }
    group_leave_all(members, count);
    return status;
}

/* Runs the closed group. `call`: as group_run(). */
static weft_status_t group_finish(weft_group_t *group, const weft_call_t *call)
{
    weft_request_t *whole = NULL;
    weft_status_t status = group->failed;
    uint32_t room = group->notes > 0 ? group->notes : 1;
    if (status != WEFT_OK) {
        *weft_error_record() = group->error;
    } else if (call != NULL) {
        status = weft_request_create_group(call, room, &whole);
    }
    if (status == WEFT_OK && (group->notes > 0 || whole != NULL)) {
        group_member_t *members = weft_os_alloc(room * sizeof *members, 0);
        status = members != NULL ? group_run(group, members, whole, call)
                                 : weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot run a group");
        weft_os_free(members);
    }
    weft_error_t kept = *weft_error_record();
    group_forget(group, NULL, 0);
    if (status != WEFT_OK && whole != NULL) {
        weft_request_free(whole);
    }
    *weft_error_record() = kept;
    return status;
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
        return weft_fail(WEFT_ERR_ARG, 0,
                         "weft_group_end_async: only request_p, queue and context may be set; "
                         "timeouts and the like belong to the calls of the group");
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
    weft_group_close(&group);
    return group_result(group_finish(&group, call));
}
