/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The open group of the calling thread. */
#include "core/comm/group.h"

#include <errno.h>

#include "core/base/coll.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/comm/handle.h"
#include "core/os/os_fork.h"

/* Static by thread, since a group is the calling thread's: weft.h promises it. */
static _Thread_local weft_group_t open_group;
/* Of the first call that failed in the last group with one. Apart, since closing copies a group. */
static _Thread_local weft_error_t first_error;

void weft_group_open(void)
{
    if (open_group.depth == 0) {
        open_group.forks = weft_os_fork_generation_again();
    }
    open_group.depth++;
}

bool weft_group_close(weft_group_t *group)
{
    if (--open_group.depth > 0) {
        return false;
    }
    *group = open_group;
    open_group = (weft_group_t){.depth = 0};
    return true;
}

bool weft_group_is_open(void)
{
    return open_group.depth > 0;
}

bool weft_group_is_nested(void)
{
    return open_group.depth > 1;
}

weft_status_t weft_group_fail(weft_status_t status)
{
    if (open_group.depth > 0 && status < 0 && open_group.failed == WEFT_OK) {
        open_group.failed = status;
        first_error = *weft_error_record();
    }
    return status;
}

void weft_group_raise(void)
{
    *weft_error_record() = first_error;
}

const weft_group_note_t *weft_group_notes(void)
{
    return open_group.first;
}

void weft_group_tell_lost(const weft_comm_t *comm)
{
    uint32_t lost = 0;
    for (const weft_group_note_t *note = open_group.first; note != NULL; note = note->next) {
        lost += note->comm == comm;
    }
    if (lost > 0) {
        weft_log(WEFT_LOG_WARN, "group",
                 "weft_comm_destroy: %u call%s on this communicator %s dropped, of a group that is "
                 "open: call weft_group_end() first",
                 lost, lost > 1 ? "s" : "", lost > 1 ? "are" : "is");
    }
}

/* Of the thread that returns from main() or calls exit(): nobody else would say that its calls were
 * never made. A forked child's parent may still make them. */
__attribute__((destructor)) static void group_tell_open(void)
{
    if (open_group.notes > 0 && open_group.forks == weft_os_fork_generation_again()) {
        weft_log(
            WEFT_LOG_WARN, "group",
            "the process ends inside a group, whose %u call%s %s dropped: weft_group_end() was "
            "not called",
            open_group.notes, open_group.notes == 1 ? "" : "s",
            open_group.notes == 1 ? "is" : "are");
    }
}

weft_status_t weft_group_refuse(const char *call)
{
    return weft_group_is_open()
               ? weft_group_fail(
                     weft_fail(WEFT_ERR_STATE, 0, "%s: not inside a group, end it first", call))
               : WEFT_OK;
}

/* Makes the request of a noted call. Those of asynchronous calls and of streams outlive the
 * group. */
static weft_status_t group_create_request(const weft_comm_state_t *state, weft_group_note_t *note,
                                          const weft_args_t *args, const weft_call_t *call)
{
    if (note->owner != WEFT_GROUP_WAITS) {
        return weft_request_create(&state->self, args, call, &note->request);
    }
    note->request = &note->own;
    return weft_request_fill(&state->self, &note->own, args, call);
}

/* The user's operator of a noted call stays until the group has ended. */
static weft_op_t group_hold_op(weft_comm_state_t *state, const weft_args_t *args)
{
    if (!weft_coll_reduces(args->coll) || !weft_user_ops_is_number(args->op)) {
        return WEFT_OP_COUNT;
    }
    atomic_fetch_add_explicit(weft_user_ops_noted(&state->user_ops, args->op), 1,
                              memory_order_relaxed);
    return args->op;
}

static void group_append(weft_group_t *group, weft_group_note_t *note)
{
    note->next = NULL;
    if (group->last != NULL) {
        group->last->next = note;
    } else {
        group->first = note;
    }
    group->last = note;
    group->notes++;
    group->in_streams += note->owner == WEFT_GROUP_STREAM;
}

weft_status_t weft_group_note(weft_comm_state_t *state, const weft_args_t *args,
                              const weft_call_t *call)
{
    weft_group_note_t *note = weft_spares_take(&state->notes, sizeof *note);
    if (note == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot note an operation of a group");
    }
    note->owner = weft_call_in_stream(call)  ? WEFT_GROUP_STREAM
                  : weft_call_is_async(call) ? WEFT_GROUP_OWN_REQUEST
                                             : WEFT_GROUP_WAITS;
    weft_status_t status = group_create_request(state, note, args, call);
    if (status != WEFT_OK) {
        weft_os_free(note);
        return status;
    }
    note->comm = state->self.handle;
    note->state = NULL;
    note->stream = note->owner == WEFT_GROUP_STREAM ? *call->stream : NULL;
    note->op = group_hold_op(state, args);
    note->head = NULL;
    note->row = NULL;
    note->started = note->fused = false;
    note->fusion = NULL;
    note->error = NULL;
    if (note->owner == WEFT_GROUP_OWN_REQUEST && call->request_p != NULL) {
        *call->request_p = note->request;
    }
    group_append(&open_group, note);
    return WEFT_OK;
}

static void group_let_op_go(weft_comm_state_t *state, void *op)
{
    atomic_fetch_sub_explicit(weft_user_ops_noted(&state->user_ops, *(const weft_op_t *)op), 1,
                              memory_order_relaxed);
}

/* Operators end with their communicator, which may have been destroyed meanwhile. */
static void group_release_op(weft_group_note_t *note)
{
    weft_error_t kept = *weft_error_record();
    (void)weft_handle_visit(note->comm, "weft_group_end", group_let_op_go, &note->op);
    *weft_error_record() = kept;
}

/* Frees the request of a note that goes, if the group still has it. */
static void group_free_request(weft_group_note_t *note)
{
    weft_os_free(note->fusion);
    if (note->request == &note->own) {
        weft_os_free(note->own.vectors);
    } else if (!note->started && note->owner != WEFT_GROUP_REQUEST) {
        weft_request_free(note->request);
    }
}

void weft_group_forget(weft_group_t *group, bool entered)
{
    while (group->first != NULL) {
        weft_group_note_t *note = group->first;
        group->first = note->next;
        if (note->op != WEFT_OP_COUNT) {
            group_release_op(note);
        }
        group_free_request(note);
        weft_os_free(note->error);
        weft_spares_put(entered ? &note->state->notes : NULL, note);
    }
}
