/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin: one wide, shallow tree among the ranks of a host. The plans are in wide_plan.c. */
#include <weft/sdk/algo_frame.h>

#include "wide_plan.h"

typedef struct wide_config {
    int64_t width;
} wide_config_t;

static const wide_config_t wide_defaults = {.width = 16};

static const weft_option_t wide_options[] = {
    {.name = "width",
     .type = WEFT_OPT_INT,
     .offset = offsetof(wide_config_t, width),
     .value = "16",
     .help = "most ranks right below another one",
     .min = 2,
     .max = WIDE_WIDTH_MAX},
    {.name = NULL},
};

static weft_status_t wide_emit(const weft_algo_frame_job_t *job)
{
    static void (*const plans[WEFT_COLL_COUNT])(const weft_algo_call_t *, uint32_t,
                                                weft_plan_builder_t *) = {
        [WEFT_ALL_REDUCE] = wide_all_reduce,
        [WEFT_BROADCAST] = wide_broadcast,
        [WEFT_REDUCE] = wide_reduce,
    };
    const wide_config_t *config = job->config;
    if (job->topo->nhosts > 1) {
        return job->host->set_error(job->host, WEFT_ERR_UNSUPPORTED, 0,
                                    "algo-wide serves the ranks of one host, not of %u",
                                    job->topo->nhosts);
    }
    plans[job->call->coll](job->call, (uint32_t)config->width, job->builder);
    return WEFT_OK;
}

static const weft_algo_frame_coll_t wide_colls[] = {
    {.coll = WEFT_ALL_REDUCE, .emit = wide_emit},
    {.coll = WEFT_BROADCAST, .emit = wide_emit},
    {.coll = WEFT_REDUCE, .emit = wide_emit},
};

static const weft_algo_frame_t wide_frame = {
    .name = "algo-wide",
    .colls = wide_colls,
    .ncolls = sizeof wide_colls / sizeof wide_colls[0],
    .defaults = &wide_defaults,
};

static weft_status_t wide_create(const weft_host_t *host, const void *config, weft_algo_t **algo_p)
{
    return weft_algo_frame_create(&wide_frame, host, config, algo_p);
}

static const weft_algo_ops_t wide_ops = {
    .size = sizeof wide_ops,
    .create = wide_create,
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
        .name = "algo-wide",
        .version = "1",
        .help = "one wide, shallow tree: few messages and few waits, for many ranks on few cores",
        .options = wide_options,
        .config_size = sizeof(wide_config_t),
        .ops = &wide_ops,
    };
    return &plugin;
}
