/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What one rank's buffers look like in a measured call: blocks that go to and come from the others,
 * and for each part of the receive buffer where its right contents come from. */
#ifndef WEFT_TOOLS_PERF_LAYOUT_H
#define WEFT_TOOLS_PERF_LAYOUT_H

#include <stdbool.h>

#include <weft/weft.h>

#include "tools/perf_pattern.h"

#define PERF_REDUCED UINT32_MAX

/* A part of a receive buffer: `count` elements at `at` that are those from `first` on in the send
 * buffer of rank `from`, or of the reduction over all ranks. */
typedef struct perf_segment {
    uint64_t at, count, first;
    uint32_t from;
} perf_segment_t;

/* Elements throughout. The vectors have nranks entries and are NULL where the call needs none. */
typedef struct perf_layout {
    uint64_t *send_counts, *send_displs, *recv_counts, *recv_displs;
    uint64_t send_count, recv_count; /* of this rank's buffers */
    uint64_t place;    /* in place: where the smaller buffer begins in the larger one */
    uint64_t largest;  /* block of any rank */
    uint64_t most;     /* elements of the largest buffer of any rank */
    bool has_in_place; /* the collective has an in-place form for these blocks */
    perf_segment_t *segments;
    uint32_t nsegments;
} perf_layout_t;

/* What is laid out. */
typedef struct perf_shape {
    weft_coll_t coll;
    uint32_t root, rank, nranks;
    uint64_t count;         /* argument of a collective without vectors */
    uint64_t room;          /* vectors: elements of the largest buffer, which is not exceeded */
    perf_pattern_t pattern; /* vectors */
} perf_shape_t;

/* ERR_RESOURCE. */
weft_status_t perf_layout_make(perf_layout_t *layout, const perf_shape_t *shape);
void perf_layout_free(perf_layout_t *layout);
/* True for the collectives that take vectors, for those whose size is counted in nranks blocks. */

#endif
