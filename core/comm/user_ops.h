/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operators that the user made: a table per communicator. */
#ifndef WEFT_COMM_USER_OPS_H
#define WEFT_COMM_USER_OPS_H

#include "core/exec/user.h"

typedef struct weft_user_ops {
    weft_user_op_t op[WEFT_OP_USER_END - WEFT_OP_USER]; /* fn NULL: free */
} weft_user_ops_t;

/* Returns the user's operator of that number, or NULL. */
const weft_user_op_t *weft_user_ops_find(const weft_user_ops_t *ops, weft_op_t op);

/* ERR_RESOURCE: the table is full. */
weft_status_t weft_user_ops_add(weft_user_ops_t *ops, weft_op_fn_t fn, void *arg, weft_op_t *op_p);

/* Removes an operator that weft_user_ops_find() knows. */
void weft_user_ops_remove(weft_user_ops_t *ops, weft_op_t op);

#endif
