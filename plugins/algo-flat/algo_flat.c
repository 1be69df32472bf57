/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin: direct exchange for small messages. The plans are in flat_plan.c. */
#include <weft/plugin/algo.h>

#include "flat_plan.h"

typedef struct flat_config {
    int64_t max_ranks;
} flat_config_t;

struct weft_algo {
    const weft_host_t *host;
    uint32_t max_ranks;
};

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

typedef void (*flat_emit_fn_t)(const weft_algo_call_t *call, weft_plan_builder_t *builder);

static flat_emit_fn_t flat_emitter(weft_coll_t coll)
{
    static const flat_emit_fn_t table[WEFT_COLL_COUNT] = {
        [WEFT_ALL_REDUCE] = flat_all_reduce, [WEFT_REDUCE_SCATTER] = flat_reduce_scatter,
        [WEFT_ALL_GATHER] = flat_all_gather, [WEFT_BROADCAST] = flat_broadcast,
        [WEFT_REDUCE] = flat_reduce,
    };
    return (unsigned)coll < WEFT_COLL_COUNT ? table[coll] : NULL;
}

static weft_status_t flat_create(const weft_host_t *host, const void *config, weft_algo_t **algo_p)
{
    const flat_config_t *settings = config;
    weft_algo_t *algo = host->alloc(host, sizeof *algo, 0);
    if (algo == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    algo->host = host;
    algo->max_ranks = settings != NULL ? (uint32_t)settings->max_ranks : 64;
    *algo_p = algo;
    return WEFT_OK;
}

static void flat_destroy(weft_algo_t *algo)
{
    if (algo != NULL) {
        algo->host->free(algo->host, algo);
    }
}

static weft_status_t flat_supports(weft_algo_t *algo, const weft_algo_call_t *call)
{
    if (flat_emitter(call->coll) == NULL) {
        return algo->host->set_error(algo->host, WEFT_ERR_UNSUPPORTED, 0,
                                     "algo-flat has no plan for %s",
                                     weft_algo_coll_text(call->coll));
    }
    if (call->nranks > algo->max_ranks) {
        return algo->host->set_error(algo->host, WEFT_ERR_UNSUPPORTED, 0,
                                     "algo-flat serves up to %u ranks (max_ranks), not %u",
                                     algo->max_ranks, call->nranks);
    }
    return WEFT_OK;
}

static weft_status_t flat_emit(weft_algo_t *algo, const weft_algo_call_t *call,
                               const weft_algo_topo_t *topo, weft_plan_builder_t *builder)
{
    (void)topo;
    weft_status_t status = flat_supports(algo, call);
    if (status == WEFT_OK) {
        flat_emitter(call->coll)(call, builder);
    }
    return status;
}

static const weft_algo_ops_t flat_ops = {
    .size = sizeof flat_ops,
    .create = flat_create,
    .destroy = flat_destroy,
    .supports = flat_supports,
    .emit = flat_emit,
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
