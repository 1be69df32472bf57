/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See stream_prepare.h. */
#include "core/comm/stream_prepare.h"

#include "core/base/log.h"
#include "core/comm/engine.h"
#include "core/comm/bundle.h"
#include "core/comm/select.h"
#include "core/comm/stripes_compare.h"
#include "core/exec/device_run.h"

/* Returns whether a device may run it: nothing that the host has to do anyway, and nothing behind
 * operations of the host, for which a device cannot wait. */
static bool prepare_is_for_device(const weft_comm_state_t *state, const weft_request_t *request)
{
    const weft_request_t *host = state->queue.first;
    while (host != NULL && host->in_stream) {
        host = host->next;
    }
    return host == NULL && state->self.nranks > 1 &&
           weft_user_ops_find(&state->user_ops, request->args.op) == NULL;
}

static bool prepare_collective(weft_comm_state_t *state, const weft_request_t *request)
{
    weft_prepared_t *prepared = NULL;
    if (!prepare_is_for_device(state, request)) {
        return false;
    }
    weft_args_t args = weft_request_class(request);
    weft_status_t status = weft_select(state, &args, &prepared);
    if (status == WEFT_OK && weft_device_run_handle(&prepared->run) != NULL &&
        !weft_device_run_is_ready(&prepared->run)) {
        status = weft_program_bind(&prepared->program, state->links);
        status = status == WEFT_OK ? weft_device_run_export(&prepared->run) : status;
    }
    return status == WEFT_IN_PROGRESS;
}

static bool prepare_messages(weft_comm_state_t *state, const weft_request_t *first)
{
    weft_prepared_t *prepared = NULL;
    if (!weft_bundle_suits(state, first)) {
        return false;
    }
    weft_status_t status = weft_bundle_select(state, first, &prepared);
    if (status == WEFT_OK && weft_device_run_handle(&prepared->run) != NULL &&
        !weft_device_run_is_ready(&prepared->run)) {
        status = weft_bundle_bind(state, prepared);
        if (status == WEFT_IN_PROGRESS) {
            weft_stripes_ask_all(state, first);
        }
    }
    return status == WEFT_IN_PROGRESS;
}

/* The host does messages and collectives of one group: there they progress together. */
static bool prepare_is_mixed(const weft_request_t *first)
{
    const weft_request_t *r = first->next;
    bool messages = first->args.coll == WEFT_SEND_RECV;
    while (r != NULL && (r->args.coll == WEFT_SEND_RECV) == messages) {
        r = r->next;
    }
    return r != NULL;
}

bool weft_stream_prepare_step(weft_comm_state_t *state, const weft_request_t *first)
{
    bool again = false;
    weft_assert_owner(state);
    if (weft_comm_has_failed(state) || prepare_is_mixed(first)) {
        return false;
    }
    if (first->args.coll == WEFT_SEND_RECV) {
        return prepare_messages(state, first);
    }
    for (const weft_request_t *r = first; r != NULL; r = r->next) {
        again |= prepare_collective(state, r);
    }
    return again;
}

static void prepare_tell(const weft_comm_state_t *state, const weft_request_t *request)
{
    weft_log(WEFT_LOG_INFO, "comm",
             "rank %u: the host does a first %s in a stream, as not all peers have called it for "
             "%.0f s",
             state->self.rank, weft_coll_name(request->args.coll),
             (double)WEFT_STREAM_PREPARE_NS / 1e9);
}

void weft_stream_prepare(weft_comm_state_t *state, const weft_request_t *request)
{
    uint64_t until = 0;
    while (weft_stream_prepare_step(state, request)) {
        uint64_t now = weft_os_clock_ns();
        until = until == 0 ? now + WEFT_STREAM_PREPARE_NS : until;
        if (now > until) {
            prepare_tell(state, request);
            return;
        }
        if (!weft_engine_step(state)) {
            weft_waiter_nap(&state->waiter);
        }
    }
}
