/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin: rings and chains for large messages. The plans are in ring_plan.c. */
#include <weft/plugin/algo.h>

#include "ring_plan.h"

struct weft_algo {
    const weft_host_t *host;
};

typedef void (*ring_emit_fn_t)(const weft_algo_call_t *call, weft_plan_builder_t *builder);

static ring_emit_fn_t ring_emitter(weft_coll_t coll)
{
    static const ring_emit_fn_t table[WEFT_COLL_COUNT] = {
        [WEFT_ALL_REDUCE] = ring_all_reduce, [WEFT_REDUCE_SCATTER] = ring_reduce_scatter,
        [WEFT_ALL_GATHER] = ring_all_gather, [WEFT_BROADCAST] = ring_broadcast,
        [WEFT_REDUCE] = ring_reduce,
    };
    return (unsigned)coll < WEFT_COLL_COUNT ? table[coll] : NULL;
}

static weft_status_t ring_create(const weft_host_t *host, const void *config, weft_algo_t **algo_p)
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

static void ring_destroy(weft_algo_t *algo)
{
    if (algo != NULL) {
        algo->host->free(algo->host, algo);
    }
}

static weft_status_t ring_supports(weft_algo_t *algo, const weft_algo_call_t *call)
{
    if (ring_emitter(call->coll) == NULL) {
        return algo->host->set_error(algo->host, WEFT_ERR_UNSUPPORTED, 0,
                                     "algo-ring has no plan for %s",
                                     weft_algo_coll_text(call->coll));
    }
    return WEFT_OK;
}

static weft_status_t ring_emit(weft_algo_t *algo, const weft_algo_call_t *call,
                               const weft_algo_topo_t *topo, weft_plan_builder_t *builder)
{
    (void)topo;
    weft_status_t status = ring_supports(algo, call);
    if (status == WEFT_OK) {
        ring_emitter(call->coll)(call, builder);
    }
    return status;
}

static const weft_algo_ops_t ring_ops = {
    .size = sizeof ring_ops,
    .create = ring_create,
    .destroy = ring_destroy,
    .supports = ring_supports,
    .emit = ring_emit,
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
        .ops = &ring_ops,
    };
    return &plugin;
}
