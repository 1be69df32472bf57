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

void weft_geometry_set(weft_geometry_t *g, uint64_t count, size_t elem, uint32_t k, uint32_t slices,
                       uint64_t slice_bytes)
{
    /* Whole cache lines, so that slices of aligned buffers stay aligned. */
    uint64_t line = 64 / elem;
    uint64_t largest = slice_bytes / elem * slices; /* elements of a chunk at most */
    uint64_t passes = count == 0 ? 1 : divide_up(divide_up(count, k), largest);

    uint64_t chunk = round_up(divide_up(divide_up(count, passes), k), line);
    if (chunk > largest) {
        chunk = largest;
    }
    if (chunk == 0) {
        chunk = line;
    }
    g->count = count;
    g->k = k;
    g->slices = slices;
    g->chunk = chunk;
    g->slice = round_up(divide_up(chunk, slices), line);
    g->pass = chunk * k;
    g->passes = count == 0 ? 1 : divide_up(count, g->pass);
}

void weft_geometry_set_largest(weft_geometry_t *g, size_t elem, uint32_t k, uint32_t slices,
                               uint64_t slice_bytes)
{
    uint64_t slice = slice_bytes / elem;
    *g = (weft_geometry_t){.count = slice * slices * k,
                           .slice = slice,
                           .chunk = slice * slices,
                           .pass = slice * slices * k,
                           .passes = 1,
                           .slices = slices,
                           .k = k};
}
