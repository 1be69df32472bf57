/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks of arguments: everything that this rank can judge before anything is sent. */
#include "core/comm/args_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "core/base/coll.h"
#include "core/base/dtype.h"
#include "core/base/error.h"
#include "core/comm/vectors.h"

#define NO_MEMORY ((uintptr_t)4096)

/* True if this rank uses the buffer. */
static bool args_uses_side(const weft_comm_identity_t *self, const weft_args_t *args,
                           weft_operand_kind_t side)
{
    bool root = args->root == self->rank;
    if (args->coll == WEFT_SEND_RECV) {
        return args->sends == (side == WEFT_OPERAND_IN);
    }
    return side == WEFT_OPERAND_IN ? weft_coll_has_input(args->coll, root)
                                   : weft_coll_has_output(args->coll, root);
}

/* True for an operator of the list, and for one that the user made. */
static bool args_knows_op(const weft_user_ops_t *ops, weft_op_t op)
{
    return (unsigned)op < WEFT_OP_COUNT || weft_user_ops_find(ops, op) != NULL;
}

/* Bits of floats are combined as those of an integer of their size. */
static weft_status_t args_refuse_bits(const char *name, weft_op_t op, weft_dtype_t dtype)
{
    static const weft_dtype_t same_size[] = {
        [1] = WEFT_UINT8, [2] = WEFT_UINT16, [4] = WEFT_UINT32, [8] = WEFT_UINT64};
    return weft_fail(WEFT_ERR_ARG, 0,
                     "%s: operator %s is for integers, the data type is %s; to combine the bits of "
                     "floats pass them as %s",
                     name, weft_op_name(op), weft_dtype_name(dtype),
                     weft_dtype_name(same_size[weft_dtype_size(dtype)]));
}

/* Checks that the kernel has streams and that the call may be in one. */
static weft_status_t args_check_stream(const weft_comm_identity_t *self, const char *name,
                                       const weft_call_t *call)
{
    if (self->family->kernel.lanes == NULL) {
        return weft_fail(WEFT_ERR_UNSUPPORTED, 0,
                         "%s: weft_call_t.stream is set, and kernel %s has no streams; choose a "
                         "kernel for a device ([core] kernel), or call without a stream",
                         name, self->family->kernel.loaded->plugin->name);
    }
    if (weft_call_is_async(call)) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "%s: weft_call_t.stream and %s are both set; what is in a stream is "
                         "complete when the stream has passed it",
                         name, call->request_p != NULL ? "request_p" : "queue");
    }
    return WEFT_OK;
}

static weft_status_t args_check_options(const weft_comm_identity_t *self, const weft_args_t *args,
                                        const weft_call_t *call)
{
    const char *name = weft_args_call(args);
    if (call->size < WEFT_CALL_LEAST) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "%s: weft_call_t.size is %zu, set it to sizeof(weft_call_t) = %zu", name,
                         call->size, sizeof *call);
    }
    if (call->scalar_read > WEFT_SCALAR_AT_RUN) {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: weft_call_t.scalar_read is %u, known are 0 and 1",
                         name, call->scalar_read);
    }
    if (isnan(call->timeout) || isnan(call->patience)) {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: weft_call_t.%s is not a number; give seconds", name,
                         isnan(call->timeout) ? "timeout" : "patience");
    }
    return weft_call_in_stream(call) ? args_check_stream(self, name, call) : WEFT_OK;
}

static weft_status_t args_check_op(const weft_user_ops_t *ops, const weft_args_t *args,
                                   const weft_call_t *call)
{
    if (!args_knows_op(ops, args->op)) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "%s: unknown operator %d, known are 0 … %d and those that "
                         "weft_op_create() made for this communicator",
                         weft_args_call(args), (int)args->op, WEFT_OP_COUNT - 1);
    }
    if ((int)args->op >= WEFT_BAND && (int)args->op < WEFT_OP_COUNT &&
        !weft_op_has_dtype(args->op, args->dtype)) {
        return args_refuse_bits(weft_args_call(args), args->op, args->dtype);
    }
    if (args->op == WEFT_PREMULSUM && (call == NULL || call->scalar == NULL)) {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: operator mulsum needs weft_call_t.scalar",
                         weft_args_call(args));
    }
    return WEFT_OK;
}

static weft_status_t args_check_names(const weft_comm_identity_t *self, const weft_user_ops_t *ops,
                                      const weft_args_t *args, const weft_call_t *call)
{
    if ((unsigned)args->dtype >= WEFT_DTYPE_COUNT) {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: unknown data type %d, known are 0 … %d",
                         weft_args_call(args), (int)args->dtype, WEFT_DTYPE_COUNT - 1);
    }
    if (weft_coll_is_rooted(args->coll) && args->root >= self->nranks) {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: root %u is out of range 0 … %u",
                         weft_args_call(args), args->root, self->nranks - 1);
    }
    return weft_coll_reduces(args->coll) ? args_check_op(ops, args, call) : WEFT_OK;
}

/* Returns the element at which a block of one side starts. */
static uint64_t args_block_start(const weft_args_t *args, const weft_blocks_t *blocks,
                                 uint32_t block)
{
    return blocks != NULL ? weft_vectors_start(blocks, block) : block * args->count;
}

/* Returns how far behind recv the send buffer must begin in a legal in-place call, in elements. */
static int64_t args_in_place_offset(const weft_comm_identity_t *self, const weft_args_t *args)
{
    switch (weft_coll_in_place(args->coll, args->root == self->rank)) {
    case WEFT_IN_PLACE_IN_OUT:
        return (int64_t)args_block_start(args, args->out_blocks, self->rank);
    case WEFT_IN_PLACE_OUT_IN:
        return -(int64_t)args_block_start(args, args->in_blocks, self->rank);
    default:
        return 0;
    }
}

/* Writes where the send buffer begins in a legal in-place call. */
static void args_write_in_place(const weft_comm_identity_t *self, const weft_args_t *args,
                                size_t elem, char *text, size_t bytes)
{
    const int64_t offset = args_in_place_offset(self, args) * (int64_t)elem;
    if (offset == 0) {
        snprintf(text, bytes, "recv itself");
    } else {
        snprintf(text, bytes, "recv %+" PRId64 " bytes", offset);
    }
}

/* The first page and the last are nobody's memory. MPI_IN_PLACE is 1 or -1. */
static inline bool args_is_no_memory(const void *buffer)
{
    return (uintptr_t)buffer + NO_MEMORY < 2 * NO_MEMORY;
}

static weft_status_t args_refuse_address(const weft_comm_identity_t *self, const weft_args_t *args,
                                         const char *which, const void *buffer, size_t elem)
{
    char in_place[48] = "";
    const char *call = weft_args_call(args);
    if (args->coll == WEFT_SEND_RECV) {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: the %s buffer %p is no memory", call, which, buffer);
    }
    args_write_in_place(self, args, elem, in_place, sizeof in_place);
    return weft_fail(
        WEFT_ERR_ARG, 0,
        "%s: the %s buffer %p is no memory; if MPI_IN_PLACE is meant: in place send is "
        "%s",
        call, which, buffer, in_place);
}

/* Says what is wrong with the buffer of one side. */
static weft_status_t args_refuse_buffer(const weft_comm_identity_t *self, const weft_args_t *args,
                                        bool sent, size_t elem)
{
    const char *call = weft_args_call(args), *which = sent ? "send" : "recv";
    const void *buffer = sent ? args->send : args->recv;
    if (buffer == NULL) {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: the %s buffer is NULL, %" PRIu64 " bytes are needed",
                         call, which, sent ? args->send_bytes : args->recv_bytes);
    }
    if (args_is_no_memory(buffer)) {
        return args_refuse_address(self, args, which, buffer, elem);
    }
    if (((uintptr_t)buffer & (elem - 1)) != 0) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "%s: the %s buffer %p is not aligned to elements of %zu bytes", call,
                         which, buffer, elem);
    }
    return weft_fail(WEFT_ERR_ARG, 0, "%s: the %s buffer wraps around the address space", call,
                     which);
}

static inline bool args_buffer_is_good(const void *buffer, uint64_t bytes, size_t elem)
{
    uintptr_t at = (uintptr_t)buffer;
    /* Elements have powers of two as sizes. */
    return bytes == 0 || (!args_is_no_memory(buffer) && (at & (elem - 1)) == 0 &&
                          !weft_memory_wraps(buffer, bytes));
}

static weft_status_t args_check_buffers(const weft_comm_identity_t *self, const weft_args_t *args,
                                        size_t elem)
{
    bool sends = args_buffer_is_good(args->send, args->send_bytes, elem);
    if (sends && args_buffer_is_good(args->recv, args->recv_bytes, elem)) {
        return WEFT_OK;
    }
    return args_refuse_buffer(self, args, !sends, elem);
}

/* An all_to_all_v in place replaces block b by the block of rank b: both need equal length and
 * position. An empty block may be anywhere. */
static weft_status_t args_check_same_blocks(const weft_comm_identity_t *self,
                                            const weft_args_t *args)
{
    for (uint32_t b = 0; args->coll == WEFT_ALL_TO_ALL_V && b < self->nranks; b++) {
        uint64_t in = weft_vectors_start(args->in_blocks, b);
        uint64_t out = weft_vectors_start(args->out_blocks, b);
        uint64_t sent = args->in_blocks->counts[b], received = args->out_blocks->counts[b];
        if (sent != received || (in != out && sent > 0)) {
            return weft_fail(WEFT_ERR_ARG, 0,
                             "weft_all_to_all_v: in place needs equal vectors, block %u has "
                             "%" PRIu64 " elements at %" PRIu64 " to send and %" PRIu64
                             " at %" PRIu64 " to receive",
                             b, sent, in, received, out);
        }
    }
    return WEFT_OK;
}

/* A reduce_scatter_v in place puts the result where this rank's block is, which is sent. Where send
 * blocks overlap, parts of others are there too, and may not have been sent yet. */
static weft_status_t args_check_own_place(const weft_comm_identity_t *self, const weft_args_t *args)
{
    const weft_blocks_t *in = args->in_blocks;
    if (args->coll != WEFT_REDUCE_SCATTER_V || in->displs == NULL) {
        return WEFT_OK;
    }
    uint64_t mine = in->displs[self->rank], count = in->counts[self->rank];
    for (uint32_t b = 0; b < self->nranks; b++) {
        if (b != self->rank && in->counts[b] > 0 && mine < in->displs[b] + in->counts[b] &&
            in->displs[b] < mine + count) {
            return weft_fail(WEFT_ERR_ARG, 0,
                             "weft_reduce_scatter_v: in place the result of block %u (%" PRIu64
                             " elements at %" PRIu64 ") would take the place of send block %u "
                             "(%" PRIu64 " at %" PRIu64 ")",
                             self->rank, count, mine, b, in->counts[b], in->displs[b]);
        }
    }
    return WEFT_OK;
}

static weft_status_t args_check_overlap(const weft_comm_identity_t *self, const weft_args_t *args,
                                        size_t elem)
{
    uintptr_t send = (uintptr_t)args->send;
    uintptr_t recv = (uintptr_t)args->recv;
    if (args->send_bytes == 0 || args->recv_bytes == 0 || send >= recv + args->recv_bytes ||
        recv >= send + args->send_bytes) {
        return WEFT_OK;
    }
    if ((int64_t)(send - recv) == args_in_place_offset(self, args) * (int64_t)elem) {
        weft_status_t status = args_check_same_blocks(self, args);
        return status == WEFT_OK ? args_check_own_place(self, args) : status;
    }
    char in_place[48];
    args_write_in_place(self, args, elem, in_place, sizeof in_place);
    return weft_fail(WEFT_ERR_ARG, 0,
                     "%s: send and recv overlap: send is recv %+" PRId64
                     " bytes; for a call in place it is %s",
                     weft_coll_call(args->coll), (int64_t)(send - recv), in_place);
}

/* True if this rank passes vectors for that side. */
static bool args_wants_vectors(weft_coll_t coll, weft_operand_kind_t side, bool root)
{
    bool has_side = side == WEFT_OPERAND_IN ? weft_coll_has_input(coll, root)
                                            : weft_coll_has_output(coll, root);
    return weft_coll_has_vectors(coll) && has_side && weft_coll_has_blocks(coll, side);
}

/* Drops vectors that this rank does not use, and takes its own count from those that contain it. */
static weft_status_t args_take_vectors(const weft_comm_identity_t *self, weft_args_t *args)
{
    bool root = args->root == self->rank;
    bool in = args_wants_vectors(args->coll, WEFT_OPERAND_IN, root);
    bool out = args_wants_vectors(args->coll, WEFT_OPERAND_OUT, root);
    args->in_blocks = in ? args->in_blocks : NULL;
    args->out_blocks = out ? args->out_blocks : NULL;
    if ((in && (args->in_blocks == NULL || args->in_blocks->counts == NULL)) ||
        (out && (args->out_blocks == NULL || args->out_blocks->counts == NULL))) {
        return weft_fail(
            WEFT_ERR_ARG, 0, "%s: the vector of %s counts is NULL", weft_coll_call(args->coll),
            in && (args->in_blocks == NULL || args->in_blocks->counts == NULL) ? "send"
                                                                               : "receive");
    }
    if (args->coll == WEFT_ALL_GATHER_V) {
        args->count = args->out_blocks->counts[self->rank];
    } else if (args->coll == WEFT_REDUCE_SCATTER_V) {
        args->count = args->in_blocks->counts[self->rank];
    }
    return WEFT_OK;
}

/* Computes the bytes of one side: blocks of `count` elements, or the vectors of a vector
 * collective. */
static inline weft_status_t args_measure_side(const weft_comm_identity_t *self,
                                              const weft_args_t *args, weft_operand_kind_t side,
                                              size_t elem, uint64_t *bytes_p)
{
    const weft_blocks_t *vectors = side == WEFT_OPERAND_IN ? args->in_blocks : args->out_blocks;
    uint64_t elements = args->count, blocks = 1;
    if (vectors != NULL) {
        weft_status_t status =
            weft_vectors_extent(weft_args_call(args), vectors, self->nranks, elem, &elements);
        if (status != WEFT_OK) {
            return status;
        }
    } else {
        blocks = weft_coll_blocks(args->coll, self->nranks, side);
    }
    if (__builtin_mul_overflow(elements, blocks * elem, bytes_p) || *bytes_p > INT64_MAX) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "%s: %" PRIu64 " elements of %zu bytes on %u ranks overflow",
                         weft_args_call(args), args->count, elem, self->nranks);
    }
    return WEFT_OK;
}

/* Computes the extents of both sides. Even where a buffer is not used, all ranks must come to the
 * same answer about its size. */
static weft_status_t args_measure(const weft_comm_identity_t *self, weft_args_t *args, size_t elem)
{
    uint64_t send_bytes = 0, recv_bytes = 0;
    weft_status_t status = args_measure_side(self, args, WEFT_OPERAND_IN, elem, &send_bytes);
    if (status == WEFT_OK) {
        status = args_measure_side(self, args, WEFT_OPERAND_OUT, elem, &recv_bytes);
    }
    args->send_bytes = args_uses_side(self, args, WEFT_OPERAND_IN) ? send_bytes : 0;
    args->recv_bytes = args_uses_side(self, args, WEFT_OPERAND_OUT) ? recv_bytes : 0;
    return status;
}

weft_status_t weft_args_check_numbers(const weft_comm_identity_t *self, const weft_user_ops_t *ops,
                                      weft_args_t *args, const weft_call_t *call)
{
    weft_status_t status = call != NULL ? args_check_options(self, args, call) : WEFT_OK;
    args->send_bytes = args->recv_bytes = 0;
    if (status == WEFT_OK) {
        status = args_check_names(self, ops, args, call);
    }
    if (status == WEFT_OK && weft_coll_has_vectors(args->coll)) {
        status = args_take_vectors(self, args);
    }
    return status == WEFT_OK ? args_measure(self, args, weft_dtype_bytes(args->dtype)) : status;
}

/* Takes the extents from the last call if this one has the same numbers. */
static bool args_recall(const weft_args_memo_t *memo, weft_args_t *args)
{
    bool same = memo->count == args->count && memo->coll == args->coll &&
                memo->dtype == args->dtype && memo->op == args->op &&
                (memo->root == args->root || args->coll == WEFT_SEND_RECV);
    if (same) {
        args->send_bytes = memo->send_bytes;
        args->recv_bytes = memo->recv_bytes;
    }
    return same;
}

/* Remembers arguments that were good, unless that depends on more than the numbers: on vectors, on
 * a factor, on an operator that the user can destroy. */
static void args_remember(weft_args_memo_t *memo, const weft_args_t *args)
{
    bool reduces = weft_coll_reduces(args->coll);
    if (!weft_coll_has_vectors(args->coll) &&
        (!reduces || ((int)args->op < WEFT_OP_COUNT && args->op != WEFT_PREMULSUM))) {
        *memo = (weft_args_memo_t){.count = args->count,
                                   .coll = args->coll,
                                   .dtype = args->dtype,
                                   .op = args->op,
                                   .root = args->root,
                                   .send_bytes = args->send_bytes,
                                   .recv_bytes = args->recv_bytes};
    }
}

weft_status_t weft_args_check(const weft_comm_identity_t *self, const weft_user_ops_t *ops,
                              weft_args_memo_t memos[2], weft_args_t *args, const weft_call_t *call)
{
    weft_args_memo_t *memo = &memos[args->sends];
    weft_status_t status = WEFT_OK;
    if (!args_recall(memo, args)) {
        status = weft_args_check_numbers(self, ops, args, call);
        if (status == WEFT_OK) {
            args_remember(memo, args);
        }
    } else if (call != NULL) {
        status = args_check_options(self, args, call);
    }
    size_t elem = weft_dtype_bytes(args->dtype);
    if (status == WEFT_OK) {
        status = args_check_buffers(self, args, elem);
    }
    return status == WEFT_OK ? args_check_overlap(self, args, elem) : status;
}

/* A receive in a stream has its number before it is known what has come. */
static weft_status_t args_check_any(const weft_comm_identity_t *self, const weft_call_t *call,
                                    bool may_send_to_self)
{
    if (weft_call_in_stream(call)) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "weft_recv: a receive from any rank cannot be put in a stream");
    }
    if (self->nranks == 1 && !may_send_to_self) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "weft_recv: there is no other rank to receive from, and no weft_send to "
                         "this one was called before; put the two in a group, or make the first "
                         "one asynchronous");
    }
    return WEFT_OK;
}

weft_status_t weft_args_check_peer(const weft_comm_identity_t *self, const weft_args_t *args,
                                   const weft_call_t *call, bool may_send_to_self)
{
    const char *name = weft_args_call(args);
    if (args->root == WEFT_ANY_RANK && !args->sends) {
        return args_check_any(self, call, may_send_to_self);
    }
    if (args->root == WEFT_ANY_RANK) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "weft_send: a message goes to one rank; WEFT_ANY_RANK is for weft_recv");
    }
    if (args->root >= self->nranks) {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: peer %u is out of range 0 … %u", name, args->root,
                         self->nranks - 1);
    }
    if (args->root == self->rank && !may_send_to_self) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "%s: rank %u to itself would wait for ever, since no %s of its own was "
                         "called before; put the two in a group, or make the first one "
                         "asynchronous",
                         name, self->rank, args->sends ? "weft_recv" : "weft_send");
    }
    return WEFT_OK;
}

weft_status_t weft_args_check_one_sided(const weft_comm_identity_t *self, weft_args_t *args,
                                        const weft_call_t *call)
{
    const bool waits = args->one_sided == WEFT_ONE_SIDED_WAIT;
    weft_status_t status = call != NULL ? args_check_options(self, args, call) : WEFT_OK;
    args->send_bytes = args->recv_bytes = 0;
    if (status == WEFT_OK) {
        status = args_check_names(self, NULL, args, call);
    }
    if (status == WEFT_OK && args->root >= self->nranks) {
        status = weft_fail(WEFT_ERR_ARG, 0, "%s: peer %u is out of range 0 … %u",
                           weft_args_call(args), args->root, self->nranks - 1);
    }
    if (status == WEFT_OK && !waits) {
        status = args_measure(self, args, weft_dtype_bytes(args->dtype));
        status = status == WEFT_OK ? args_check_buffers(self, args, weft_dtype_bytes(args->dtype))
                                   : status;
    }
    return status;
}
