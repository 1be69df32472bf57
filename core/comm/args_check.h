/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks of arguments: everything that one rank can judge before anything is sent. */
#ifndef WEFT_COMM_ARGS_CHECK_H
#define WEFT_COMM_ARGS_CHECK_H

#include "core/base/coll.h"
#include "core/comm/args.h"
#include "core/comm/identity.h"
#include "core/comm/user_ops.h"

/* The name of the function that was called. */
static inline const char *weft_args_call(const weft_args_t *args)
{
    return args->coll != WEFT_SEND_RECV             ? weft_coll_call(args->coll)
           : args->one_sided == WEFT_ONE_SIDED_WAIT ? "weft_wait_signal"
           : args->one_sided == WEFT_ONE_SIDED_PUT
               ? args->window == NULL && args->count == 0 ? "weft_signal" : "weft_put_signal"
           : args->sends ? "weft_send"
                         : "weft_recv";
}

/* Checks all but the addresses of the buffers, and completes the arguments: extents of the buffers,
 * and the vectors of the sides that this rank uses. `call` may be NULL. ERR_ARG; ERR_UNSUPPORTED:
 * the kernel has no streams. */
weft_status_t weft_args_check_numbers(const weft_comm_identity_t *self, const weft_user_ops_t *ops,
                                      weft_args_t *args, const weft_call_t *call);

/* The last arguments of a communicator whose numbers were good, and what they came to: programs
 * call the same thing again and again. All zero is a call of no elements, which is good. Sends,
 * which take turns with receives, have one of their own; a message is as long to any peer. */
typedef struct weft_args_memo {
    uint64_t count;
    weft_coll_t coll;
    weft_dtype_t dtype;
    weft_op_t op;
    uint32_t root;
    uint64_t send_bytes, recv_bytes;
} weft_args_memo_t;

/* The same with the buffers. Thread: the owner of the communicator that the memos belong to, by
 * args->sends. */
weft_status_t weft_args_check(const weft_comm_identity_t *self, const weft_user_ops_t *ops,
                              weft_args_memo_t memos[2], weft_args_t *args,
                              const weft_call_t *call);

/* Checks the peer of a send or a receive. `may_send_to_self`: the other end of such a message is
 * there, or can come. ERR_ARG. */
weft_status_t weft_args_check_peer(const weft_comm_identity_t *self, const weft_args_t *args,
                                   const weft_call_t *call, bool may_send_to_self);

/* Checks a put or a wait, but for the window, and completes its arguments. ERR_ARG;
 * ERR_UNSUPPORTED: the kernel has no streams. */
weft_status_t weft_args_check_one_sided(const weft_comm_identity_t *self, weft_args_t *args,
                                        const weft_call_t *call);

#endif
