/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Arguments of an operation, from the entry point to the executor. */
#ifndef WEFT_COMM_ARGS_H
#define WEFT_COMM_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/weft.h>

/* What a send_recv is if only one of its ends is called: weft/one_sided.h. */
typedef enum weft_one_sided {
    WEFT_ONE_SIDED_NONE = 0,
    WEFT_ONE_SIDED_PUT, /* a send, which the other end receives by itself */
    WEFT_ONE_SIDED_WAIT /* a receive of `count` signals */
} weft_one_sided_t;

/* Arguments of one operation. The checks (args_check.h) complete them. */
typedef struct weft_args {
    const void *send;
    void *recv;
    uint64_t count;
    weft_coll_t coll;
    weft_dtype_t dtype;
    weft_op_t op;
    uint32_t root;                               /* of send_recv: the peer */
    bool sends;                                  /* send_recv: a send */
    uint8_t one_sided;                           /* send_recv: weft_one_sided_t */
    uint32_t target;                             /* put: number of the window; set by the checks */
    uint64_t offset;                             /* put: bytes from the window's beginning */
    const weft_window_t *window;                 /* put: as given; NULL: there are no bytes */
    const weft_blocks_t *in_blocks, *out_blocks; /* vector collective: the caller's, by side used */
    uint64_t send_bytes, recv_bytes; /* set by the checks: extent of each buffer, 0 = not used */
} weft_args_t;

/* Size of weft_call_t in its first version: programs built against it go on working. */
#define WEFT_CALL_LEAST offsetof(weft_call_t, scalar_read)

static inline bool weft_call_is_async(const weft_call_t *call)
{
    return call != NULL && (call->request_p != NULL || call->queue != NULL);
}

static inline bool weft_call_in_stream(const weft_call_t *call)
{
    return call != NULL && call->stream != NULL;
}

/* True if memory of that length would go on at the beginning of the address space. */
static inline bool weft_memory_wraps(const void *memory, uint64_t bytes)
{
    return (uintptr_t)memory + bytes < (uintptr_t)memory;
}

#endif
