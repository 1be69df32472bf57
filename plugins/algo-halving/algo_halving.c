/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin: exchanges with partners 1, 2, 4 … away. The plans are in halving_plan.c. */
#include <weft/plugin/algo.h>

#include "halving_plan.h"

struct weft_algo {
    const weft_host_t *host;
};

typedef void (*halving_emit_fn_t)(const weft_algo_call_t *call, weft_plan_builder_t *builder);

static halving_emit_fn_t halving_emitter(weft_coll_t coll)
{
    static const halving_emit_fn_t table[WEFT_COLL_COUNT] = {
        [WEFT_ALL_REDUCE] = halving_all_reduce,
        [WEFT_REDUCE_SCATTER] = halving_reduce_scatter,
        [WEFT_ALL_GATHER] = halving_all_gather,
    };
    return (unsigned)coll < WEFT_COLL_COUNT ? table[coll] : NULL;
}

static weft_status_t halving_create(const weft_host_t *host, const void *config,
                                    weft_algo_t **algo_p)
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

static void halving_destroy(weft_algo_t *algo)
{
    if (algo != NULL) {
        algo->host->free(algo->host, algo);
    }
}

static weft_status_t halving_supports(weft_algo_t *algo, const weft_algo_call_t *call)
{
    if (halving_emitter(call->coll) == NULL) {
        return algo->host->set_error(
            algo->host, WEFT_ERR_UNSUPPORTED, 0,
            "algo-halving serves all_reduce, reduce_scatter and all_gather, "
            "not %s",
            weft_algo_coll_text(call->coll));
    }
    return WEFT_OK;
}

static weft_status_t halving_emit(weft_algo_t *algo, const weft_algo_call_t *call,
                                  const weft_algo_topo_t *topo, weft_plan_builder_t *builder)
{
    (void)topo;
    weft_status_t status = halving_supports(algo, call);
    if (status == WEFT_OK) {
        halving_emitter(call->coll)(call, builder);
    }
    return status;
}

static const weft_algo_ops_t halving_ops = {
    .size = sizeof halving_ops,
    .create = halving_create,
    .destroy = halving_destroy,
    .supports = halving_supports,
    .emit = halving_emit,
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
