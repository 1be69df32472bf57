/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See cuda_edges.h. NOT MEASURED: no device has run the plugin. The table has estimates from what
 * is known of such devices: a look at a word of the own device takes half a microsecond, one of the
 * host a whole one, a fence as much, and a block copies some 25 GB/s. `scripts/gpu-check probe` writes
 * the lines of [figures] that take their place. From the driver come the clock and the width of the
 * device's memory. The width of the bus and the number of links CUDA does not tell. */
#include "cuda_edges.h"

#include <stdbool.h>

#include "lanes_meeting.h"

#define GB_S UINT64_C(1000000000)
#define LAUNCH_NS 4000u

static const weft_kernel_edge_t edges[WEFT_KERNEL_PATH_COUNT] = {
    [WEFT_KERNEL_PATH_SAME] = {.latency_ns = 3000, .overhead_ns = 2000, .bandwidth = 25 * GB_S},
    [WEFT_KERNEL_PATH_DIRECT] = {.latency_ns = 3500,
                                 .overhead_ns = 2500,
                                 .bandwidth = 25 * GB_S,
                                 .together = 150 * GB_S},
    [WEFT_KERNEL_PATH_BUS] = {.latency_ns = 5000,
                              .overhead_ns = 3500,
                              .bandwidth = 12 * GB_S,
                              .together = 20 * GB_S},
    [WEFT_KERNEL_PATH_HOST] = {.latency_ns = 8000,
                               .overhead_ns = 6000,
                               .bandwidth = 10 * GB_S,
                               .together = 10 * GB_S},
};

/* Presumed from what is published of NCCL's protocols over NVLink: a hop takes 0.6 us by LL, 1.9 by LL128, 3.4
 * by Simple; half of what LL stores is data, 120 of 128 bytes of what LL128 stores. Here a block passes
 * three barriers more. What is read in place passes no slot. */
static const weft_kernel_edge_t protocols[WEFT_KERNEL_PATH_COUNT][WEFT_KERNEL_PROTOCOL_COUNT] = {
    [WEFT_KERNEL_PATH_SAME] = {[WEFT_KERNEL_PROTOCOL_LL] = {1200, 800, 12 * GB_S, 0},
                               [WEFT_KERNEL_PROTOCOL_LL128] = {2000, 1300, 23 * GB_S, 0},
                               [WEFT_KERNEL_PROTOCOL_WHOLE] = {4000, 3000, 40 * GB_S, 0}},
    [WEFT_KERNEL_PATH_DIRECT] = {[WEFT_KERNEL_PROTOCOL_LL] = {1500, 1000, 12 * GB_S, 75 * GB_S},
                                 [WEFT_KERNEL_PROTOCOL_LL128] = {2300, 1500, 23 * GB_S, 140 * GB_S},
                                 [WEFT_KERNEL_PROTOCOL_WHOLE] = {4500, 3500, 30 * GB_S,
                                                                 150 * GB_S}},
    [WEFT_KERNEL_PATH_BUS] = {[WEFT_KERNEL_PROTOCOL_LL] = {2500, 1800, 6 * GB_S, 10 * GB_S},
                              [WEFT_KERNEL_PROTOCOL_WHOLE] = {6500, 5000, 12 * GB_S, 20 * GB_S}},
};

/* Accesses of the device's memory for a byte on its way: read from the source, written to a slot, read
 * there, written to its destination. Half of the words of LL are data. */
static const uint32_t accesses[WEFT_KERNEL_PROTOCOL_COUNT] = {4, 6, 4, 2};

/* The edge of a device whose memory has that bandwidth; 0: not known. */
static weft_kernel_edge_t edges_bound(weft_kernel_edge_t edge, uint64_t most)
{
    if (most > 0 && edge.bandwidth > 0 && (edge.together == 0 || edge.together > most)) {
        edge.together = most;
    }
    if (edge.together > 0 && edge.bandwidth > edge.together) {
        edge.bandwidth = edge.together;
    }
    return edge;
}

/* What fits a header travels in it, which is flagged words, whatever the option says. A protocol that
 * it names takes all that there is room for, LL in place of LL128 on a path without. */
static void edges_ranges(const cuda_travel_t *travel, weft_kernel_path_t path,
                         weft_kernel_range_t *range)
{
    enum { BEHIND = WEFT_FIFO_INLINE + 1 };
    const cuda_protocol_t only = travel->protocol;
    const bool keeps_lines = protocols[path][WEFT_KERNEL_PROTOCOL_LL128].bandwidth > 0;
    const bool lines = keeps_lines && (only == CUDA_PROTOCOL_AUTO || only == CUDA_PROTOCOL_LL128);
    const bool words = only != CUDA_PROTOCOL_SIMPLE && (only != CUDA_PROTOCOL_LL128 || !lines);
    const uint64_t ll = words ? WEFT_FIFO_WORDS_ROOM : WEFT_FIFO_INLINE;
    const uint64_t ll128 = lines ? WEFT_FIFO_LINES_ROOM : 0, most = ll > ll128 ? ll : ll128;
    range[WEFT_KERNEL_PROTOCOL_SIMPLE].most = UINT64_MAX;
    if (protocols[path][WEFT_KERNEL_PROTOCOL_LL].bandwidth == 0) {
        return; /* slots in memory of the host */
    }
    range[WEFT_KERNEL_PROTOCOL_SIMPLE].least = only == CUDA_PROTOCOL_AUTO ? BEHIND : most + 1;
    range[WEFT_KERNEL_PROTOCOL_LL] = (weft_kernel_range_t){0, ll};
    range[WEFT_KERNEL_PROTOCOL_LL128] = (weft_kernel_range_t){BEHIND, ll128};
    range[WEFT_KERNEL_PROTOCOL_WHOLE] =
        (weft_kernel_range_t){BEHIND, travel->whole ? LANES_WHOLE_MOST : 0};
}

void cuda_edges_fill(const cuda_travel_t *travel, uint64_t memory, weft_kernel_props_t *props)
{
    for (uint32_t path = 0; path < WEFT_KERNEL_PATH_COUNT; path++) {
        props->edge[path] = edges_bound(edges[path], memory / accesses[0]);
        for (uint32_t p = 1; p < WEFT_KERNEL_PROTOCOL_COUNT; p++) {
            props->protocol[path][p] = edges_bound(protocols[path][p], memory / accesses[p]);
        }
        edges_ranges(travel, (weft_kernel_path_t)path, props->range[path]);
    }
    props->launch_ns = LAUNCH_NS;
}
