/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin: direct exchange for small messages. The plans are in flat_plan.c. */
#include <weft/sdk/algo_frame.h>

#include "flat_plan.h"

typedef struct flat_config {
    int64_t max_ranks;
} flat_config_t;

static const flat_config_t flat_defaults = {.max_ranks = 64};

static const weft_option_t flat_options[] = {
    {.name = "max_ranks",
     .type = WEFT_OPT_INT,
     .offset = offsetof(flat_config_t, max_ranks),
     .value = "64",
     .help = "most ranks served; each rank needs a connection to every other one",
     .min = 2,
     .max = FLAT_RANKS_MAX},
    {.name = NULL},
};

static weft_status_t flat_check(const weft_algo_t *algo, const weft_algo_call_t *call)
{
    const flat_config_t *config = algo->config;
    if (call->nranks <= config->max_ranks) {
        return WEFT_OK;
    }
    return algo->host->set_error(algo->host, WEFT_ERR_UNSUPPORTED, 0,
                                 "algo-flat serves up to %lld ranks (max_ranks), not %u",
                                 (long long)config->max_ranks, call->nranks);
}

static const weft_algo_frame_coll_t flat_colls[] = {
    {.coll = WEFT_ALL_REDUCE, .plan = flat_all_reduce, .check = flat_check},
    {.coll = WEFT_REDUCE_SCATTER, .plan = flat_reduce_scatter, .check = flat_check},
    {.coll = WEFT_ALL_GATHER, .plan = flat_all_gather, .check = flat_check},
    {.coll = WEFT_BROADCAST, .plan = flat_broadcast, .check = flat_check},
    {.coll = WEFT_REDUCE, .plan = flat_reduce, .check = flat_check},
};

static const weft_algo_frame_t flat_frame = {
    .name = "algo-flat",
    .colls = flat_colls,
    .ncolls = sizeof flat_colls / sizeof flat_colls[0],
    .defaults = &flat_defaults,
};

static weft_status_t flat_create(const weft_host_t *host, const void *config, weft_algo_t **algo_p)
{
    return weft_algo_frame_create(&flat_frame, host, config, algo_p);
}

static const weft_algo_ops_t flat_ops = {
    .size = sizeof flat_ops,
    .create = flat_create,
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
        .name = "algo-flat",
        .version = "1",
        .help = "direct exchange: one step whatever the number of ranks, for small messages",
        .options = flat_options,
        .config_size = sizeof(flat_config_t),
        .ops = &flat_ops,
    };
    return &plugin;
}
