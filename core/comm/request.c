/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making, ordering and completing requests. */
#include "core/base/dtype.h"
#include "core/comm/request.h"

#include <errno.h>
#include <string.h>

#include "core/base/coll.h"
#include "core/base/error.h"
#include "core/comm/args_check.h"

/* An asynchronous operation and its end, in one piece of memory. */
typedef struct request_async {
    weft_request_t request;
    weft_async_t async;
} request_async_t;

/* The request of a group, with the same parts. */
typedef struct request_of_group {
    weft_request_t request;
    weft_async_group_t group;
} request_of_group_t;

static void request_free_parts(const weft_async_group_t *group)
{
    for (uint32_t i = 0; i < group->nparts; i++) {
        weft_request_t *part = group->parts[i].entry.request;
        weft_os_free(part->vectors);
        weft_os_free(part);
    }
    weft_os_free(group->parts);
    weft_os_free(group->comms);
}

void weft_request_free(weft_request_t *request)
{
    if (request->async != NULL && request->handle == NULL) {
        request_free_parts(weft_request_group(request));
    }
    if (request->async != NULL) {
        weft_async_fini(request->async);
    }
    weft_os_free(request->vectors);
    weft_os_free(request);
}

void weft_request_tell(const weft_request_t *request, weft_status_t status)
{
    weft_flight_end(request->flight, status);
    if (request->source_p != NULL && status == WEFT_OK) {
        *request->source_p = request->args.root;
    }
    if (request->error_p != NULL && status < 0) {
        *request->error_p = weft_async_keep_error(status);
        weft_error_record()->status = WEFT_OK;
    }
    /* The request is gone after either; a fusion is not asynchronous, only its members are. */
    if (request->async != NULL) {
        weft_async_end(request->async, status);
    } else if (request->end_members != NULL) {
        request->end_members(request->fusion, status);
    }
}

weft_status_t weft_request_end(weft_request_t **request_p)
{
    weft_request_t *request = *request_p;
    weft_status_t status = request->async->entry.told.status;
    weft_async_raise(request->async->entry.error, status);
    if (weft_async_drop(request->async)) {
        weft_request_free(request);
    }
    *request_p = NULL;
    return status;
}

weft_status_t weft_request_fill(const weft_comm_identity_t *self, weft_request_t *request,
                                const weft_args_t *args, const weft_call_t *call)
{
    request->handle = self->handle;
    request->args = *args;
    request->state = WEFT_OP_QUEUED;
    request->status = WEFT_IN_PROGRESS;
    request->timeout = self->family->settings.exec.op_timeout;
    if (call != NULL && call->timeout != 0) {
        request->timeout = call->timeout;
    }
    /* A blocking call that never waits does not read the clock: the first look sets both. */
    request->deadline = WEFT_NEVER;
    request->started = 0;
    request->late_scalar = NULL;
    request->vectors = NULL;
    request->appended = false;
    request->in_stream = false;
    request->sends = args->coll == WEFT_SEND_RECV && args->sends;
    request->held = false;
    bool receives =
        args->coll == WEFT_SEND_RECV && !args->sends && args->one_sided == WEFT_ONE_SIDED_NONE;
    request->source_p = receives && call != NULL ? call->source_p : NULL;
    request->async = NULL;
    request->flight = NULL;
    request->error_p = NULL;
    request->fusion = NULL;
    request->end_members = NULL;
    if (call != NULL && call->scalar != NULL && call->scalar_read == WEFT_SCALAR_AT_RUN) {
        request->late_scalar = call->scalar;
    } else if (call != NULL && call->scalar != NULL) {
        memcpy(request->scalar, call->scalar, weft_dtype_bytes(args->dtype));
    }
    return weft_coll_has_vectors(args->coll) ? weft_vectors_bind(self, args, &request->vectors)
                                             : WEFT_OK;
}

weft_status_t weft_request_create(const weft_comm_identity_t *self, const weft_args_t *args,
                                  const weft_call_t *call, weft_request_t **request_p)
{
    bool is_async = weft_call_is_async(call);
    request_async_t *memory = weft_os_alloc(is_async ? sizeof *memory : sizeof memory->request, 0);
    weft_request_t *request = (weft_request_t *)memory;
    if (memory == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate an operation");
    }
    weft_status_t status = weft_request_fill(self, request, args, call);
    if (status != WEFT_OK) {
        weft_os_free(request);
        return status;
    }
    if (is_async) {
        request->async = &memory->async;
        status = weft_async_init(&memory->async, request, weft_args_call(args), call);
    }
    if (status != WEFT_OK) {
        weft_request_free(request);
        return status;
    }
    *request_p = request;
    return WEFT_OK;
}

weft_status_t weft_request_create_group(const weft_call_t *call, uint32_t parts,
                                        weft_request_t **request_p)
{
    request_of_group_t *memory = weft_os_alloc(sizeof *memory, 0);
    weft_async_t *ends = weft_os_alloc(parts * sizeof *ends, 0);
    weft_comm_t **comms = weft_os_alloc(parts * sizeof *comms, 0);
    if (memory == NULL || ends == NULL || comms == NULL) {
        weft_os_free(memory);
        weft_os_free(ends);
        weft_os_free(comms);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate the request of a group");
    }
    memory->request = (weft_request_t){.state = WEFT_OP_RUNNING,
                                       .status = WEFT_IN_PROGRESS,
                                       .appended = true,
                                       .async = &memory->group.async};
    memory->group = (weft_async_group_t){.parts = ends, .comms = comms};
    atomic_init(&memory->group.open, 1);
    weft_status_t status =
        weft_async_init(&memory->group.async, &memory->request, "weft_group_end_async", call);
    if (status != WEFT_OK) {
        weft_request_free(&memory->request);
        return status;
    }
    *request_p = &memory->request;
    return WEFT_OK;
}

weft_args_t weft_request_class(const weft_request_t *request)
{
    weft_args_t args = request->args;
    if (request->vectors != NULL) {
        args.count = weft_vectors_class(args.coll, request->vectors->largest);
    }
    return args;
}
