/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The signature of an operation: the arguments on which all ranks must agree. It travels in every
 * slot, in 24 bytes, so that the first slice between two ranks reveals a call that does not
 * match. */
#ifndef WEFT_BASE_SIGNATURE_H
#define WEFT_BASE_SIGNATURE_H

#include <stdbool.h>
#include <string.h>

#include <weft/plugin/draft/lanes.h>

/* Roots of the core's own exchanges, which are all-gathers, so that no all_gather of the user is
 * taken for one, and no exchange for another. The number of the window is added to those of
 * windows. */
#define WEFT_ROOT_CORE 0xffffff00u
#define WEFT_ROOT_WINDOW_EXPORT WEFT_ROOT_CORE
#define WEFT_ROOT_WINDOW_IMPORT (WEFT_ROOT_CORE + 1 * WEFT_LANES_WINDOWS)
#define WEFT_ROOT_WINDOW_END (WEFT_ROOT_CORE + 2 * WEFT_LANES_WINDOWS)
#define WEFT_ROOT_SPLIT UINT32_MAX
#define WEFT_ROOT_GROUP (UINT32_MAX - 1)
#define WEFT_ROOT_GROW (UINT32_MAX - 2)
/* Of calls that exchange nothing over the communicator; in flight records only. */
#define WEFT_ROOT_AGREE (UINT32_MAX - 3)
#define WEFT_ROOT_SHRINK (UINT32_MAX - 4)
#define WEFT_ROOT_SETTLE (UINT32_MAX - 5)

typedef struct weft_signature {
    uint8_t coll;   /* weft_coll_t */
    uint8_t dtype;  /* weft_dtype_t */
    uint8_t op;     /* weft_op_t; 0 for collectives that do not reduce */
    uint8_t greets; /* 0; not 0 in a greeting between devices (weft/plugin/draft/lanes.h) */
    uint32_t root;  /* 0 for collectives without root */
    uint64_t count;
    uint32_t sequence; /* low bits of the sequence number in the communicator */
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

/* A run of equal operations, which differ in their numbers only. */
typedef struct weft_signature_run {
    weft_signature_t last;
    uint32_t length; /* 0: there are none, or they are not known */
} weft_signature_run_t;

/* Room for every difference in words. */
#define WEFT_SIGNATURE_DIFF 320

/* Writes the first field that differs with both values, such as "count 8 here, 16 there"; "" if the
 * signatures are equal. Whoever called another function is told that first: nothing else has to
 * agree then. */
void weft_signature_diff(const weft_signature_t *here, const weft_signature_t *there, char *text,
                         size_t bytes);
/* Writes the operation in words: "all_reduce of 8 float", "broadcast of 8 float, root 1",
 * "comm_grow". */
void weft_signature_text(const weft_signature_t *signature, char *text, size_t bytes);

#endif
