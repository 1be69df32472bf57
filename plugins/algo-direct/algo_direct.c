/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin: direct exchange for large messages and for all-to-all. The plans are in
 * direct_plan.c, the order in which ranks meet in schedule.c. */
#include <weft/sdk/algo_frame.h>

#include "direct_plan.h"

typedef struct direct_config {
    int64_t max_ranks, pairs;
} direct_config_t;

static const direct_config_t direct_defaults = {.max_ranks = 64, .pairs = 8};

static const weft_option_t direct_options[] = {
    {.name = "max_ranks",
     .type = WEFT_OPT_INT,
     .offset = offsetof(direct_config_t, max_ranks),
     .value = "64",
     .help = "most ranks served where other algorithms need fewer connections",
     .min = 2,
     .max = 65536},
    {.name = "pairs",
     .type = WEFT_OPT_INT,
     .offset = offsetof(direct_config_t, pairs),
     .value = "8",
     .help = "peers that progress together, each way",
     .min = 1,
     .max = DIRECT_PAIRS_MAX},
    {.name = NULL},
};

/* Other algorithms serve these collectives with fewer connections. */
static weft_status_t direct_check(const weft_algo_t *algo, const weft_algo_call_t *call)
{
    const direct_config_t *config = algo->config;
    if (call->nranks <= config->max_ranks) {
        return WEFT_OK;
    }
    return algo->host->set_error(algo->host, WEFT_ERR_UNSUPPORTED, 0,
                                 "algo-direct serves up to %lld ranks (max_ranks), not %u",
                                 (long long)config->max_ranks, call->nranks);
}

static weft_status_t direct_emit(const weft_algo_frame_job_t *job)
{
    static void (*const plans[WEFT_COLL_COUNT])(const direct_job_t *) = {
        [WEFT_ALL_REDUCE] = direct_all_reduce, [WEFT_REDUCE_SCATTER] = direct_reduce_scatter,
        [WEFT_ALL_GATHER] = direct_all_gather, [WEFT_ALL_TO_ALL] = direct_all_to_all,
        [WEFT_GATHER] = direct_gather,         [WEFT_SCATTER] = direct_scatter,
    };
    const direct_config_t *config = job->config;
    uint32_t n = job->call->nranks;
    size_t words = direct_schedule_words(n);
    uint32_t *memory = job->host->alloc(job->host, (words + 2 * (size_t)n) * sizeof *memory, 0);
    if (memory == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    direct_schedule_t schedule;
    direct_schedule_init(&schedule, job->topo, n, memory);
    plans[job->call->coll](&(direct_job_t){.call = job->call,
                                           .schedule = &schedule,
                                           .builder = job->builder,
                                           .pairs = (uint32_t)config->pairs,
                                           .to = memory + words,
                                           .from = memory + words + n});
    job->host->free(job->host, memory);
    return WEFT_OK;
}

static const weft_algo_frame_coll_t direct_colls[] = {
    {.coll = WEFT_ALL_REDUCE, .emit = direct_emit, .check = direct_check},
    {.coll = WEFT_REDUCE_SCATTER, .emit = direct_emit, .check = direct_check},
    {.coll = WEFT_ALL_GATHER, .emit = direct_emit, .check = direct_check},
    {.coll = WEFT_ALL_TO_ALL, .emit = direct_emit},
    {.coll = WEFT_GATHER, .emit = direct_emit},
    {.coll = WEFT_SCATTER, .emit = direct_emit},
};

static const weft_algo_frame_t direct_frame = {
    .name = "algo-direct",
    .colls = direct_colls,
    .ncolls = sizeof direct_colls / sizeof direct_colls[0],
    .defaults = &direct_defaults,
};

static weft_status_t direct_create(const weft_host_t *host, const void *config,
                                   weft_algo_t **algo_p)
{
    return weft_algo_frame_create(&direct_frame, host, config, algo_p);
}

static const weft_algo_ops_t direct_ops = {
    .size = sizeof direct_ops,
    .create = direct_create,
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
        .name = "algo-direct",
        .version = "1",
        .help = "direct exchange: all-to-all, gather, scatter, and large messages inside a host",
        .options = direct_options,
        .config_size = sizeof(direct_config_t),
        .ops = &direct_ops,
    };
    return &plugin;
}
