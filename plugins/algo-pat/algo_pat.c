/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin: a tree of hops for every block. The plans are in pat_plan.c. */
#include <weft/plugin/algo.h>

#include "pat_plan.h"

struct weft_algo {
    const weft_host_t *host;
};

typedef void (*pat_emit_fn_t)(const weft_algo_call_t *call, weft_plan_builder_t *builder);

static pat_emit_fn_t pat_emitter(weft_coll_t coll)
{
    static const pat_emit_fn_t table[WEFT_COLL_COUNT] = {
        [WEFT_REDUCE_SCATTER] = pat_reduce_scatter,
        [WEFT_ALL_GATHER] = pat_all_gather,
    };
    return (unsigned)coll < WEFT_COLL_COUNT ? table[coll] : NULL;
}

static weft_status_t pat_create(const weft_host_t *host, const void *config, weft_algo_t **algo_p)
{
    (void)config;
    weft_algo_t *algo = host->alloc(host, sizeof *algo, 0);
    if (algo == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    algo->host = host;
    *algo_p = algo;
    return WEFT_OK;
}

static void pat_destroy(weft_algo_t *algo)
{
    if (algo != NULL) {
        algo->host->free(algo->host, algo);
    }
}

static weft_status_t pat_supports(weft_algo_t *algo, const weft_algo_call_t *call)
{
    if (pat_emitter(call->coll) == NULL) {
        return algo->host->set_error(algo->host, WEFT_ERR_UNSUPPORTED, 0,
                                     "algo-pat serves all_gather and reduce_scatter, not %s",
                                     weft_algo_coll_text(call->coll));
    }
    return WEFT_OK;
}

static weft_status_t pat_emit(weft_algo_t *algo, const weft_algo_call_t *call,
                              const weft_algo_topo_t *topo, weft_plan_builder_t *builder)
{
    (void)topo;
    weft_status_t status = pat_supports(algo, call);
    if (status == WEFT_OK) {
        pat_emitter(call->coll)(call, builder);
    }
    return status;
}

static const weft_algo_ops_t pat_ops = {
    .size = sizeof pat_ops,
    .create = pat_create,
    .destroy = pat_destroy,
    .supports = pat_supports,
    .emit = pat_emit,
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
        .version = "1",
        .help = "a tree of hops for every block: log n rounds, few bytes over the far ones",
        .ops = &pat_ops,
    };
    return &plugin;
}
