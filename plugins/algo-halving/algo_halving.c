/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin: exchanges with partners 1, 2, 4 … away. The plans are in halving_plan.c. */
#include <weft/sdk/algo_frame.h>

#include "halving_plan.h"
#include "halving_scatter.h"

static const weft_algo_frame_coll_t halving_colls[] = {
    {.coll = WEFT_ALL_REDUCE, .plan = halving_all_reduce},
    {.coll = WEFT_REDUCE_SCATTER, .plan = halving_reduce_scatter},
    {.coll = WEFT_ALL_GATHER, .plan = halving_all_gather},
};

static const weft_algo_frame_t halving_frame = {
    .name = "algo-halving",
    .colls = halving_colls,
    .ncolls = sizeof halving_colls / sizeof halving_colls[0],
};

static weft_status_t halving_create(const weft_host_t *host, const void *config,
                                    weft_algo_t **algo_p)
{
    return weft_algo_frame_create(&halving_frame, host, config, algo_p);
}

static const weft_algo_ops_t halving_ops = {
    .size = sizeof halving_ops,
    .create = halving_create,
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
        .name = "algo-halving",
        .version = "1",
        .help = "recursive halving and doubling: few steps and few bytes, for medium messages",
        .ops = &halving_ops,
    };
    return &plugin;
}
