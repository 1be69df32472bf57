/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a message is cut: passes, chunks, slices. A pure function of the call and the tuner's answer, so
 * that every rank cuts alike. All lengths in elements of one block. */
#ifndef WEFT_EXEC_GEOMETRY_H
#define WEFT_EXEC_GEOMETRY_H

#include <weft/types.h>

typedef struct weft_geometry {
    uint64_t count;  /* elements of a block */
    uint64_t slice;  /* of a slice; the last ones of a chunk may be shorter or empty */
    uint64_t chunk;  /* of a chunk; at most slices × slice */
    uint64_t pass;   /* of a pass = k × chunk */
    uint64_t passes; /* at least 1: an empty message still passes its slices */
    uint32_t slices; /* per chunk */
    uint32_t k;      /* chunks per block and pass */
} weft_geometry_t;

/* What the tuner answered, and for how many channels. */
typedef struct weft_cut {
    uint32_t k, slices;   /* at least 1 */
    uint64_t slice_bytes; /* a multiple of 64, at least 64 */
    uint32_t channels; /* passes are a multiple of it, as far as there are elements; at least 1 */
} weft_cut_t;

/* The message is spread evenly over the passes and the slices are made no larger than needed. */
void weft_geometry_set(weft_geometry_t *g, uint64_t count, size_t elem, const weft_cut_t *cut);

/* Room for any count, for v-forms: full slices, one pass. */
void weft_geometry_set_largest(weft_geometry_t *g, size_t elem, const weft_cut_t *cut);

/* Elements of piece `i` in pass `t` of a block of `count` elements, clipped at its end. */
static inline uint64_t weft_geometry_chunk(const weft_geometry_t *g, uint64_t count, uint64_t t,
                                           uint32_t i)
{
    uint64_t start = t * g->pass + i * g->chunk;
    if (start >= count) {
        return 0;
    }
    return count - start < g->chunk ? count - start : g->chunk;
}

/* Elements of slice `s` of a chunk of `chunk` elements. */
static inline uint64_t weft_geometry_slice(const weft_geometry_t *g, uint64_t chunk, uint32_t s)
{
    uint64_t start = s * g->slice;
    if (start >= chunk) {
        return 0;
    }
    return chunk - start < g->slice ? chunk - start : g->slice;
}

#endif
