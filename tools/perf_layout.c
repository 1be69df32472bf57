/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts, displacements and the origin of every received element, for each collective. */
#include "tools/perf_layout.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/coll.h"
#include "core/base/error.h"
#include "tools/perf_pattern.h"

/* Lengths of blocks: `room` shared out by weights, of which `whole` make up one full buffer. */
typedef struct blocks {
    const perf_shape_t *shape;
    uint64_t *weights; /* NULL: no vectors */
    uint64_t whole;
} blocks_t;

/* room × weight / whole, rounded down, without overflow: weights and their sums are small. */
static uint64_t perf_layout_share(const blocks_t *b, uint64_t weight)
{
    uint64_t room = b->shape->room;
    return room / b->whole * weight + room % b->whole * weight / b->whole;
}

/* Elements of block `r`, whoever holds it. */
static uint64_t perf_layout_block_of(const blocks_t *b, uint32_t r)
{
    return b->weights == NULL ? b->shape->count : perf_layout_share(b, b->weights[r]);
}

/* Elements that `from` sends to `to` in an all-to-all. */
static uint64_t perf_layout_pair_of(const blocks_t *b, uint32_t from, uint32_t to)
{
    const perf_shape_t *s = b->shape;
    if (b->weights == NULL) {
        return s->count;
    }
    return perf_layout_share(b, perf_pattern_pair(&s->pattern, s->nranks, b->weights, from, to));
}

static void perf_layout_set_whole(blocks_t *b)
{
    const perf_shape_t *s = b->shape;
    bool pairs = s->coll == WEFT_ALL_TO_ALL_V;
    for (uint32_t i = 0; i < (pairs ? s->nranks : 1); i++) {
        uint64_t out = 0;
        uint64_t in = 0;
        for (uint32_t j = 0; j < s->nranks; j++) {
            out +=
                pairs ? perf_pattern_pair(&s->pattern, s->nranks, b->weights, i, j) : b->weights[j];
            in += pairs ? perf_pattern_pair(&s->pattern, s->nranks, b->weights, j, i) : 0;
        }
        b->whole = out > b->whole ? out : b->whole;
        b->whole = in > b->whole ? in : b->whole;
    }
    b->whole = b->whole > 0 ? b->whole : 1;
}

/* Displacements of blocks that lie one after the other; returns their end. */
static uint64_t perf_layout_pack(const uint64_t *counts, uint64_t *displs, uint32_t n)
{
    uint64_t at = 0;
    for (uint32_t r = 0; r < n; r++) {
        displs[r] = at;
        at += counts[r];
    }
    return at;
}

static void perf_layout_add_segment(perf_layout_t *l, perf_segment_t segment)
{
    l->segments[l->nsegments++] = segment;
}

/* Blocks whose lengths all ranks know: of the gathering, the scattering and the reducing forms. */
static void perf_layout_lay_vector(perf_layout_t *l, const blocks_t *b)
{
    const perf_shape_t *s = b->shape;
    for (uint32_t r = 0; r < s->nranks; r++) {
        l->send_counts[r] = perf_layout_block_of(b, r);
        l->recv_counts[r] = l->send_counts[r];
        l->largest = l->recv_counts[r] > l->largest ? l->recv_counts[r] : l->largest;
    }
    l->most = perf_layout_pack(l->send_counts, l->send_displs, s->nranks);
    perf_layout_pack(l->recv_counts, l->recv_displs, s->nranks);
    uint64_t mine = l->send_counts[s->rank];
    uint64_t at = l->send_displs[s->rank];
    bool root = s->rank == s->root;
    weft_coll_t form = weft_coll_base(s->coll);
    l->has_in_place = true;
    l->place = at;
    if (form == WEFT_REDUCE_SCATTER || form == WEFT_SCATTER) {
        bool reduces = form == WEFT_REDUCE_SCATTER;
        l->send_count = reduces || root ? l->most : 0;
        l->recv_count = mine;
        perf_layout_add_segment(
            l,
            (perf_segment_t){.count = mine, .first = at, .from = reduces ? PERF_REDUCED : s->root});
        return;
    }
    l->send_count = mine;
    l->recv_count = form == WEFT_ALL_GATHER || root ? l->most : 0;
    for (uint32_t r = 0; r < s->nranks && l->recv_count > 0; r++) {
        perf_layout_add_segment(
            l, (perf_segment_t){.at = l->recv_displs[r], .count = l->recv_counts[r], .from = r});
    }
}

/* Where the block for this rank begins in the send buffer of `from`. */
static uint64_t perf_layout_first_of(const blocks_t *b, uint32_t from)
{
    uint64_t first = 0;
    for (uint32_t to = 0; to < b->shape->rank; to++) {
        first += perf_layout_pair_of(b, from, to);
    }
    return first;
}

static void perf_layout_lay_pairs(perf_layout_t *l, const blocks_t *b)
{
    const perf_shape_t *s = b->shape;
    for (uint32_t r = 0; r < s->nranks; r++) {
        uint64_t out = 0;
        uint64_t in = 0;
        l->send_counts[r] = perf_layout_pair_of(b, s->rank, r);
        l->recv_counts[r] = perf_layout_pair_of(b, r, s->rank);
        for (uint32_t q = 0; q < s->nranks; q++) {
            uint64_t pair = perf_layout_pair_of(b, r, q);
            out += pair;
            in += perf_layout_pair_of(b, q, r);
            l->largest = pair > l->largest ? pair : l->largest;
        }
        l->most = out > l->most ? out : l->most;
        l->most = in > l->most ? in : l->most;
    }
    l->send_count = perf_layout_pack(l->send_counts, l->send_displs, s->nranks);
    l->recv_count = perf_layout_pack(l->recv_counts, l->recv_displs, s->nranks);
    l->has_in_place = b->weights == NULL || s->pattern.kind == PERF_EVEN ||
                      s->pattern.kind == PERF_LINEAR || s->nranks == 1;
    for (uint32_t r = 0; r < s->nranks; r++) {
        perf_layout_add_segment(l, (perf_segment_t){.at = l->recv_displs[r],
                                                    .count = l->recv_counts[r],
                                                    .first = perf_layout_first_of(b, r),
                                                    .from = r});
    }
}

/* One block: the whole buffer. */
static void perf_layout_lay_whole(perf_layout_t *l, const perf_shape_t *s)
{
    uint32_t from = s->coll == WEFT_BROADCAST   ? s->root
                    : s->coll == WEFT_SEND_RECV ? (s->rank + s->nranks - 1) % s->nranks
                                                : PERF_REDUCED;
    uint64_t count = s->coll == WEFT_BARRIER ? 0 : s->count;
    bool root = s->rank == s->root;
    l->has_in_place = s->coll != WEFT_SEND_RECV;
    l->largest = count;
    l->most = count;
    l->send_count = s->coll == WEFT_BROADCAST && !root ? 0 : count;
    l->recv_count = s->coll == WEFT_REDUCE && !root ? 0 : count;
    perf_layout_add_segment(l, (perf_segment_t){.count = l->recv_count, .from = from});
}

weft_status_t perf_layout_make(perf_layout_t *layout, const perf_shape_t *shape)
{
    size_t n = shape->nranks;
    blocks_t blocks = {.shape = shape};
    *layout = (perf_layout_t){.segments = calloc(n, sizeof *layout->segments),
                              .send_counts = calloc(5 * n, sizeof(uint64_t))};
    if (layout->segments == NULL || layout->send_counts == NULL) {
        perf_layout_free(layout);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for the blocks of %u ranks",
                         shape->nranks);
    }
    layout->send_displs = layout->send_counts + n;
    layout->recv_counts = layout->send_counts + 2 * n;
    layout->recv_displs = layout->send_counts + 3 * n;
    if (weft_coll_has_vectors(shape->coll)) {
        blocks.weights = layout->send_counts + 4 * n;
        perf_pattern_vector(&shape->pattern, shape->nranks, blocks.weights);
        perf_layout_set_whole(&blocks);
    }
    if (!weft_coll_has_any_blocks(shape->coll)) {
        perf_layout_lay_whole(layout, shape);
    } else if (weft_coll_base(shape->coll) == WEFT_ALL_TO_ALL) {
        perf_layout_lay_pairs(layout, &blocks);
    } else {
        perf_layout_lay_vector(layout, &blocks);
    }
    return WEFT_OK;
}

void perf_layout_free(perf_layout_t *layout)
{
    free(layout->segments);
    free(layout->send_counts);
    *layout = (perf_layout_t){0};
}
