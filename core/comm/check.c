/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Argument checks: what this rank can judge before anything is sent. */
#include <inttypes.h>

#include "core/base/error.h"
#include "core/comm/comm.h"

typedef struct coll_facts {
    const char *call;
    bool reduces, rooted;
} coll_facts_t;

static const coll_facts_t facts[] = {
#define FACTS(value, name, text, reduces, rooted, shape) [value] = {"weft_" text, reduces, rooted},
    WEFT_COLL_MAP(FACTS)
#undef FACTS
};

static weft_status_t check_names(const weft_comm_state_t *state, const weft_args_t *args,
                                 const weft_call_t *call)
{
    const coll_facts_t *f = &facts[args->coll];
    if (call != NULL && call->size < sizeof *call) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "%s: weft_call_t.size is %zu, set it to sizeof(weft_call_t) = %zu",
                         f->call, call->size, sizeof *call);
    }
    if ((unsigned)args->dtype >= WEFT_DTYPE_COUNT) {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: unknown data type %d, known are 0 … %d", f->call,
                         (int)args->dtype, WEFT_DTYPE_COUNT - 1);
    }
    if (f->reduces && (unsigned)args->op >= WEFT_OP_COUNT) {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: unknown operator %d, known are 0 … %d", f->call,
                         (int)args->op, WEFT_OP_COUNT - 1);
    }
    if (f->rooted && args->root >= state->nranks) {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: root %u is out of range 0 … %u", f->call, args->root,
                         state->nranks - 1);
    }
    if (f->reduces && args->op == WEFT_PREMULSUM && (call == NULL || call->scalar == NULL)) {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: operator mulsum needs weft_call_t.scalar", f->call);
    }
    return WEFT_OK;
}

static weft_status_t check_buffer(const char *call, const char *which, const void *buffer,
                                  uint64_t bytes, size_t elem)
{
    if (buffer == NULL) {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: the %s buffer is NULL, %" PRIu64 " bytes are needed",
                         call, which, bytes);
    }
    if ((uintptr_t)buffer % elem != 0) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "%s: the %s buffer %p is not aligned to elements of %zu bytes", call,
                         which, buffer, elem);
    }
    if ((uintptr_t)buffer + bytes < (uintptr_t)buffer) {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: the %s buffer wraps around the address space", call,
                         which);
    }
    return WEFT_OK;
}

/* Where the send buffer must be relative to recv for a legal in-place call, in bytes. */
static int64_t in_place_offset(const weft_comm_state_t *state, weft_coll_t coll, uint64_t block)
{
    if (coll == WEFT_ALL_GATHER) {
        return (int64_t)(state->rank * block);
    }
    return coll == WEFT_REDUCE_SCATTER ? -(int64_t)(state->rank * block) : 0;
}

static weft_status_t check_overlap(const weft_comm_state_t *state, const weft_args_t *args,
                                   uint64_t block, uint64_t send_bytes, uint64_t recv_bytes)
{
    uintptr_t send = (uintptr_t)args->send;
    uintptr_t recv = (uintptr_t)args->recv;
    if (send >= recv + recv_bytes || recv >= send + send_bytes) {
        return WEFT_OK;
    }
    int64_t offset = in_place_offset(state, args->coll, block);
    if ((int64_t)(send - recv) == offset) {
        return WEFT_OK;
    }
    return weft_fail(WEFT_ERR_ARG, 0,
                     "%s: send and recv overlap; in place send must be recv %+" PRId64
                     " bytes, it is "
                     "%+" PRId64,
                     facts[args->coll].call, offset, (int64_t)(send - recv));
}

weft_status_t weft_args_check(const weft_comm_state_t *state, const weft_args_t *args,
                              const weft_call_t *call)
{
    weft_status_t status = check_names(state, args, call);
    if (status != WEFT_OK || args->count == 0) {
        return status;
    }
    const char *name = facts[args->coll].call;
    size_t elem = weft_dtype_size(args->dtype);
    uint64_t block, all;
    if (__builtin_mul_overflow(args->count, (uint64_t)elem, &block) ||
        __builtin_mul_overflow(block, (uint64_t)state->nranks, &all) || all > INT64_MAX) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "%s: %" PRIu64 " elements of %zu bytes on %u ranks overflow", name,
                         args->count, elem, state->nranks);
    }
    bool root = args->root == state->rank;
    bool uses_send = args->coll != WEFT_BROADCAST || root;
    bool uses_recv = args->coll != WEFT_REDUCE || root;
    uint64_t send_bytes = args->coll == WEFT_REDUCE_SCATTER ? all : block;
    uint64_t recv_bytes = args->coll == WEFT_ALL_GATHER ? all : block;
    if (uses_send) {
        status = check_buffer(name, "send", args->send, send_bytes, elem);
    }
    if (status == WEFT_OK && uses_recv) {
        status = check_buffer(name, "recv", args->recv, recv_bytes, elem);
    }
    if (status == WEFT_OK && uses_send && uses_recv) {
        status = check_overlap(state, args, block, send_bytes, recv_bytes);
    }
    return status;
}
