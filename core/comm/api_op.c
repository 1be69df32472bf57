/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operators that the user made: a table per communicator. */
#include "core/base/error.h"
#include "core/comm/call.h"
#include "core/comm/streams.h"

#define USER_OPS (WEFT_OP_USER_END - WEFT_OP_USER)

const weft_user_op_t *weft_user_op_find(const weft_comm_state_t *state, weft_op_t op)
{
    if ((int)op < WEFT_OP_USER || (int)op >= WEFT_OP_USER_END) {
        return NULL;
    }
    const weft_user_op_t *found = &state->user_ops[(int)op - WEFT_OP_USER];
    return found->fn != NULL ? found : NULL;
}

static weft_status_t add(weft_comm_state_t *state, weft_op_fn_t fn, void *arg, weft_op_t *op_p)
{
    for (int i = 0; i < USER_OPS; i++) {
        if (state->user_ops[i].fn == NULL) {
            state->user_ops[i] = (weft_user_op_t){.fn = fn, .arg = arg};
            *op_p = (weft_op_t)(WEFT_OP_USER + i);
            return WEFT_OK;
        }
    }
    return weft_fail(WEFT_ERR_RESOURCE, 0, "weft_op_create: more than %d operators", USER_OPS);
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
        status = state->family->kernel.memory == NULL
                     ? add(state, fn, arg, op_p)
                     : weft_fail(WEFT_ERR_UNSUPPORTED, 0,
                                 "weft_op_create: operators are functions of the host, kernel %s "
                                 "computes on a device",
                                 state->family->kernel.loaded->plugin->name);
        weft_comm_leave(state);
    }
    return status == WEFT_OK ? status : weft_api_error("comm", status);
}

static weft_status_t take_away(weft_comm_state_t *state, weft_op_t op)
{
    if (weft_user_op_find(state, op) == NULL) {
        return weft_fail(WEFT_ERR_ARG, 0, "weft_op_destroy: %d is no operator of this communicator",
                         (int)op);
    }
    for (const weft_request_t *r = state->first; r != NULL; r = r->next) {
        if (weft_coll_reduces(r->args.coll) && r->args.op == op) {
            return weft_fail(WEFT_ERR_ARG, 0,
                             "weft_op_destroy: operator %d is in use by operation %llu", (int)op,
                             (unsigned long long)r->sequence);
        }
    }
    if (weft_gate_uses(state, op)) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "weft_op_destroy: operator %d is in use by an operation in a stream",
                         (int)op);
    }
    state->user_ops[(int)op - WEFT_OP_USER] = (weft_user_op_t){.fn = NULL};
    return WEFT_OK;
}

weft_status_t weft_op_destroy(weft_comm_t *comm, weft_op_t op)
{
    weft_comm_state_t *state;
    weft_status_t status = weft_comm_enter(comm, "weft_op_destroy", &state);
    if (status == WEFT_OK) {
        status = take_away(state, op);
        weft_comm_leave(state);
    }
    return status == WEFT_OK ? status : weft_api_error("comm", status);
}
