/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cutting a message in passes, chunks and slices. */
#include "core/exec/geometry.h"

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static uint64_t round_up(uint64_t a, uint64_t unit)
{
    return divide_up(a, unit) * unit;
}

void weft_geometry_set(weft_geometry_t *g, uint64_t count, size_t elem, const weft_cut_t *cut)
{
    /* Whole cache lines, so that slices of aligned buffers stay aligned. */
    uint64_t line = 64 / elem;
    uint64_t largest = cut->slice_bytes / elem * cut->slices; /* elements of a chunk at most */
    uint64_t passes = count == 0 ? 1 : divide_up(divide_up(count, cut->k), largest);

    passes = round_up(passes, cut->channels);
    uint64_t chunk = round_up(divide_up(divide_up(count, passes), cut->k), line);
    if (chunk > largest) {
        chunk = largest;
    }
    if (chunk == 0) {
        chunk = line;
    }
    g->count = count;
    g->k = cut->k;
    g->slices = cut->slices;
    g->chunk = chunk;
    g->slice = round_up(divide_up(chunk, cut->slices), line);
    g->pass = chunk * cut->k;
    g->passes = count == 0 ? 1 : divide_up(count, g->pass);
}

void weft_geometry_set_largest(weft_geometry_t *g, size_t elem, const weft_cut_t *cut)
{
    uint64_t slice = cut->slice_bytes / elem, chunk = slice * cut->slices;
    *g = (weft_geometry_t){.count = chunk * cut->k,
                           .slice = slice,
                           .chunk = chunk,
                           .pass = chunk * cut->k,
                           .passes = 1,
                           .slices = cut->slices,
                           .k = cut->k};
}
