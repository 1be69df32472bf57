/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin: a tree of hops for every block. The plans are in pat_plan.c. */
#include <weft/sdk/algo_frame.h>

#include "pat_plan.h"

static const weft_algo_frame_coll_t pat_colls[] = {
    {.coll = WEFT_ALL_GATHER, .plan = pat_all_gather},
    {.coll = WEFT_REDUCE_SCATTER, .plan = pat_reduce_scatter},
};

static const weft_algo_frame_t pat_frame = {
    .name = "algo-pat",
    .colls = pat_colls,
    .ncolls = sizeof pat_colls / sizeof pat_colls[0],
};

static const weft_algo_param_t pat_params[] = {
    [PAT_AGGREGATE] = {.name = "aggregate",
                       .help = "blocks in a message, at most; 0: as many as fit",
                       .min = 0,
                       .max = WEFT_PACK_MAX},
    {.name = NULL},
};

static uint32_t pat_pack(weft_algo_t *algo, const weft_algo_call_t *call)
{
    (void)algo;
    return pat_wanted(call);
}

static weft_status_t pat_create(const weft_host_t *host, const void *config, weft_algo_t **algo_p)
{
    return weft_algo_frame_create(&pat_frame, host, config, algo_p);
}

static const weft_algo_ops_t pat_ops = {
    .size = sizeof pat_ops,
    .create = pat_create,
    .destroy = weft_algo_frame_destroy,
    .supports = weft_algo_frame_supports,
    .emit = weft_algo_frame_emit,
    .params = pat_params,
    .pack = pat_pack,
};

const weft_plugin_t *weft_plugin_entry(void)
{
    static const weft_plugin_t plugin = {
        .magic = WEFT_PLUGIN_MAGIC,
        .abi_major = WEFT_ABI_ALGO_MAJOR,
        .abi_minor = WEFT_ABI_ALGO_MINOR,
        .size = sizeof plugin,
        .kind = WEFT_KIND_ALGO,
        .name = "algo-pat",
        .version = "2",
        .help = "a tree of hops for every block: log n rounds, few bytes over the far ones",
        .ops = &pat_ops,
    };
    return &plugin;
}
