/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Folding with a user's function: block by block in a small accumulator, so that a destination may be
 * one of the sources. */
#include "core/exec/user.h"

#include <stdalign.h>
#include <string.h>

#define BLOCK_BYTES 4096u

static void fold_block(const weft_user_op_t *op, weft_dtype_t dtype, const weft_combine_t *c,
                       size_t at, uint64_t count)
{
    alignas(64) uint8_t block[BLOCK_BYTES];
    size_t bytes = count * weft_dtype_size(dtype);
    memcpy(block, (const uint8_t *)c->src[0] + at, bytes);
    for (uint32_t i = 1; i < c->nsrc; i++) {
        op->fn(block, (const uint8_t *)c->src[i] + at, count, dtype, op->arg);
    }
    for (uint32_t i = 0; i < c->ndst; i++) {
        memcpy((uint8_t *)c->dst[i] + at, block, bytes);
    }
}

void weft_user_combine(const weft_user_op_t *op, weft_dtype_t dtype, const weft_combine_t *c)
{
    size_t elem = weft_dtype_size(dtype);
    uint64_t most = BLOCK_BYTES / elem;
    for (uint64_t done = 0; done < c->count; done += most) {
        uint64_t count = c->count - done < most ? c->count - done : most;
        fold_block(op, dtype, c, done * elem, count);
    }
}
