/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin: two binary trees, each for half of the data. The plans are in tree_plan.c. */
#include <weft/plugin/algo.h>

#include "tree_plan.h"

struct weft_algo {
    const weft_host_t *host;
    tree_settings_t settings;
};

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
    {.name = NULL},
};

typedef void (*tree_emit_fn_t)(const tree_settings_t *settings, const weft_algo_call_t *call,
                               const weft_algo_topo_t *topo, weft_plan_builder_t *builder);

static tree_emit_fn_t tree_emitter(weft_coll_t coll)
{
    static const tree_emit_fn_t table[WEFT_COLL_COUNT] = {
        [WEFT_ALL_REDUCE] = tree_all_reduce,
        [WEFT_BROADCAST] = tree_broadcast,
        [WEFT_REDUCE] = tree_reduce,
    };
    return (unsigned)coll < WEFT_COLL_COUNT ? table[coll] : NULL;
}

static weft_status_t tree_create(const weft_host_t *host, const void *config, weft_algo_t **algo_p)
{
    static const tree_settings_t defaults = {
        .pattern = TREE_BALANCED, .second = TREE_AUTO, .trees = 2, .chunks = 1};
    weft_algo_t *algo = host->alloc(host, sizeof *algo, 0);
    if (algo == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    algo->host = host;
    algo->settings = config != NULL ? *(const tree_settings_t *)config : defaults;
    *algo_p = algo;
    return WEFT_OK;
}

static void tree_destroy(weft_algo_t *algo)
{
    if (algo != NULL) {
        algo->host->free(algo->host, algo);
    }
}

static weft_status_t tree_supports(weft_algo_t *algo, const weft_algo_call_t *call)
{
    if (tree_emitter(call->coll) == NULL) {
        return algo->host->set_error(
            algo->host, WEFT_ERR_UNSUPPORTED, 0,
            "algo-tree has no plan for %s: it has all_reduce, broadcast and reduce",
            weft_algo_coll_text(call->coll));
    }
    return WEFT_OK;
}

static weft_status_t tree_emit(weft_algo_t *algo, const weft_algo_call_t *call,
                               const weft_algo_topo_t *topo, weft_plan_builder_t *builder)
{
    weft_status_t status = tree_supports(algo, call);
    if (status == WEFT_OK) {
        tree_emitter(call->coll)(&algo->settings, call, topo, builder);
    }
    return status;
}

static const weft_algo_ops_t tree_ops = {
    .size = sizeof tree_ops,
    .create = tree_create,
    .destroy = tree_destroy,
    .supports = tree_supports,
    .emit = tree_emit,
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
