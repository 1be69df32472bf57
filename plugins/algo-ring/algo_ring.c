/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin: rings and chains for large messages. The plans are in ring_plan.c. */
#include <weft/sdk/algo_frame.h>

#include "ring_plan.h"

typedef void (*ring_write_fn_t)(const weft_algo_call_t *call, const weft_algo_topo_t *topo,
                                weft_plan_builder_t *builder);

static const ring_write_fn_t ring_writers[WEFT_COLL_COUNT] = {
    [WEFT_ALL_REDUCE] = ring_all_reduce, [WEFT_REDUCE_SCATTER] = ring_reduce_scatter,
    [WEFT_ALL_GATHER] = ring_all_gather, [WEFT_BROADCAST] = ring_broadcast,
    [WEFT_REDUCE] = ring_reduce,
};

static weft_status_t ring_emit(const weft_algo_frame_job_t *job)
{
    ring_writers[job->call->coll](job->call, job->topo, job->builder);
    return WEFT_OK;
}

static const weft_algo_frame_coll_t ring_colls[] = {
    {.coll = WEFT_ALL_REDUCE, .emit = ring_emit}, {.coll = WEFT_REDUCE_SCATTER, .emit = ring_emit},
    {.coll = WEFT_ALL_GATHER, .emit = ring_emit}, {.coll = WEFT_BROADCAST, .emit = ring_emit},
    {.coll = WEFT_REDUCE, .emit = ring_emit},
};

static const weft_algo_frame_t ring_frame = {
    .name = "algo-ring",
    .colls = ring_colls,
    .ncolls = sizeof ring_colls / sizeof ring_colls[0],
};

static weft_status_t ring_create(const weft_host_t *host, const void *config, weft_algo_t **algo_p)
{
    return weft_algo_frame_create(&ring_frame, host, config, algo_p);
}

static const weft_algo_ops_t ring_ops = {
    .size = sizeof ring_ops,
    .create = ring_create,
    .destroy = weft_algo_frame_destroy,
    .supports = weft_algo_frame_supports,
    .emit = weft_algo_frame_emit,
};

const weft_plugin_t *weft_plugin_entry(void)
{
    static const weft_plugin_t plugin = {
        .magic = WEFT_PLUGIN_MAGIC,
        .abi_major = WEFT_ABI_ALGO_MAJOR,
        .abi_minor = WEFT_ABI_ALGO_MINOR,
        .size = sizeof plugin,
        .kind = WEFT_KIND_ALGO,
        .name = "algo-ring",
        .version = "1",
        .help = "rings and chains: the fewest bytes on every edge, for large messages",
        .ops = &ring_ops,
    };
    return &plugin;
}
