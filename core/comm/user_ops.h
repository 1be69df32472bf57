/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operators that the user made: a table per communicator. */
#ifndef WEFT_COMM_USER_OPS_H
#define WEFT_COMM_USER_OPS_H

#include <stdatomic.h>

#include "core/exec/program.h"

#define WEFT_USER_OPS (WEFT_OP_USER_END - WEFT_OP_USER)

typedef struct weft_user_ops {
    weft_user_op_t op[WEFT_USER_OPS]; /* fn NULL: free */
    /* Calls of groups that are open, or about to end; threads whose groups they are change it. */
    _Atomic uint32_t noted[WEFT_USER_OPS];
} weft_user_ops_t;

/* True for numbers that weft_op_create() gives out. */
static inline bool weft_user_ops_is_number(weft_op_t op)
{
    return (int)op >= WEFT_OP_USER && (int)op < WEFT_OP_USER_END;
}

/* Returns the user's operator of that number, or NULL. */
static inline const weft_user_op_t *weft_user_ops_find(const weft_user_ops_t *ops, weft_op_t op)
{
    if (!weft_user_ops_is_number(op)) {
        return NULL;
    }
    const weft_user_op_t *found = &ops->op[(int)op - WEFT_OP_USER];
    return found->fn != NULL ? found : NULL;
}

/* How many calls of open groups use the operator, which is the user's. */
static inline _Atomic uint32_t *weft_user_ops_noted(weft_user_ops_t *ops, weft_op_t op)
{
    return &ops->noted[(int)op - WEFT_OP_USER];
}

#endif
