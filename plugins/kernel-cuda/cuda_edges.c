/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See cuda_edges.h. NOT MEASURED: no device has run the plugin. The table has estimates from what
 * is known of such devices: a look at a word of the own device takes half a microsecond, one of the
 * host a whole one, a fence as much, and a block copies some 25 GB/s. `scripts/gpu-check probe` writes
 * the lines of [figures] that take their place. From the driver come the clock and the width of the
 * device's memory. The width of the bus and the number of links CUDA does not tell. */
#include "cuda_edges.h"

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

/* A byte on its way is read from the source, written to a slot, read there, and written to its
 * destination. 0: not known. */
static uint64_t edges_memory_part(const weft_kernel_t *kernel)
{
    return kernel->facts.memory_bandwidth / 4;
}

void cuda_edges_fill(const weft_kernel_t *kernel, weft_kernel_props_t *props)
{
    const uint64_t most = edges_memory_part(kernel);
    for (uint32_t path = 0; path < WEFT_KERNEL_PATH_COUNT; path++) {
        weft_kernel_edge_t *edge = &props->edge[path];
        *edge = edges[path];
        if (most > 0 && (edge->together == 0 || edge->together > most)) {
            edge->together = most;
        }
        if (edge->together > 0 && edge->bandwidth > edge->together) {
            edge->bandwidth = edge->together;
        }
    }
    props->launch_ns = LAUNCH_NS;
}
