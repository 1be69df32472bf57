/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The open group of the calling thread. */
#include "core/comm/group.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"

/* Static by thread, since a group is the calling thread's: weft.h promises it. */
static _Thread_local weft_group_t open_group;

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
    memset(&open_group, 0, sizeof open_group);
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
        open_group.error = *weft_error_record();
    }
    return status;
}

weft_status_t weft_group_refuse(const char *call)
{
    return weft_group_is_open()
               ? weft_group_fail(
                     weft_fail(WEFT_ERR_STATE, 0, "%s: not inside a group, end it first", call))
               : WEFT_OK;
}

weft_status_t weft_group_note(weft_comm_state_t *state, const weft_args_t *args,
                              const weft_call_t *call)
{
    weft_group_note_t *note = weft_os_alloc(sizeof *note, 0);
    if (note == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot note an operation of a group");
    }
    weft_status_t status = weft_request_create(&state->self, args, call, &note->request);
    if (status != WEFT_OK) {
        weft_os_free(note);
        return status;
    }
    note->comm = state->self.handle;
    note->async = weft_call_is_async(call);
    note->request_p = note->async ? call->request_p : NULL;
    note->in_stream = weft_call_in_stream(call);
    note->stream = note->in_stream ? *call->stream : NULL;
    if (note->request_p != NULL) {
        *note->request_p = note->request;
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
