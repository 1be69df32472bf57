/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See cuda_edges.h. Measured on one H200 between ranks that share it
 * (bench/results/2026-11-26-gpu.md); what a path between two devices adds is presumed: no two
 * devices have run the plugin. `scripts/gpu-check scan` writes lines of [figures] that take the
 * place of these. From the driver come the clock and the width of the device's memory. The width of
 * the bus and the number of links CUDA does not tell. */
#include "cuda_edges.h"

#include <stdbool.h>

#include "lanes_meeting.h"

#define GB_S UINT64_C(1000000000)
/* A call beside its plan: launch, begin and end of its blocks. */
#define LAUNCH_NS 7000u

/* By slots a leader goes through the program, and each further slice takes it so long again. */
static const weft_kernel_edge_t edges[WEFT_KERNEL_PATH_COUNT] = {
    [WEFT_KERNEL_PATH_SAME] = {.latency_ns = 24000, .overhead_ns = 13000, .bandwidth = 57 * GB_S},
    [WEFT_KERNEL_PATH_DIRECT] = {.latency_ns = 24500,
                                 .overhead_ns = 13500,
                                 .bandwidth = 25 * GB_S,
                                 .together = 150 * GB_S},
    [WEFT_KERNEL_PATH_BUS] = {.latency_ns = 26000,
                              .overhead_ns = 14500,
                              .bandwidth = 12 * GB_S,
                              .together = 20 * GB_S},
    [WEFT_KERNEL_PATH_HOST] = {.latency_ns = 29000,
                               .overhead_ns = 17000,
                               .bandwidth = 10 * GB_S,
                               .together = 10 * GB_S},
};

/* Short calls go step by step (decision 123): a step takes so long, and each further message of it.
 * Whole runs meet first, which takes a leader. */
static const weft_kernel_edge_t protocols[WEFT_KERNEL_PATH_COUNT][WEFT_KERNEL_PROTOCOL_COUNT] = {
    [WEFT_KERNEL_PATH_SAME] = {[WEFT_KERNEL_PROTOCOL_LL] = {3600, 2500, 6 * GB_S, 0},
                               [WEFT_KERNEL_PROTOCOL_LL128] = {3600, 2500, 10 * GB_S, 0},
                               [WEFT_KERNEL_PROTOCOL_WHOLE] = {38000, 24000, 40 * GB_S, 0}},
    [WEFT_KERNEL_PATH_DIRECT] = {[WEFT_KERNEL_PROTOCOL_LL] = {3900, 2700, 6 * GB_S, 75 * GB_S},
                                 [WEFT_KERNEL_PROTOCOL_LL128] = {3900, 2700, 10 * GB_S, 140 * GB_S},
                                 [WEFT_KERNEL_PROTOCOL_WHOLE] = {38500, 24500, 30 * GB_S,
                                                                 150 * GB_S}},
    [WEFT_KERNEL_PATH_BUS] = {[WEFT_KERNEL_PROTOCOL_LL] = {4900, 3500, 4 * GB_S, 10 * GB_S},
                              [WEFT_KERNEL_PROTOCOL_WHOLE] = {40500, 26000, 12 * GB_S, 20 * GB_S}},
};

/* Accesses of the device's memory for a byte on its way: read from the source, written to a slot,
 * read there, written to its destination. Half of the words of LL are data. */
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

/* What fits a header travels in it, which is flagged words, whatever the option says. A protocol
 * that it names takes all that there is room for, LL in place of LL128 on a path without. */
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
