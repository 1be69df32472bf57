/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operators that the user made: a table per communicator. */
#ifndef WEFT_COMM_USER_OPS_H
#define WEFT_COMM_USER_OPS_H

#include "core/exec/program.h"

#define WEFT_USER_OPS (WEFT_OP_USER_END - WEFT_OP_USER)

typedef struct weft_user_ops {
    weft_user_op_t op[WEFT_USER_OPS]; /* fn NULL: free */
} weft_user_ops_t;

/* Returns the user's operator of that number, or NULL. */
static inline const weft_user_op_t *weft_user_ops_find(const weft_user_ops_t *ops, weft_op_t op)
{
    if ((int)op < WEFT_OP_USER || (int)op >= WEFT_OP_USER_END) {
        return NULL;
    }
    const weft_user_op_t *found = &ops->op[(int)op - WEFT_OP_USER];
    return found->fn != NULL ? found : NULL;
}

#endif
