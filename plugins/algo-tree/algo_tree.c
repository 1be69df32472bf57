/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin: two binary trees, each for half of the data. The plans are in tree_plan.c. */
#include <weft/sdk/algo_frame.h>

#include "tree_plan.h"

static const tree_settings_t tree_defaults = {
    .pattern = TREE_BALANCED, .second = TREE_AUTO, .trees = 2, .chunks = 1, .chains = 16};

static const weft_option_t tree_options[] = {
    {.name = "pattern",
     .type = WEFT_OPT_CHOICE,
     .offset = offsetof(tree_settings_t, pattern),
     .value = "balanced",
     .help = "which ranks of a host have the links to other hosts: split, both links down on the "
             "second; balanced, one on each of two; plain, all on the first",
     .choices = "split|balanced|plain"},
    {.name = "second",
     .type = WEFT_OPT_CHOICE,
     .offset = offsetof(tree_settings_t, second),
     .value = "auto",
     .help =
         "how the second tree is made from the first; auto: mirror for an even number of nodes, "
         "shift for an odd one",
     .choices = "auto|mirror|shift"},
    {.name = "chain",
     .type = WEFT_OPT_CHOICE,
     .offset = offsetof(tree_settings_t, chain),
     .value = "auto",
     .help = "a chain inside each host and trees between hosts; auto: if there are several hosts; "
             "no: trees of ranks wherever they run",
     .choices = "auto|yes|no"},
    {.name = "trees",
     .type = WEFT_OPT_INT,
     .offset = offsetof(tree_settings_t, trees),
     .value = "2",
     .help = "number of trees that share the data; with one, an element's rounding does not depend "
             "on its position",
     .min = 1,
     .max = 2},
    {.name = "chunks",
     .type = WEFT_OPT_INT,
     .offset = offsetof(tree_settings_t, chunks),
     .value = "1",
     .help = "chunks of each tree in a pass",
     .min = 1,
     .max = 64},
    {.name = "chains",
     .type = WEFT_OPT_INT,
     .offset = offsetof(tree_settings_t, chains),
     .value = "16",
     .help = "most chains inside hosts that share the data, of those that use all wires and NICs, "
             "each with its trees; 1: one chain",
     .min = 1,
     .max = 16},
    {.name = NULL},
};

static weft_status_t tree_emit(const weft_algo_frame_job_t *job)
{
    static void (*const plans[WEFT_COLL_COUNT])(const tree_settings_t *, const weft_algo_call_t *,
                                                const weft_algo_topo_t *, weft_plan_builder_t *) = {
        [WEFT_ALL_REDUCE] = tree_all_reduce,
        [WEFT_BROADCAST] = tree_broadcast,
        [WEFT_REDUCE] = tree_reduce,
    };
    plans[job->call->coll](job->config, job->call, job->topo, job->builder);
    return WEFT_OK;
}

static const weft_algo_frame_coll_t tree_colls[] = {
    {.coll = WEFT_ALL_REDUCE, .emit = tree_emit},
    {.coll = WEFT_BROADCAST, .emit = tree_emit},
    {.coll = WEFT_REDUCE, .emit = tree_emit},
};

static const weft_algo_frame_t tree_frame = {
    .name = "algo-tree",
    .colls = tree_colls,
    .ncolls = sizeof tree_colls / sizeof tree_colls[0],
    .defaults = &tree_defaults,
};

static weft_status_t tree_create(const weft_host_t *host, const void *config, weft_algo_t **algo_p)
{
    return weft_algo_frame_create(&tree_frame, host, config, algo_p);
}

static const weft_algo_ops_t tree_ops = {
    .size = sizeof tree_ops,
    .create = tree_create,
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
        .name = "algo-tree",
        .version = "1",
        .help = "double binary tree: every byte once at logarithmic depth, for middle sizes",
        .options = tree_options,
        .config_size = sizeof(tree_settings_t),
        .ops = &tree_ops,
    };
    return &plugin;
}
