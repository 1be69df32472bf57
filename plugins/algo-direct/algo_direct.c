/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin: direct exchange for large messages and for all-to-all. The plans are in direct_plan.c,
 * the order in which ranks meet in schedule.c. */
#include <weft/plugin/algo.h>

#include "direct_plan.h"

typedef struct direct_config {
    int64_t max_ranks, pairs;
} direct_config_t;

struct weft_algo {
    const weft_host_t *host;
    uint32_t max_ranks, pairs;
};

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

typedef struct direct_form {
    void (*emit)(const direct_job_t *job);
    int bounded; /* max_ranks holds */
} direct_form_t;

static const direct_form_t *direct_form(weft_coll_t coll)
{
    static const direct_form_t table[WEFT_COLL_COUNT] = {
        [WEFT_ALL_REDUCE] = {direct_all_reduce, 1},
        [WEFT_REDUCE_SCATTER] = {direct_reduce_scatter, 1},
        [WEFT_ALL_GATHER] = {direct_all_gather, 1},
        [WEFT_ALL_TO_ALL] = {direct_all_to_all, 0},
        [WEFT_GATHER] = {direct_gather, 0},
        [WEFT_SCATTER] = {direct_scatter, 0},
    };
    return (unsigned)coll < WEFT_COLL_COUNT && table[coll].emit != NULL ? &table[coll] : NULL;
}

static weft_status_t direct_create(const weft_host_t *host, const void *config,
                                   weft_algo_t **algo_p)
{
    const direct_config_t *settings = config;
    weft_algo_t *algo = host->alloc(host, sizeof *algo, 0);
    if (algo == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    algo->host = host;
    algo->max_ranks = settings != NULL ? (uint32_t)settings->max_ranks : 64;
    algo->pairs = settings != NULL ? (uint32_t)settings->pairs : 8;
    *algo_p = algo;
    return WEFT_OK;
}

static void direct_destroy(weft_algo_t *algo)
{
    if (algo != NULL) {
        algo->host->free(algo->host, algo);
    }
}

static weft_status_t direct_supports(weft_algo_t *algo, const weft_algo_call_t *call)
{
    const direct_form_t *form = direct_form(call->coll);
    if (form == NULL) {
        return algo->host->set_error(algo->host, WEFT_ERR_UNSUPPORTED, 0,
                                     "algo-direct has no plan for %s",
                                     weft_algo_coll_text(call->coll));
    }
    if (form->bounded && call->nranks > algo->max_ranks) {
        return algo->host->set_error(algo->host, WEFT_ERR_UNSUPPORTED, 0,
                                     "algo-direct serves up to %u ranks (max_ranks), not %u",
                                     algo->max_ranks, call->nranks);
    }
    return WEFT_OK;
}

static weft_status_t direct_emit(weft_algo_t *algo, const weft_algo_call_t *call,
                                 const weft_algo_topo_t *topo, weft_plan_builder_t *builder)
{
    uint32_t n = call->nranks;
    weft_status_t status = direct_supports(algo, call);
    if (status != WEFT_OK) {
        return status;
    }
    size_t words = direct_schedule_words(n);
    uint32_t *memory = algo->host->alloc(algo->host, (words + 2 * (size_t)n) * sizeof *memory, 0);
    if (memory == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    direct_schedule_t schedule;
    direct_schedule_init(&schedule, topo, n, memory);
    direct_form(call->coll)
        ->emit(&(direct_job_t){.call = call,
                               .schedule = &schedule,
                               .builder = builder,
                               .pairs = algo->pairs,
                               .to = memory + words,
                               .from = memory + words + n});
    algo->host->free(algo->host, memory);
    return WEFT_OK;
}

static const weft_algo_ops_t direct_ops = {
    .size = sizeof direct_ops,
    .create = direct_create,
    .destroy = direct_destroy,
    .supports = direct_supports,
    .emit = direct_emit,
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
