/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Signature of one operation: what all ranks must agree on. 24 bytes that travel in every slot, so
 * that a mismatched call is found by the first slice that crosses an edge. */
#ifndef WEFT_BASE_SIGNATURE_H
#define WEFT_BASE_SIGNATURE_H

#include <stdbool.h>
#include <string.h>

#include <weft/types.h>

typedef struct weft_signature {
    uint8_t coll;     /* weft_coll_t */
    uint8_t dtype;    /* weft_dtype_t */
    uint8_t op;       /* weft_op_t; 0 for collectives that do not reduce */
    uint8_t reserved; /* 0 */
    uint32_t root;    /* 0 for collectives without root */
    uint64_t count;
    uint32_t sequence; /* low bits of the operation's number in the communicator */
    uint32_t plan;     /* hash of algorithm, parameters and slicing */
} weft_signature_t;

_Static_assert(sizeof(weft_signature_t) == 24, "travels in slot headers");

static inline bool weft_signature_equal(const weft_signature_t *a, const weft_signature_t *b)
{
    uint64_t x[3], y[3];
    memcpy(x, a, sizeof x);
    memcpy(y, b, sizeof y);
    return ((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2])) == 0;
}

/* Names the first field that differs, with both values: "count 8 here, 16 there". "" if equal. */
void weft_signature_diff(const weft_signature_t *here, const weft_signature_t *there, char *text,
                         size_t bytes);
/* "all_reduce of 8 float, sum". */
void weft_signature_text(const weft_signature_t *signature, char *text, size_t bytes);

#endif
