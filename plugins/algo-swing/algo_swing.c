/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin: an all-reduce for networks that are rings and tori. The plan is in swing_plan.c. */
#include <weft/sdk/algo_frame.h>

#include "swing_plan.h"

static const swing_settings_t swing_defaults = {.mirror = true};

static const weft_option_t swing_options[] = {
    {.name = "x",
     .type = WEFT_OPT_INT,
     .offset = offsetof(swing_settings_t, x),
     .value = "0",
     .help = "ranks along the first dimension of the torus, a power of two; 0: all, the network is "
             "a ring",
     .min = 0,
     .max = 1 << 20},
    {.name = "y",
     .type = WEFT_OPT_INT,
     .offset = offsetof(swing_settings_t, y),
     .value = "0",
     .help = "ranks along the second dimension, a power of two; 0: all that are left",
     .min = 0,
     .max = 1 << 20},
    {.name = "mirror",
     .type = WEFT_OPT_BOOL,
     .offset = offsetof(swing_settings_t, mirror),
     .value = "yes",
     .help = "half of the data goes the other way round, so that links carry in both directions"},
    {.name = NULL},
};

static weft_status_t swing_check(const weft_algo_t *algo, const weft_algo_call_t *call)
{
    const swing_settings_t *settings = algo->config;
    uint32_t size[SWING_DIMENSIONS];
    if (swing_torus(settings, call->nranks, size)) {
        return WEFT_OK;
    }
    if ((call->nranks & (call->nranks - 1)) != 0) {
        return algo->host->set_error(algo->host, WEFT_ERR_UNSUPPORTED, 0,
                                     "algo-swing serves numbers of ranks that are powers of two; "
                                     "there are %u",
                                     call->nranks);
    }
    return algo->host->set_error(algo->host, WEFT_ERR_UNSUPPORTED, 0,
                                 "algo-swing: %u ranks are no torus with x = %lld and y = %lld, "
                                 "which must be powers of two with a product of at most %u",
                                 call->nranks, (long long)settings->x, (long long)settings->y,
                                 call->nranks);
}

static weft_status_t swing_emit(const weft_algo_frame_job_t *job)
{
    swing_all_reduce(job->config, job->call, job->topo, job->builder);
    return WEFT_OK;
}

static const weft_algo_frame_coll_t swing_colls[] = {
    {.coll = WEFT_ALL_REDUCE, .emit = swing_emit, .check = swing_check},
};

static const weft_algo_frame_t swing_frame = {
    .name = "algo-swing",
    .colls = swing_colls,
    .ncolls = sizeof swing_colls / sizeof swing_colls[0],
    .defaults = &swing_defaults,
};

static weft_status_t swing_create(const weft_host_t *host, const void *config, weft_algo_t **algo_p)
{
    return weft_algo_frame_create(&swing_frame, host, config, algo_p);
}

static const weft_algo_ops_t swing_ops = {
    .size = sizeof swing_ops,
    .create = swing_create,
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
        .name = "algo-swing",
        .version = "1",
        .help = "Swing: few steps between near ranks, for networks that are rings and tori",
        .options = swing_options,
        .config_size = sizeof(swing_settings_t),
        .ops = &swing_ops,
    };
    return &plugin;
}
