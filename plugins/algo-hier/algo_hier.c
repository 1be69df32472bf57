/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin: two levels, inside the host and between hosts. The plans are in hier_plan.c. */
#include <weft/plugin/algo.h>

#include "hier_plan.h"

typedef struct hier_config {
    const char *between;
} hier_config_t;

struct weft_algo {
    const weft_host_t *host;
    const char *between;
};

static const weft_option_t hier_options[] = {
    {.name = "between",
     .type = WEFT_OPT_STRING,
     .offset = offsetof(hier_config_t, between),
     .value = "algo-ring",
     .help = "name of the loaded algorithm that works between hosts"},
    {.name = NULL},
};

typedef void (*hier_emit_fn_t)(const hier_job_t *job);

static hier_emit_fn_t hier_emitter(weft_coll_t coll)
{
    static const hier_emit_fn_t table[WEFT_COLL_COUNT] = {
        [WEFT_ALL_REDUCE] = hier_all_reduce,
        [WEFT_BROADCAST] = hier_broadcast,
        [WEFT_REDUCE] = hier_reduce,
    };
    return (unsigned)coll < WEFT_COLL_COUNT ? table[coll] : NULL;
}

static weft_status_t hier_create(const weft_host_t *host, const void *config, weft_algo_t **algo_p)
{
    const hier_config_t *settings = config;
    weft_algo_t *algo = host->alloc(host, sizeof *algo, 0);
    if (algo == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    algo->host = host;
    algo->between = settings != NULL ? settings->between : "algo-ring";
    *algo_p = algo;
    return WEFT_OK;
}

static void hier_destroy(weft_algo_t *algo)
{
    if (algo != NULL) {
        algo->host->free(algo->host, algo);
    }
}

static weft_status_t hier_supports(weft_algo_t *algo, const weft_algo_call_t *call)
{
    if (hier_emitter(call->coll) == NULL) {
        return algo->host->set_error(algo->host, WEFT_ERR_UNSUPPORTED, 0,
                                     "algo-hier has no plan for collective %d", (int)call->coll);
    }
    return WEFT_OK;
}

/* Only emit() sees where the ranks are. */
static weft_status_t check_view(weft_algo_t *algo, const weft_algo_call_t *call,
                                const weft_algo_view_t *view)
{
    if (view->nhosts < 2 || view->host == NULL) {
        return algo->host->set_error(algo->host, WEFT_ERR_UNSUPPORTED, 0,
                                     "algo-hier needs several hosts; all %u ranks are on one",
                                     call->nranks);
    }
    if (view->nhosts == call->nranks) {
        return algo->host->set_error(algo->host, WEFT_ERR_UNSUPPORTED, 0,
                                     "algo-hier needs a host with several ranks; each of the %u "
                                     "ranks is alone on its host",
                                     call->nranks);
    }
    return WEFT_OK;
}

static weft_status_t hier_emit(weft_algo_t *algo, const weft_algo_call_t *call,
                               const weft_algo_view_t *view, weft_plan_builder_t *builder)
{
    uint32_t n = call->nranks;
    weft_status_t status = hier_supports(algo, call);
    if (status == WEFT_OK) {
        status = check_view(algo, call, view);
    }
    if (status != WEFT_OK) {
        return status;
    }
    size_t words = hier_layout_words(n, view->nhosts);
    uint32_t *memory = algo->host->alloc(algo->host, (words + 2 * (size_t)n) * sizeof *memory, 0);
    if (memory == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    hier_layout_t layout;
    hier_layout_init(&layout, view, n, call->rank, memory);
    hier_emitter(call->coll)(&(hier_job_t){.call = call,
                                           .layout = &layout,
                                           .builder = builder,
                                           .between = algo->between,
                                           .to = memory + words,
                                           .from = memory + words + n});
    algo->host->free(algo->host, memory);
    return WEFT_OK;
}

static const weft_algo_ops_t hier_ops = {
    .size = sizeof hier_ops,
    .create = hier_create,
    .destroy = hier_destroy,
    .supports = hier_supports,
    .emit = hier_emit,
};

const weft_plugin_t *weft_plugin_entry(void)
{
    static const weft_plugin_t plugin = {
        .magic = WEFT_PLUGIN_MAGIC,
        .abi_major = WEFT_ABI_ALGO_MAJOR,
        .abi_minor = WEFT_ABI_ALGO_MINOR,
        .size = sizeof plugin,
        .kind = WEFT_KIND_ALGO,
        .name = "algo-hier",
        .version = "1",
        .help = "two levels: direct inside a host, any other algorithm between hosts",
        .options = hier_options,
        .config_size = sizeof(hier_config_t),
        .ops = &hier_ops,
    };
    return &plugin;
}
