/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The open group of the calling thread. */
#include "core/comm/group.h"

#include <errno.h>

#include "core/base/coll.h"
#include "core/base/error.h"

/* Static by thread, since a group is the calling thread's: weft.h promises it. */
static _Thread_local weft_group_t open_group;
/* Of the first call that failed in the last group with one. Apart, since closing copies a group. */
static _Thread_local weft_error_t first_error;

void weft_group_open(void)
{
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

weft_status_t weft_group_refuse(const char *call)
{
    return weft_group_is_open()
               ? weft_group_fail(
                     weft_fail(WEFT_ERR_STATE, 0, "%s: not inside a group, end it first", call))
               : WEFT_OK;
}

/* Makes the request of a noted call. That of an asynchronous call may outlive the communicator. */
static weft_status_t group_create_request(weft_comm_state_t *state, const weft_args_t *args,
                                          const weft_call_t *call, weft_request_t **request_p)
{
    if (weft_call_is_async(call)) {
        return weft_request_create(&state->self, args, call, request_p);
    }
    weft_request_t *request = weft_spares_take(&state->spares.requests, sizeof *request);
    weft_status_t status =
        request != NULL ? weft_request_fill(&state->self, request, args, call)
                        : weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate an operation");
    if (status != WEFT_OK) {
        weft_os_free(request);
        return status;
    }
    *request_p = request;
    return WEFT_OK;
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

weft_status_t weft_group_note(weft_comm_state_t *state, const weft_args_t *args,
                              const weft_call_t *call)
{
    bool is_async = weft_call_is_async(call);
    weft_group_note_t *note = weft_spares_take(&state->spares.notes, sizeof *note);
    weft_request_t *request = NULL;
    weft_status_t status =
        note != NULL ? group_create_request(state, args, call, &request)
                     : weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot note an operation of a group");
    if (status != WEFT_OK) {
        weft_os_free(note);
        return status;
    }
    *note = (weft_group_note_t){.request = request,
                                .comm = state->self.handle,
                                .async = is_async,
                                .in_stream = weft_call_in_stream(call),
                                .stream = weft_call_in_stream(call) ? *call->stream : NULL,
                                .op = group_hold_op(state, args)};
    if (is_async && call->request_p != NULL) {
        *call->request_p = request;
    }
    if (open_group.last != NULL) {
        open_group.last->next = note;
    } else {
        open_group.first = note;
    }
    open_group.last = note;
    open_group.notes++;
    return WEFT_OK;
}
