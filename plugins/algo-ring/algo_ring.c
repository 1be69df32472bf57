/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin: rings and chains for large messages. The plans are in ring_plan.c. */
#include <weft/sdk/algo_frame.h>

#include "ring_plan.h"

typedef struct ring_config {
    int64_t rings;
    int64_t directions;
} ring_config_t;

static const ring_config_t ring_defaults = {.rings = 16, .directions = 1};

static const weft_option_t ring_options[] = {
    {.name = "rings",
     .type = WEFT_OPT_INT,
     .offset = offsetof(ring_config_t, rings),
     .value = "16",
     .help =
         "most rings that share the data, of those that use all wires and NICs of the hosts; 1: "
         "one ring",
     .min = 1,
     .max = 16},
    {.name = "directions",
     .type = WEFT_OPT_INT,
     .offset = offsetof(ring_config_t, directions),
     .value = "1",
     .help = "2: every ring is also run backwards, with half of its data; for networks in which "
             "neighbours have wires of their own, a torus say",
     .min = 1,
     .max = 2},
    {.name = NULL},
};

typedef void (*ring_write_fn_t)(const ring_job_t *job);

static const ring_write_fn_t ring_writers[WEFT_COLL_COUNT] = {
    [WEFT_ALL_REDUCE] = ring_all_reduce, [WEFT_REDUCE_SCATTER] = ring_reduce_scatter,
    [WEFT_ALL_GATHER] = ring_all_gather, [WEFT_BROADCAST] = ring_broadcast,
    [WEFT_REDUCE] = ring_reduce,
};

static weft_status_t ring_emit(const weft_algo_frame_job_t *job)
{
    const ring_config_t *config = job->config;
    const ring_job_t ring = {.call = job->call,
                             .topo = job->topo,
                             .builder = job->builder,
                             .most = (uint32_t)config->rings,
                             .ways = (uint32_t)config->directions};
    ring_writers[job->call->coll](&ring);
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
    .defaults = &ring_defaults,
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
        .options = ring_options,
        .config_size = sizeof(ring_config_t),
        .ops = &ring_ops,
    };
    return &plugin;
}
