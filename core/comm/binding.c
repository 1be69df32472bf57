/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From a request to the input of its program. */
#include "core/comm/binding.h"

#include "core/comm/fusion.h"

/* Returns what tells a fusion from other calls of the same sum. */
static uint32_t binding_fused(const weft_request_t *request)
{
    return request->fusion != NULL ? (uint32_t)request->fusion->counts : 0;
}

weft_signature_t weft_request_signature(const weft_prepared_t *prepared,
                                        const weft_request_t *request)
{
    weft_signature_t signature = prepared->program.signature;
    signature.sequence = (uint32_t)request->sequence;
    if (request->vectors != NULL) {
        signature.count = request->vectors->total;
        signature.plan += request->vectors->hash;
    }
    signature.plan += binding_fused(request);
    return signature;
}

/* Segments a vector collective. Where all ranks know the vectors it is cut evenly, like the fixed
 * form of the largest block. Where only pairs of ranks do, it is cut into full slices, for as
 * long as this rank has something to move. */
static void binding_cut_vectors(const weft_program_t *program, const weft_bound_vectors_t *vectors,
                                weft_segmentation_t *g)
{
    *g = program->segmentation;
    if (program->pairs == WEFT_PAIRS_NONE) {
        weft_segmentation_params_t cut = {.k = g->k,
                                          .slices = g->slices,
                                          .slice_bytes = g->slice * program->elem,
                                          .channels = program->channels};
        weft_segmentation_set(g, vectors->largest, program->elem, &cut);
        return;
    }
    g->passes = vectors->largest <= g->pass ? 1 : (vectors->largest + g->pass - 1) / g->pass;
}

void weft_request_bind(const weft_prepared_t *prepared, const weft_request_t *request,
                       weft_segmentation_t *segmentation, weft_binding_t *binding)
{
    const weft_bound_vectors_t *vectors = request->vectors;
    *binding = (weft_binding_t){.in = request->args.send,
                                .out = request->args.recv,
                                .scalar = request->scalar,
                                .in_place = weft_request_overlaps(request),
                                .plan = binding_fused(request),
                                .sequence = (uint32_t)request->sequence};
    if (vectors != NULL) {
        binding_cut_vectors(&prepared->program, vectors, segmentation);
        binding->segmentation = segmentation;
        binding->vectors = &vectors->v;
        binding->plan = vectors->hash;
        binding->count = vectors->total;
    }
}
