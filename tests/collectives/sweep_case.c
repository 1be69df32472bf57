/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See sweep_case.h. */
#include "tests/collectives/sweep_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"
#include "tests/support/values.h"

typedef struct buffers {
    uint8_t *send, *recv, *expected; /* send and recv may alias */
    uint8_t *memory[2];              /* what to free */
    uint8_t *device[2];              /* their copies on the device */
    size_t bytes[2];
    uint64_t send_count, recv_count; /* elements; recv_count 0: no defined result here */
} buffers_t;

/* Windows of a rank, which is a thread. */
typedef struct windows {
    uint8_t *memory[2]; /* NULL: there are none */
    weft_window_t *window[2];
    size_t bytes;
} windows_t;

enum { ALIGNMENT = 64 };

static _Thread_local windows_t windows;
static int on_device;

void sweep_on_device(int where)
{
    on_device = where;
}

int sweep_reduces(weft_coll_t coll)
{
    return coll == WEFT_ALL_REDUCE || coll == WEFT_REDUCE || coll == WEFT_REDUCE_SCATTER;
}

int sweep_is_fixed(weft_coll_t coll)
{
    return coll <= WEFT_SCATTER && coll != WEFT_BARRIER;
}

void sweep_user_add(void *inout, const void *in, uint64_t count, weft_dtype_t dtype, void *arg)
{
    (void)arg;
    for (uint64_t i = 0; i < count; i++) {
        switch (dtype) {
        case WEFT_INT32:
            ((int32_t *)inout)[i] += ((const int32_t *)in)[i];
            break;
        case WEFT_INT64:
            ((int64_t *)inout)[i] += ((const int64_t *)in)[i];
            break;
        case WEFT_FP32:
            ((float *)inout)[i] += ((const float *)in)[i];
            break;
        default:
            ((double *)inout)[i] += ((const double *)in)[i];
        }
    }
}

static weft_op_t meaning(const sweep_case_t *c)
{
    return c->op == WEFT_OP_USER ? WEFT_SUM : c->op;
}

/* Element j of rank r's send buffer, as a number. */
static double input(const sweep_case_t *c, uint32_t n, uint32_t r, uint64_t j)
{
    return sweep_reduces(c->coll) ? values_input(c->dtype, meaning(c), n, r, j)
                                  : (double)((r * 31 + j * 7) % 7);
}

static double output(const sweep_case_t *c, uint32_t n, uint32_t rank, uint64_t j)
{
    uint64_t block = c->count > 0 ? j / c->count : 0;
    switch (c->coll) {
    case WEFT_ALL_REDUCE:
    case WEFT_REDUCE:
        return values_reduced(c->dtype, meaning(c), n, j);
    case WEFT_REDUCE_SCATTER:
        return values_reduced(c->dtype, meaning(c), n, rank * c->count + j);
    case WEFT_ALL_GATHER:
    case WEFT_GATHER:
        return input(c, n, (uint32_t)block, j % c->count);
    case WEFT_ALL_TO_ALL:
        return input(c, n, (uint32_t)block, rank * c->count + j % c->count);
    case WEFT_SCATTER:
        return input(c, n, c->root, rank * c->count + j);
    default:
        return input(c, n, c->root, j);
    }
}

static void set_counts(const sweep_case_t *c, uint32_t n, uint32_t rank, buffers_t *b)
{
    int root = rank == c->root;
    uint64_t all = n * c->count;
    b->send_count = c->count;
    b->recv_count = c->count;
    switch (c->coll) {
    case WEFT_REDUCE_SCATTER:
        b->send_count = all;
        break;
    case WEFT_ALL_GATHER:
        b->recv_count = all;
        break;
    case WEFT_ALL_TO_ALL:
        b->send_count = all;
        b->recv_count = all;
        break;
    case WEFT_GATHER:
        b->recv_count = root ? all : 0;
        break;
    case WEFT_SCATTER:
        b->send_count = root ? all : 0;
        break;
    case WEFT_REDUCE:
        b->recv_count = root ? c->count : 0;
        break;
    default:
        break;
    }
}

static weft_status_t allocate(weft_comm_t *comm, size_t bytes, void **memory_p)
{
    weft_status_t status =
        on_device ? weft_mem_alloc_device(comm, bytes, memory_p) : WEFT_ERR_UNSUPPORTED;
    if (status == WEFT_ERR_UNSUPPORTED && on_device != SWEEP_DEVICE) {
        status = weft_mem_alloc(comm, bytes, memory_p);
    }
    return status;
}

int sweep_windows_open(weft_comm_t *comm, uint64_t elements)
{
    weft_status_t status = WEFT_OK;
    windows = (windows_t){.bytes = elements * 8 + 4 * ALIGNMENT};
    for (int i = 0; i < 2 && status == WEFT_OK; i++) {
        void *memory = NULL;
        status = allocate(comm, windows.bytes, &memory);
        windows.memory[i] = memory;
        if (status == WEFT_OK) {
            status = weft_window_register(comm, memory, windows.bytes, &windows.window[i]);
        }
    }
    return status != WEFT_OK;
}

int sweep_windows_close(weft_comm_t *comm)
{
    int wrong = 0;
    for (int i = 0; i < 2 && windows.memory[i] != NULL; i++) {
        wrong += weft_window_deregister(comm, windows.window[i]) != WEFT_OK;
        wrong += weft_mem_free(comm, windows.memory[i]) != WEFT_OK;
    }
    windows = (windows_t){.bytes = 0};
    return wrong;
}

/* Where area i of a case is in the window: not at its beginning. */
static uint8_t *in_window(int i, size_t bytes)
{
    assert_true(bytes + ALIGNMENT <= windows.bytes);
    return windows.memory[i] + ALIGNMENT;
}

static uint8_t *take(size_t bytes)
{
    void *memory = malloc(bytes + 64);
    assert_non_null(memory);
    return memset(memory, 0x5a, bytes + 64);
}

/* Area i of the buffers. */
static uint8_t *take_area(int i, size_t bytes)
{
    return windows.memory[i] != NULL && !on_device
               ? memset(in_window(i, bytes + ALIGNMENT), 0x5a, bytes + ALIGNMENT)
               : take(bytes);
}

/* In place the smaller buffer lies inside the larger one, where the collective says; on a rank that
 * is not the root of a gather or a scatter there is nothing to share. */
static void place(const sweep_case_t *c, uint32_t rank, buffers_t *b, size_t elem)
{
    uint64_t most = b->send_count > b->recv_count ? b->send_count : b->recv_count;
    int has_both = c->coll != WEFT_GATHER && c->coll != WEFT_SCATTER;
    b->bytes[0] = most * elem + 64;
    b->bytes[1] = b->send_count * elem + 64;
    b->memory[0] = take_area(0, most * elem);
    b->recv = b->memory[0];
    if (!c->in_place || (!has_both && rank != c->root)) {
        b->memory[1] = take_area(1, b->send_count * elem);
        b->send = b->memory[1];
        return;
    }
    size_t shift = rank * c->count * elem;
    int small_send = c->coll == WEFT_ALL_GATHER || c->coll == WEFT_GATHER;
    int small_recv = c->coll == WEFT_REDUCE_SCATTER || c->coll == WEFT_SCATTER;
    b->send = b->memory[0] + (small_send ? shift : 0);
    b->recv = b->memory[0] + (small_recv ? shift : 0);
}

static void prepare(const sweep_case_t *c, uint32_t n, uint32_t rank, buffers_t *b)
{
    size_t elem = weft_dtype_size(c->dtype);
    *b = (buffers_t){0};
    set_counts(c, n, rank, b);
    place(c, rank, b, elem);
    b->expected = take(b->recv_count * elem);
    for (uint64_t j = 0; j < b->send_count; j++) {
        values_put(b->send, j, c->dtype, input(c, n, rank, j));
    }
    for (uint64_t j = 0; j < b->recv_count; j++) {
        values_put(b->expected, j, c->dtype, output(c, n, rank, j));
    }
}

static void release(buffers_t *b)
{
    free(b->expected);
    if (windows.memory[0] == NULL || on_device) {
        free(b->memory[0]);
        free(b->memory[1]);
    }
}

static weft_status_t call(const sweep_case_t *c, const buffers_t *b, weft_comm_t *comm,
                          const weft_call_t *options)
{
    weft_op_t op = c->op == WEFT_OP_USER ? c->user_op : c->op;
    switch (c->coll) {
    case WEFT_ALL_REDUCE:
        return weft_all_reduce(b->send, b->recv, c->count, c->dtype, op, comm, options);
    case WEFT_REDUCE_SCATTER:
        return weft_reduce_scatter(b->send, b->recv, c->count, c->dtype, op, comm, options);
    case WEFT_ALL_GATHER:
        return weft_all_gather(b->send, b->recv, c->count, c->dtype, comm, options);
    case WEFT_BROADCAST:
        return weft_broadcast(b->send, b->recv, c->count, c->dtype, c->root, comm, options);
    case WEFT_REDUCE:
        return weft_reduce(b->send, b->recv, c->count, c->dtype, op, c->root, comm, options);
    case WEFT_ALL_TO_ALL:
        return weft_all_to_all(b->send, b->recv, c->count, c->dtype, comm, options);
    case WEFT_GATHER:
        return weft_gather(b->send, b->recv, c->count, c->dtype, c->root, comm, options);
    case WEFT_SCATTER:
        return weft_scatter(b->send, b->recv, c->count, c->dtype, c->root, comm, options);
    default:
        return weft_barrier(comm, options);
    }
}

/* Puts both areas on the device. */
static weft_status_t to_device(weft_comm_t *comm, buffers_t *b)
{
    weft_status_t status = WEFT_OK;
    for (int i = 0; i < 2 && status == WEFT_OK; i++) {
        void *there = NULL;
        if (b->memory[i] == NULL) {
            continue;
        }
        if (windows.memory[i] != NULL) {
            there = in_window(i, b->bytes[i]);
        } else {
            status = allocate(comm, b->bytes[i], &there);
        }
        if (status == WEFT_OK) {
            b->device[i] = there;
            status = weft_mem_copy(comm, there, b->memory[i], b->bytes[i]);
        }
    }
    return status;
}

/* The same place in the area's copy on the device. */
static uint8_t *there(const buffers_t *b, const uint8_t *here)
{
    int i = b->memory[1] != NULL && here >= b->memory[1] && here < b->memory[1] + b->bytes[1];
    return b->device[i] + (here - b->memory[i]);
}

static weft_status_t from_device(weft_comm_t *comm, buffers_t *b, weft_status_t status)
{
    for (int i = 0; i < 2; i++) {
        if (status == WEFT_OK && b->device[i] != NULL) {
            status = weft_mem_copy(comm, b->memory[i], b->device[i], b->bytes[i]);
        }
        if (b->device[i] != NULL && windows.memory[i] == NULL &&
            weft_mem_free(comm, b->device[i]) != WEFT_OK) {
            status = WEFT_ERR_INTERNAL;
        }
    }
    return status;
}

static weft_status_t call_on_device(const sweep_case_t *c, buffers_t *b, weft_comm_t *comm,
                                    const weft_call_t *options)
{
    buffers_t over = *b;
    weft_status_t status = to_device(comm, b);
    if (status == WEFT_OK) {
        over.send = there(b, b->send);
        over.recv = there(b, b->recv);
        status = call(c, &over, comm, options);
    }
    return from_device(comm, b, status);
}

/* The bytes behind an out-of-place result must be as they were. */
static int overran(const sweep_case_t *c, const buffers_t *b, size_t elem)
{
    return !c->in_place && b->recv[b->recv_count * elem] != 0x5a;
}

int sweep_case_run(const sweep_case_t *c, weft_comm_t *comm, uint32_t rank, uint32_t n)
{
    buffers_t b;
    size_t elem = weft_dtype_size(c->dtype);
    uint8_t scalar[8];
    values_put(scalar, 0, c->dtype, values_scalar(rank));
    weft_call_t options = {.size = sizeof options, .scalar = scalar};
    prepare(c, n, rank, &b);
    weft_status_t status =
        on_device ? call_on_device(c, &b, comm, &options) : call(c, &b, comm, &options);
    int wrong = status != WEFT_OK || memcmp(b.recv, b.expected, b.recv_count * elem) != 0 ||
                overran(c, &b, elem);
    if (wrong) {
        const char *op = c->op == WEFT_OP_USER ? "user" : weft_op_name(c->op);
        fprintf(stderr, "rank %u of %u: %s %s %s count %llu root %u in place %d: %s\n", rank, n,
                weft_coll_name(c->coll), weft_dtype_name(c->dtype), op,
                (unsigned long long)c->count, c->root, c->in_place,
                status == WEFT_OK ? "wrong result" : weft_status_name(status));
    }
    release(&b);
    return wrong;
}
