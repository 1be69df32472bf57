/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See device_edges.h. */
#include "core/comm/device_edges.h"

weft_kernel_path_t weft_device_path(const weft_job_t *job, bool exports, uint32_t a, uint32_t b)
{
    const weft_job_rank_t *ranks = job->ranks;
    if (job->host[a] != job->host[b] || ranks[a].gpu == WEFT_JOB_NONE ||
        ranks[b].gpu == WEFT_JOB_NONE) {
        return WEFT_KERNEL_PATH_COUNT;
    }
    if (!exports) {
        return WEFT_KERNEL_PATH_HOST;
    }
    if (ranks[a].gpu == ranks[b].gpu) {
        return WEFT_KERNEL_PATH_SAME;
    }
    return weft_algo_topo_path(&job->topo, a, b).path_class == WEFT_ALGO_PATH_NV
               ? WEFT_KERNEL_PATH_DIRECT
               : WEFT_KERNEL_PATH_BUS;
}

void weft_device_edge(const weft_device_costs_t *costs, weft_kernel_path_t path,
                      weft_kernel_protocol_t protocol, weft_cost_edge_t *edge)
{
    const weft_kernel_edge_t *told = protocol == WEFT_KERNEL_PROTOCOL_SIMPLE
                                         ? &costs->props->edge[path]
                                         : &costs->props->protocol[path][protocol];
    const weft_figures_edge_t *line =
        weft_figures_find_path(costs->given, costs->kernel, path, protocol);
    if (told->bandwidth > 0) {
        edge->alpha = (double)told->latency_ns * 1e-9;
        edge->overhead = weft_cost_overhead(told->latency_ns, told->overhead_ns);
        edge->beta = 1.0 / (double)told->bandwidth;
        edge->together = told->together > 0 ? 1.0 / (double)told->together : 0;
    }
    if (line != NULL) {
        edge->alpha = line->edge.alpha > 0 ? line->edge.alpha : edge->alpha;
        edge->overhead = line->edge.overhead > 0 ? line->edge.overhead : edge->overhead;
        edge->beta = line->edge.beta > 0 ? line->edge.beta : edge->beta;
        edge->together = line->wire > 0 ? line->wire : edge->together;
    }
}

/* A line changes what a protocol costs, not whether the path has it. */
void weft_device_protocols(const weft_device_costs_t *costs, weft_kernel_path_t path,
                           weft_cost_protocol_t protocols[WEFT_KERNEL_PROTOCOL_COUNT])
{
    for (uint32_t p = 0; p < WEFT_KERNEL_PROTOCOL_COUNT; p++) {
        const weft_kernel_range_t *range = &costs->props->range[path][p];
        bool has =
            p == WEFT_KERNEL_PROTOCOL_SIMPLE || costs->props->protocol[path][p].bandwidth > 0;
        protocols[p] = (weft_cost_protocol_t){.least = range->least, .most = has ? range->most : 0};
        if (p != WEFT_KERNEL_PROTOCOL_SIMPLE && has) {
            weft_device_edge(costs, path, (weft_kernel_protocol_t)p, &protocols[p].edge);
        }
    }
}
