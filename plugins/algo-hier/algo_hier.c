/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin: two levels, inside the host and between hosts. The plans are in hier_plan.c. */
#include <stdbool.h>
#include <string.h>

#include <weft/sdk/algo_frame.h>

#include "hier_blocks.h"
#include "hier_pairs.h"
#include "hier_plan.h"
#include "hier_ring.h"
#include "layout.h"

#define HIER_NAME "algo-hier"
#define HIER_RING "algo-ring"

typedef struct hier_config {
    const char *between;
    int64_t group; /* 0: the ranks of a host */
} hier_config_t;

static const hier_config_t hier_defaults = {.between = HIER_RING, .group = 0};

static const weft_option_t hier_options[] = {
    {.name = "between",
     .type = WEFT_OPT_STRING,
     .offset = offsetof(hier_config_t, between),
     .value = HIER_RING,
     .help = "name of the loaded algorithm that works between hosts",
     .flags = WEFT_OPTION_ALGO},
    {.name = "group",
     .type = WEFT_OPT_INT,
     .offset = offsetof(hier_config_t, group),
     .value = "0",
     .help = "ranks of a host that count as a host of their own, a socket's say; 0: all of them",
     .min = 0,
     .max = 65536},
    {.name = NULL},
};

typedef void (*hier_emit_fn_t)(const hier_job_t *job);

typedef struct hier_form {
    hier_emit_fn_t emit; /* over any algorithm between hosts */
    /* Over a ring, and where hosts have different numbers of ranks, which `emit` then cannot serve.
     * NULL: `emit` serves all. */
    hier_emit_fn_t ring;
} hier_form_t;

static const hier_form_t hier_forms[WEFT_COLL_COUNT] = {
    [WEFT_ALL_REDUCE] = {hier_all_reduce, NULL},
    [WEFT_BROADCAST] = {hier_broadcast, NULL},
    [WEFT_REDUCE] = {hier_reduce, NULL},
    [WEFT_REDUCE_SCATTER] = {hier_reduce_scatter, hier_ring_reduce_scatter},
    [WEFT_ALL_GATHER] = {hier_all_gather, hier_ring_all_gather},
    [WEFT_GATHER] = {hier_gather, NULL},
    [WEFT_SCATTER] = {hier_scatter, NULL},
    [WEFT_ALL_TO_ALL] = {hier_all_to_all, NULL},
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

/* What counts as hosts. Returns the algorithm between them: this one again where a level further
 * out parts them. */
static const char *hier_choose_view(const weft_algo_frame_job_t *job, weft_algo_topo_t *split,
                                    uint32_t *memory)
{
    const hier_config_t *config = job->config;
    uint32_t n = job->call->nranks;
    *split = *job->topo;
    if (config->group > 0) {
        hier_view_split(job->topo, n, (uint32_t)config->group, split, memory, memory + n);
        return config->between;
    }
    return hier_view_choose(job->topo, n, split) ? HIER_NAME : config->between;
}

/* The memory, in words by rank: four arrays of ports, two of pcs, two of the view, the layout. */
enum { HIER_WAITS = 4, HIER_VIEW = 6, HIER_LAYOUT = 8 };

static weft_status_t hier_emit_into(const weft_algo_frame_job_t *job, uint32_t *memory)
{
    const hier_config_t *config = job->config;
    const hier_form_t *form = &hier_forms[job->call->coll];
    size_t n = job->call->nranks;
    hier_layout_t layout;
    weft_algo_topo_t split;
    const char *between = hier_choose_view(job, &split, memory + HIER_VIEW * n);
    weft_status_t status = hier_check_topo(job, split.nhosts);
    if (status != WEFT_OK) {
        return status;
    }
    hier_layout_init(&layout, &split, job->call->nranks, job->call->rank, memory + HIER_LAYOUT * n);
    hier_job_t part = {.call = job->call,
                       .layout = &layout,
                       .builder = job->builder,
                       .between = between,
                       .to = memory,
                       .from = memory + n,
                       .down = memory + 2 * n,
                       .hosts = memory + 3 * n,
                       .waits = memory + HIER_WAITS * n};
    bool by_ring = strcmp(config->between, HIER_RING) == 0 || layout.heads != layout.widest;
    if (form->ring != NULL && by_ring) {
        form->ring(&part);
    } else {
        form->emit(&part);
    }
    return WEFT_OK;
}

static weft_status_t hier_emit(const weft_algo_frame_job_t *job)
{
    size_t n = job->call->nranks;
    size_t words = HIER_LAYOUT * n + hier_layout_words(job->call->nranks, job->call->nranks);
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
    {.coll = WEFT_ALL_GATHER, .emit = hier_emit}, {.coll = WEFT_GATHER, .emit = hier_emit},
    {.coll = WEFT_SCATTER, .emit = hier_emit},    {.coll = WEFT_ALL_TO_ALL, .emit = hier_emit},
};

static const weft_algo_frame_t hier_frame = {
    .name = HIER_NAME,
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
        .name = HIER_NAME,
        .version = "1",
        .help = "levels: direct inside a host, any other algorithm between hosts",
        .options = hier_options,
        .config_size = sizeof(hier_config_t),
        .ops = &hier_ops,
    };
    return &plugin;
}
