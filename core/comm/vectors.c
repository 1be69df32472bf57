/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts and displacements of vector collectives: checked, copied, completed. */
#include "core/comm/vectors.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "core/base/coll.h"
#include "core/base/error.h"
#include "core/plan/hash.h"

/* Vectors up to this length are searched, in the square of it: 8 million steps. */
#define FIND_BLOCKS 4096u

weft_vector_t weft_vectors_need(weft_coll_t coll)
{
    if (!weft_coll_has_vectors(coll)) {
        return WEFT_VECTOR_NONE;
    }
    return weft_coll_has_pairs(coll) ? WEFT_VECTOR_PAIRS : WEFT_VECTOR_BLOCKS;
}

uint64_t weft_vectors_class(weft_coll_t coll, uint64_t largest)
{
    uint64_t size = 1;
    if (weft_vectors_need(coll) == WEFT_VECTOR_PAIRS) {
        return 0;
    }
    while (size < largest && size < UINT64_C(1) << 62) {
        size *= 2;
    }
    return size;
}

uint64_t weft_vectors_start(const weft_blocks_t *blocks, uint32_t b)
{
    if (blocks->displs != NULL) {
        return blocks->displs[b];
    }
    uint64_t start = 0;
    for (uint32_t i = 0; i < b; i++) {
        start += blocks->counts[i];
    }
    return start;
}

weft_status_t weft_vectors_extent(const char *call, const weft_blocks_t *blocks, uint32_t n,
                                  size_t elem, uint64_t *extent_p)
{
    uint64_t extent = 0, packed = 0;
    for (uint32_t b = 0; b < n; b++) {
        uint64_t start = blocks->displs != NULL ? blocks->displs[b] : packed;
        uint64_t end;
        if (blocks->counts[b] == 0) {
            continue; /* wherever it is */
        }
        if (__builtin_add_overflow(start, blocks->counts[b], &end) || end > INT64_MAX / elem) {
            return weft_fail(WEFT_ERR_ARG, 0,
                             "%s: block %u of %" PRIu64 " elements of %zu bytes at %" PRIu64
                             " overflows",
                             call, b, blocks->counts[b], elem, start);
        }
        packed = end;
        extent = end > extent ? end : extent;
    }
    *extent_p = extent;
    return WEFT_OK;
}

/* Fills one side of `n` blocks: the vectors as given, or one block of the call's count. */
static void vectors_fill_side(const weft_args_t *args, const weft_blocks_t *blocks, uint32_t n,
                              uint64_t *counts, uint64_t *displs)
{
    uint64_t packed = 0;
    if (blocks == NULL) {
        /* An unused side has n blocks too; its vectors stay zero. */
        counts[0] = args->count;
        return;
    }
    for (uint32_t b = 0; b < n; b++) {
        counts[b] = blocks->counts[b];
        displs[b] = counts[b] == 0 || blocks->displs == NULL ? packed : blocks->displs[b];
        packed += counts[b];
    }
}

typedef struct span {
    uint64_t start, count;
    uint32_t block;
} span_t;

static int vectors_compare_spans(const void *a, const void *b)
{
    const span_t *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static weft_status_t vectors_refuse_overlap(const weft_args_t *args, const span_t *a,
                                            const span_t *b)
{
    return weft_fail(WEFT_ERR_ARG, 0,
                     "weft_%s: receive blocks %u (%" PRIu64 " elements at %" PRIu64
                     ") and %u (%" PRIu64 " at %" PRIu64 ") overlap",
                     weft_coll_name(args->coll), a->block, a->count, a->start, b->block, b->count,
                     b->start);
}

/* Blocks in rising order, the usual case, need no sorting. */
static weft_status_t vectors_check_receive(const weft_args_t *args, const weft_vectors_t *v,
                                           uint32_t n)
{
    uint64_t end = 0;
    uint32_t b = 0;
    for (; b < n; b++) {
        if (v->out_counts[b] > 0 && v->out_displs[b] < end) {
            break;
        }
        end = v->out_counts[b] > 0 ? v->out_displs[b] + v->out_counts[b] : end;
    }
    if (b == n) {
        return WEFT_OK;
    }
    span_t *spans = weft_os_alloc(n * sizeof *spans, 0);
    if (spans == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot compare %u blocks", n);
    }
    uint32_t used = 0;
    for (b = 0; b < n; b++) {
        if (v->out_counts[b] > 0) {
            spans[used++] = (span_t){v->out_displs[b], v->out_counts[b], b};
        }
    }
    qsort(spans, used, sizeof *spans, vectors_compare_spans);
    weft_status_t status = WEFT_OK;
    for (b = 1; b < used && status == WEFT_OK; b++) {
        if (spans[b].start < spans[b - 1].start + spans[b - 1].count) {
            status = vectors_refuse_overlap(args, &spans[b - 1], &spans[b]);
        }
    }
    weft_os_free(spans);
    return status;
}

static uint64_t vectors_largest_of(const uint64_t *counts, uint32_t n)
{
    uint64_t largest = 0;
    for (uint32_t b = 0; b < n; b++) {
        largest = counts[b] > largest ? counts[b] : largest;
    }
    return largest;
}

/* The vector that all ranks know, of a collective that has one. */
static const uint64_t *vectors_shared(weft_coll_t coll, const weft_bound_vectors_t *bound)
{
    return coll == WEFT_ALL_GATHER_V ? bound->v.out_counts : bound->v.in_counts;
}

static uint32_t vectors_fold(uint64_t hash)
{
    return (uint32_t)(hash ^ hash >> 32);
}

/* Computes the part of the signature that all ranks know alike. */
static void vectors_sign(const weft_args_t *args, uint32_t n, weft_bound_vectors_t *bound)
{
    if (weft_vectors_need(args->coll) != WEFT_VECTOR_BLOCKS) {
        return;
    }
    const uint64_t *counts = vectors_shared(args->coll, bound);
    uint64_t hash = WEFT_HASH_START;
    for (uint32_t b = 0; b < n; b++) {
        hash = weft_hash_add(hash, counts[b]);
        bound->total += counts[b];
    }
    bound->hash = vectors_fold(hash);
}

uint32_t weft_vectors_find(const weft_bound_vectors_t *bound, uint32_t n,
                           const weft_signature_t *mine, const weft_signature_t *theirs)
{
    const uint32_t hash_there = theirs->plan - (mine->plan - bound->hash);
    const uint64_t more = theirs->count - mine->count;
    if (weft_vectors_need((weft_coll_t)mine->coll) != WEFT_VECTOR_BLOCKS || more == 0 ||
        n > FIND_BLOCKS) {
        return n;
    }
    const uint64_t *counts = vectors_shared((weft_coll_t)mine->coll, bound);
    uint64_t before = WEFT_HASH_START; /* of the blocks before `b` */
    for (uint32_t b = 0; b < n; b++) {
        uint64_t hash = weft_hash_add(before, counts[b] + more);
        for (uint32_t i = b + 1; i < n; i++) {
            hash = weft_hash_add(hash, counts[i]);
        }
        if (vectors_fold(hash) == hash_there) {
            return b;
        }
        before = weft_hash_add(before, counts[b]);
    }
    return n;
}

uint64_t weft_vectors_count(const weft_bound_vectors_t *bound, weft_coll_t coll, uint32_t b)
{
    return vectors_shared(coll, bound)[b];
}

/* Checks the block that goes from this rank to itself, whose length is given twice. */
static weft_status_t vectors_check_own(const weft_comm_identity_t *self, const weft_args_t *args)
{
    bool in = args->in_blocks != NULL, out = args->out_blocks != NULL;
    bool twice = args->coll == WEFT_ALL_TO_ALL_V ? in && out
                 : args->coll == WEFT_GATHER_V   ? out
                                                 : args->coll == WEFT_SCATTER_V && in;
    if (!twice) {
        return WEFT_OK;
    }
    uint64_t sent = in ? args->in_blocks->counts[self->rank] : args->count;
    uint64_t received = out ? args->out_blocks->counts[self->rank] : args->count;
    if (sent == received) {
        return WEFT_OK;
    }
    return weft_fail(WEFT_ERR_ARG, 0,
                     "weft_%s: rank %u sends itself %" PRIu64 " elements and receives %" PRIu64,
                     weft_coll_name(args->coll), self->rank, sent, received);
}

weft_status_t weft_vectors_bind(const weft_comm_identity_t *self, const weft_args_t *args,
                                weft_bound_vectors_t **vectors_p)
{
    uint32_t n = self->nranks;
    weft_status_t status = vectors_check_own(self, args);
    if (status != WEFT_OK) {
        return status;
    }
    weft_bound_vectors_t *bound = weft_os_alloc(sizeof *bound + 4 * n * sizeof bound->values[0], 0);
    if (bound == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot copy vectors of %u ranks", n);
    }
    uint64_t *at = bound->values;
    bound->v = (weft_vectors_t){
        .in_counts = at, .in_displs = at + n, .out_counts = at + 2 * n, .out_displs = at + 3 * n};
    vectors_fill_side(args, args->in_blocks, n, at, at + n);
    vectors_fill_side(args, args->out_blocks, n, at + 2 * n, at + 3 * n);
    uint64_t in = vectors_largest_of(at, n), out = vectors_largest_of(at + 2 * n, n);
    bound->largest = in > out ? in : out;
    vectors_sign(args, n, bound);
    status = args->out_blocks != NULL ? vectors_check_receive(args, &bound->v, n) : WEFT_OK;
    if (status != WEFT_OK) {
        weft_os_free(bound);
        return status;
    }
    *vectors_p = bound;
    return WEFT_OK;
}
