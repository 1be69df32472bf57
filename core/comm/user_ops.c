/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of operators that the user made. */
#include "core/comm/user_ops.h"

#include "core/base/error.h"

#define USER_OPS (WEFT_OP_USER_END - WEFT_OP_USER)

const weft_user_op_t *weft_user_ops_find(const weft_user_ops_t *ops, weft_op_t op)
{
    if ((int)op < WEFT_OP_USER || (int)op >= WEFT_OP_USER_END) {
        return NULL;
    }
    const weft_user_op_t *found = &ops->op[(int)op - WEFT_OP_USER];
    return found->fn != NULL ? found : NULL;
}

weft_status_t weft_user_ops_add(weft_user_ops_t *ops, weft_op_fn_t fn, void *arg, weft_op_t *op_p)
{
    for (int i = 0; i < USER_OPS; i++) {
        if (ops->op[i].fn == NULL) {
            ops->op[i] = (weft_user_op_t){.fn = fn, .arg = arg};
            *op_p = (weft_op_t)(WEFT_OP_USER + i);
            return WEFT_OK;
        }
    }
    return weft_fail(WEFT_ERR_RESOURCE, 0, "weft_op_create: more than %d operators", USER_OPS);
}

void weft_user_ops_remove(weft_user_ops_t *ops, weft_op_t op)
{
    ops->op[(int)op - WEFT_OP_USER] = (weft_user_op_t){.fn = NULL};
}
