/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts and displacements of vector collectives: checked, copied, completed. */
#ifndef WEFT_COMM_VECTORS_H
#define WEFT_COMM_VECTORS_H

#include "core/base/signature.h"
#include "core/comm/args.h"
#include "core/comm/identity.h"
#include "core/exec/interpreter.h"

/* The vectors of one call, copied and completed. */
typedef struct weft_bound_vectors {
    weft_vectors_t v;
    uint64_t largest;  /* elements of the largest block of either side */
    uint64_t total;    /* the signature's count where all ranks know it; else 0 */
    uint32_t hash;     /* of what all ranks know alike; else 0 */
    uint64_t values[]; /* in counts, in displacements, out counts, out displacements */
} weft_bound_vectors_t;

/* Copies the vectors of a call; free with weft_os_free(). ERR_ARG: blocks overlap, or a
 * rank's block for itself has two lengths. ERR_RESOURCE. */
weft_status_t weft_vectors_bind(const weft_comm_identity_t *self, const weft_args_t *args,
                                weft_bound_vectors_t **vectors_p);

/* Finds the block by which two ranks differ, if it is one alone and both have the same plan: the
 * signatures carry the sum of the counts and a hash of them, so each block is tried. Returns its
 * number, or `n`: it is not known. */
uint32_t weft_vectors_find(const weft_bound_vectors_t *bound, uint32_t n,
                           const weft_signature_t *mine, const weft_signature_t *theirs);
/* Returns block `b` of the vector that all ranks know. */
uint64_t weft_vectors_count(const weft_bound_vectors_t *bound, weft_coll_t coll, uint32_t b);

/* Returns the class of sizes that a call is prepared for: the next power of two where all ranks
 * know the vectors, 0 where only pairs of ranks do. */
uint64_t weft_vectors_class(weft_coll_t coll, uint64_t largest);

/* Returns the property that a plan needs to serve the collective. */
weft_vector_t weft_vectors_need(weft_coll_t coll);

/* Counts the elements, of `elem` bytes, from the start of the buffer to the end of its last block.
 * ERR_ARG: overflow. */
weft_status_t weft_vectors_extent(const char *call, const weft_blocks_t *blocks, uint32_t n,
                                  size_t elem, uint64_t *extent_p);

/* Returns the element at which block `b` starts. */
uint64_t weft_vectors_start(const weft_blocks_t *blocks, uint32_t b);

#endif
