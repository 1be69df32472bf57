/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making, ordering and completing requests. */
#include "core/comm/request.h"

#include <errno.h>
#include <string.h>

#include "core/base/coll.h"
#include "core/base/error.h"

void weft_request_free(weft_request_t *request)
{
    weft_os_free(request->vectors);
    weft_os_free(request);
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
    bool receives = args->coll == WEFT_SEND_RECV && !args->sends;
    request->source_p = receives && call != NULL ? call->source_p : NULL;
    atomic_store_explicit(&request->done, 0, memory_order_relaxed);
    if (call != NULL && call->scalar != NULL && call->scalar_read == WEFT_SCALAR_AT_RUN) {
        request->late_scalar = call->scalar;
    } else if (call != NULL && call->scalar != NULL) {
        memcpy(request->scalar, call->scalar, weft_dtype_size(args->dtype));
    }
    return weft_coll_has_vectors(args->coll) ? weft_vectors_bind(self, args, &request->vectors)
                                             : WEFT_OK;
}

weft_status_t weft_request_create(const weft_comm_identity_t *self, const weft_args_t *args,
                                  const weft_call_t *call, weft_request_t **request_p)
{
    weft_request_t *request = weft_os_alloc(sizeof *request, 0);
    if (request == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate an operation");
    }
    weft_status_t status = weft_request_fill(self, request, args, call);
    if (status != WEFT_OK) {
        weft_os_free(request);
        return status;
    }
    *request_p = request;
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
