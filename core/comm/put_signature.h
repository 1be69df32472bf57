/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The signature of a put, which says where its bytes go. It travels with every slice. */
#ifndef WEFT_COMM_PUT_SIGNATURE_H
#define WEFT_COMM_PUT_SIGNATURE_H

#include "core/base/dtype.h"
#include "core/base/signature.h"
#include "core/comm/args.h"

/* Beyond any address, and as much as the signature has room for. */
#define WEFT_PUT_OFFSET_MOST ((UINT64_C(1) << 48) - 1)

static inline weft_signature_t weft_put_signature(const weft_args_t *args, uint64_t sequence)
{
    return (weft_signature_t){.coll = WEFT_SEND_RECV,
                              .dtype = (uint8_t)(args->offset >> 32),
                              .op = (uint8_t)(args->offset >> 40),
                              .root = args->target,
                              .count = args->count * weft_dtype_bytes(args->dtype),
                              .sequence = (uint32_t)sequence,
                              .plan = (uint32_t)args->offset};
}

/* Returns the arguments of the receive that belongs to a put, without its buffer. */
static inline weft_args_t weft_put_arrival(const weft_signature_t *put, uint32_t from)
{
    return (weft_args_t){.coll = WEFT_SEND_RECV,
                         .dtype = WEFT_UINT8,
                         .one_sided = WEFT_ONE_SIDED_PUT,
                         .root = from,
                         .count = put->count,
                         .recv_bytes = put->count,
                         .target = put->root,
                         .offset =
                             (uint64_t)put->op << 40 | (uint64_t)put->dtype << 32 | put->plan};
}

/* Returns the number of the put that arrives behind `completed` others; 0: it was captured, and has
 * none. Only the low bits of a number travel, which are 0 once in 2^32 puts. A captured put that
 * comes just then is taken for the numbered one, and that for the captured one: the count is
 * right. */
static inline uint64_t weft_put_arrival_number(const weft_signature_t *put, uint64_t completed)
{
    return put->sequence != 0 || (uint32_t)(completed + 1) == 0 ? completed + 1 : 0;
}

#endif
