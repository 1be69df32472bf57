/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin: two levels, inside the host and between hosts. The plans are in hier_plan.c. */
#include <weft/plugin/algo.h>

#include "hier_plan.h"

typedef struct hier_config {
    const char *between;
    int64_t group;
} hier_config_t;

struct weft_algo {
    const weft_host_t *host;
    const char *between;
    uint32_t group; /* 0: the ranks of a host */
};

static const weft_option_t hier_options[] = {
    {.name = "between",
     .type = WEFT_OPT_STRING,
     .offset = offsetof(hier_config_t, between),
     .value = "algo-ring",
     .help = "name of the loaded algorithm that works between hosts"},
    {.name = "group",
     .type = WEFT_OPT_INT,
     .offset = offsetof(hier_config_t, group),
     .value = "0",
     .help = "ranks of a host that count as a host of their own, a socket's say; 0: all of them",
     .min = 0,
     .max = 65536},
    {.name = NULL},
};

typedef struct hier_form {
    void (*emit)(const hier_job_t *job);
    int equal; /* hosts must have equal numbers of ranks */
} hier_form_t;

static const hier_form_t *hier_form(weft_coll_t coll)
{
    static const hier_form_t table[WEFT_COLL_COUNT] = {
        [WEFT_ALL_REDUCE] = {hier_all_reduce, 0}, [WEFT_BROADCAST] = {hier_broadcast, 0},
        [WEFT_REDUCE] = {hier_reduce, 0},         [WEFT_REDUCE_SCATTER] = {hier_reduce_scatter, 1},
        [WEFT_ALL_GATHER] = {hier_all_gather, 1},
    };
    return (unsigned)coll < WEFT_COLL_COUNT && table[coll].emit != NULL ? &table[coll] : NULL;
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
    algo->group = settings != NULL ? (uint32_t)settings->group : 0;
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
    if (hier_form(call->coll) == NULL) {
        return algo->host->set_error(algo->host, WEFT_ERR_UNSUPPORTED, 0,
                                     "algo-hier has no plan for %s",
                                     weft_algo_coll_text(call->coll));
    }
    return WEFT_OK;
}

/* Only emit() sees where the ranks are. */
static weft_status_t check_view(weft_algo_t *algo, const weft_algo_call_t *call, uint32_t nhosts)
{
    if (nhosts < 2) {
        return algo->host->set_error(algo->host, WEFT_ERR_UNSUPPORTED, 0,
                                     "algo-hier needs several hosts; all %u ranks are on one",
                                     call->nranks);
    }
    if (nhosts == call->nranks) {
        return algo->host->set_error(algo->host, WEFT_ERR_UNSUPPORTED, 0,
                                     "algo-hier needs a host with several ranks; each of the %u "
                                     "ranks is alone on its host",
                                     call->nranks);
    }
    return WEFT_OK;
}

static weft_status_t check_layout(weft_algo_t *algo, const weft_algo_call_t *call,
                                  const hier_layout_t *layout)
{
    if (hier_form(call->coll)->equal && layout->heads != layout->widest) {
        return algo->host->set_error(algo->host, WEFT_ERR_UNSUPPORTED, 0,
                                     "algo-hier needs equal hosts for collective %d; they have %u "
                                     "to %u ranks",
                                     (int)call->coll, layout->heads, layout->widest);
    }
    return WEFT_OK;
}

static weft_status_t emit_into(weft_algo_t *algo, const weft_algo_call_t *call,
                               const weft_algo_topo_t *topo, weft_plan_builder_t *builder,
                               uint32_t *memory)
{
    uint32_t n = call->nranks;
    hier_layout_t layout;
    weft_algo_topo_t split = *topo;
    if (algo->group > 0) {
        hier_view_split(topo, n, algo->group, &split, memory + 2 * n, memory + 3 * n);
    }
    weft_status_t status = check_view(algo, call, split.nhosts);
    if (status != WEFT_OK) {
        return status;
    }
    hier_layout_init(&layout, &split, n, call->rank, memory + 4 * n);
    status = check_layout(algo, call, &layout);
    if (status == WEFT_OK) {
        hier_form(call->coll)
            ->emit(&(hier_job_t){.call = call,
                                 .layout = &layout,
                                 .builder = builder,
                                 .between = algo->between,
                                 .to = memory,
                                 .from = memory + n});
    }
    return status;
}

static weft_status_t hier_emit(weft_algo_t *algo, const weft_algo_call_t *call,
                               const weft_algo_topo_t *topo, weft_plan_builder_t *builder)
{
    size_t n = call->nranks;
    weft_status_t status = hier_supports(algo, call);
    if (status != WEFT_OK) {
        return status;
    }
    size_t words = 4 * n + hier_layout_words(call->nranks, call->nranks);
    uint32_t *memory = algo->host->alloc(algo->host, words * sizeof *memory, 0);
    if (memory == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    status = emit_into(algo, call, topo, builder, memory);
    algo->host->free(algo->host, memory);
    return status;
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
