/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Segmentation: how the buffer of a call is cut into passes, chunks and slices. It is a pure
 * function of the call and the tuner's answer, so that every rank cuts alike. All lengths are in
 * elements of one block. */
#ifndef WEFT_EXEC_SEGMENTATION_H
#define WEFT_EXEC_SEGMENTATION_H

#include <weft/types.h>

typedef struct weft_segmentation {
    uint64_t count;  /* elements of a block */
    uint64_t slice;  /* of a slice; the last ones of a chunk may be shorter or empty */
    uint64_t chunk;  /* of a chunk; at most slices × slice */
    uint64_t pass;   /* of a pass: k × chunk */
    uint64_t passes; /* at least 1: an empty block still passes its slices */
    uint32_t slices; /* per chunk */
    uint32_t k;      /* chunks per block and pass */
} weft_segmentation_t;

/* The tuner's answer, and the number of channels. */
typedef struct weft_segmentation_params {
    uint32_t k, slices;   /* at least 1 */
    uint64_t slice_bytes; /* a multiple of 64, at least 64 */
    uint32_t channels;    /* at least 1; passes are a multiple of it while there are elements */
} weft_segmentation_params_t;

/* Spreads the elements evenly over the passes and makes slices no larger than needed. */
void weft_segmentation_set(weft_segmentation_t *g, uint64_t count, size_t elem,
                           const weft_segmentation_params_t *params);

/* Leaves room for any count, for vector collectives: full slices, one pass. */
void weft_segmentation_set_largest(weft_segmentation_t *g, size_t elem,
                                   const weft_segmentation_params_t *params);

/* Returns the elements of the longest slice of a block. */
uint64_t weft_segmentation_longest(const weft_segmentation_t *g);

/* Returns the elements of chunk `i` in pass `t` of a block of `count` elements, clipped at its
 * end. */
static inline uint64_t weft_segmentation_chunk(const weft_segmentation_t *g, uint64_t count,
                                               uint64_t t, uint32_t i)
{
    uint64_t start = t * g->pass + i * g->chunk;
    if (start >= count) {
        return 0;
    }
    return count - start < g->chunk ? count - start : g->chunk;
}

/* Returns the elements of slice `s` of a chunk of `chunk` elements. */
static inline uint64_t weft_segmentation_slice(const weft_segmentation_t *g, uint64_t chunk,
                                               uint32_t s)
{
    uint64_t start = s * g->slice;
    if (start >= chunk) {
        return 0;
    }
    return chunk - start < g->slice ? chunk - start : g->slice;
}

#endif
