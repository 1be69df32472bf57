/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Entry points for operators that the user makes. */
#include "core/base/coll.h"
#include "core/base/error.h"
#include "core/comm/call.h"
#include "core/comm/handle.h"
#include "core/comm/streams.h"

static weft_status_t op_add(weft_user_ops_t *ops, weft_op_fn_t fn, void *arg, weft_op_t *op_p)
{
    for (int i = 0; i < WEFT_USER_OPS; i++) {
        if (ops->op[i].fn == NULL) {
            ops->op[i] = (weft_user_op_t){.fn = fn, .arg = arg};
            *op_p = (weft_op_t)(WEFT_OP_USER + i);
            return WEFT_OK;
        }
    }
    return weft_fail(WEFT_ERR_RESOURCE, 0, "weft_op_create: more than %d operators", WEFT_USER_OPS);
}

weft_status_t weft_op_create(weft_comm_t *comm, weft_op_fn_t fn, void *arg, weft_op_t *op_p)
{
    weft_comm_state_t *state;
    if (fn == NULL || op_p == NULL) {
        return weft_api_error("comm", weft_fail(WEFT_ERR_ARG, 0, "weft_op_create: %s is NULL",
                                                fn == NULL ? "fn" : "op_p"));
    }
    weft_status_t status = weft_comm_enter(comm, "weft_op_create", &state);
    if (status == WEFT_OK) {
        status = state->self.family->kernel.memory == NULL
                     ? op_add(&state->user_ops, fn, arg, op_p)
                     : weft_fail(WEFT_ERR_UNSUPPORTED, 0,
                                 "weft_op_create: operators are functions of the host, kernel %s "
                                 "computes on a device",
                                 state->self.family->kernel.loaded->plugin->name);
        weft_comm_leave(state);
    }
    return status == WEFT_OK ? status : weft_api_error("comm", status);
}

static weft_status_t op_remove(weft_comm_state_t *state, weft_op_t op)
{
    if (weft_user_ops_find(&state->user_ops, op) == NULL) {
        return weft_fail(WEFT_ERR_ARG, 0, "weft_op_destroy: %d is no operator of this communicator",
                         (int)op);
    }
    for (const weft_request_t *r = state->queue.first; r != NULL; r = r->next) {
        if (weft_coll_reduces(r->args.coll) && r->args.op == op) {
            return weft_fail(WEFT_ERR_ARG, 0,
                             "weft_op_destroy: operator %d is in use by operation %llu", (int)op,
                             (unsigned long long)r->sequence);
        }
    }
    if (atomic_load_explicit(weft_user_ops_noted(&state->user_ops, op), memory_order_relaxed) > 0) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "weft_op_destroy: operator %d is in use by a call of a group that is open",
                         (int)op);
    }
    if (weft_streams_use(state, op)) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "weft_op_destroy: operator %d is in use by an operation in a stream",
                         (int)op);
    }
    state->user_ops.op[(int)op - WEFT_OP_USER] = (weft_user_op_t){.fn = NULL};
    return WEFT_OK;
}

weft_status_t weft_op_destroy(weft_comm_t *comm, weft_op_t op)
{
    weft_comm_state_t *state;
    weft_status_t status = weft_comm_enter(comm, "weft_op_destroy", &state);
    if (status == WEFT_OK) {
        status = op_remove(state, op);
        weft_comm_leave(state);
    }
    return status == WEFT_OK ? status : weft_api_error("comm", status);
}
