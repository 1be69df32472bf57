/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cutting a block into passes, chunks and slices. */
#include "core/exec/segmentation.h"

static uint64_t segmentation_divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static uint64_t segmentation_round_up(uint64_t a, uint64_t unit)
{
    return segmentation_divide_up(a, unit) * unit;
}

void weft_segmentation_set(weft_segmentation_t *g, uint64_t count, size_t elem,
                           const weft_segmentation_params_t *params)
{
    /* Whole cache lines, so that slices of aligned buffers stay aligned. */
    uint64_t line = 64 / elem;
    uint64_t largest =
        params->slice_bytes / elem * params->slices; /* elements of a chunk at most */
    uint64_t passes =
        count == 0 ? 1 : segmentation_divide_up(segmentation_divide_up(count, params->k), largest);

    passes = segmentation_round_up(passes, params->channels);
    uint64_t chunk = segmentation_round_up(
        segmentation_divide_up(segmentation_divide_up(count, passes), params->k), line);
    if (chunk > largest) {
        chunk = largest;
    }
    if (chunk == 0) {
        chunk = line;
    }
    g->count = count;
    g->k = params->k;
    g->slices = params->slices;
    g->chunk = chunk;
    g->slice = segmentation_round_up(segmentation_divide_up(chunk, params->slices), line);
    g->pass = chunk * params->k;
    g->passes = count == 0 ? 1 : segmentation_divide_up(count, g->pass);
}

void weft_segmentation_set_largest(weft_segmentation_t *g, size_t elem,
                                   const weft_segmentation_params_t *params)
{
    uint64_t slice = params->slice_bytes / elem, chunk = slice * params->slices;
    *g = (weft_segmentation_t){.count = chunk * params->k,
                               .slice = slice,
                               .chunk = chunk,
                               .pass = chunk * params->k,
                               .passes = 1,
                               .slices = params->slices,
                               .k = params->k};
}

/* The first slice of the first chunk is as long as any. */
uint64_t weft_segmentation_longest(const weft_segmentation_t *g)
{
    return weft_segmentation_slice(g, weft_segmentation_chunk(g, g->count, 0, 0), 0);
}
