/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin: two levels, inside the host and between hosts. The plans are in hier_plan.c. */
#include <stdbool.h>

#include <weft/sdk/algo_frame.h>

#include "hier_plan.h"
#include "hier_blocks.h"
#include "layout.h"

typedef struct hier_config {
    const char *between;
    int64_t group; /* 0: the ranks of a host */
} hier_config_t;

static const hier_config_t hier_defaults = {.between = "algo-ring", .group = 0};

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
    bool equal; /* hosts must have equal numbers of ranks */
} hier_form_t;

static const hier_form_t hier_forms[WEFT_COLL_COUNT] = {
    [WEFT_ALL_REDUCE] = {hier_all_reduce, false},
    [WEFT_BROADCAST] = {hier_broadcast, false},
    [WEFT_REDUCE] = {hier_reduce, false},
    [WEFT_REDUCE_SCATTER] = {hier_reduce_scatter, true},
    [WEFT_ALL_GATHER] = {hier_all_gather, true},
};

/* supports() does not know where the ranks are; emit() does. */
static weft_status_t hier_check_topo(const weft_algo_frame_job_t *job, uint32_t nhosts)
{
    uint32_t n = job->call->nranks;
    if (nhosts < 2) {
        return job->host->set_error(job->host, WEFT_ERR_UNSUPPORTED, 0,
                                    "algo-hier needs several hosts; all %u ranks are on one", n);
    }
    if (nhosts == n) {
        return job->host->set_error(job->host, WEFT_ERR_UNSUPPORTED, 0,
                                    "algo-hier needs a host with several ranks; each of the %u "
                                    "ranks is alone on its host",
                                    n);
    }
    return WEFT_OK;
}

static weft_status_t hier_check_layout(const weft_algo_frame_job_t *job,
                                       const hier_layout_t *layout)
{
    if (hier_forms[job->call->coll].equal && layout->heads != layout->widest) {
        return job->host->set_error(job->host, WEFT_ERR_UNSUPPORTED, 0,
                                    "algo-hier needs equal hosts for collective %d; they have %u "
                                    "to %u ranks",
                                    (int)job->call->coll, layout->heads, layout->widest);
    }
    return WEFT_OK;
}

static weft_status_t hier_emit_into(const weft_algo_frame_job_t *job, uint32_t *memory)
{
    const hier_config_t *config = job->config;
    uint32_t n = job->call->nranks;
    hier_layout_t layout;
    weft_algo_topo_t split = *job->topo;
    if (config->group > 0) {
        hier_view_split(job->topo, n, (uint32_t)config->group, &split, memory + 2 * n,
                        memory + 3 * n);
    }
    weft_status_t status = hier_check_topo(job, split.nhosts);
    if (status != WEFT_OK) {
        return status;
    }
    hier_layout_init(&layout, &split, n, job->call->rank, memory + 4 * n);
    status = hier_check_layout(job, &layout);
    if (status == WEFT_OK) {
        hier_forms[job->call->coll].emit(&(hier_job_t){.call = job->call,
                                                       .layout = &layout,
                                                       .builder = job->builder,
                                                       .between = config->between,
                                                       .to = memory,
                                                       .from = memory + n});
    }
    return status;
}

static weft_status_t hier_emit(const weft_algo_frame_job_t *job)
{
    size_t n = job->call->nranks;
    size_t words = 4 * n + hier_layout_words(job->call->nranks, job->call->nranks);
    uint32_t *memory = job->host->alloc(job->host, words * sizeof *memory, 0);
    if (memory == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    weft_status_t status = hier_emit_into(job, memory);
    job->host->free(job->host, memory);
    return status;
}

static const weft_algo_frame_coll_t hier_colls[] = {
    {.coll = WEFT_ALL_REDUCE, .emit = hier_emit}, {.coll = WEFT_BROADCAST, .emit = hier_emit},
    {.coll = WEFT_REDUCE, .emit = hier_emit},     {.coll = WEFT_REDUCE_SCATTER, .emit = hier_emit},
    {.coll = WEFT_ALL_GATHER, .emit = hier_emit},
};

static const weft_algo_frame_t hier_frame = {
    .name = "algo-hier",
    .colls = hier_colls,
    .ncolls = sizeof hier_colls / sizeof hier_colls[0],
    .defaults = &hier_defaults,
};

static weft_status_t hier_create(const weft_host_t *host, const void *config, weft_algo_t **algo_p)
{
    return weft_algo_frame_create(&hier_frame, host, config, algo_p);
}

static const weft_algo_ops_t hier_ops = {
    .size = sizeof hier_ops,
    .create = hier_create,
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
        .name = "algo-hier",
        .version = "1",
        .help = "two levels: direct inside a host, any other algorithm between hosts",
        .options = hier_options,
        .config_size = sizeof(hier_config_t),
        .ops = &hier_ops,
    };
    return &plugin;
}
