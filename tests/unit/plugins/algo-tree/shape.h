/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the tests of this folder share: the plugin's sources, layouts of ranks over hosts, and a
 * plan of any settings. */
#ifndef TESTS_ALGO_TREE_SHAPE_H
#define TESTS_ALGO_TREE_SHAPE_H

#include <string.h>

#include "core/base/error.h"
#include "plugins/algo-tree/algo_tree.c"
#include "plugins/algo-tree/binary_tree.c"
#include "plugins/algo-tree/tree_position.c"
#include "plugins/algo-tree/tree_plan.c"
#include "tests/support/plan_fixture.h"
#include "tests/support/unit.h"

#define RANKS 1024u
#define USUAL                                                                                      \
    {                                                                                              \
        .pattern = TREE_BALANCED, .second = TREE_AUTO, .trees = 2, .chunks = 1, .chains = 16       \
    }

static const weft_coll_t colls[] = {WEFT_ALL_REDUCE, WEFT_BROADCAST, WEFT_REDUCE};

/* One case: what to emit and where the ranks run. */
typedef struct shape {
    tree_settings_t settings;
    weft_coll_t coll;
    uint32_t n, root, nhosts;
    uint32_t host[RANKS];
    const weft_algo_topo_t *topo; /* NULL: the hosts are all that is known */
} shape_t;

typedef void (*layout_fn_t)(shape_t *shape);

static inline void one_host(shape_t *shape)
{
    shape->nhosts = 1;
    memset(shape->host, 0, sizeof shape->host);
}

static inline void host_per_rank(shape_t *shape)
{
    shape->nhosts = shape->n;
    for (uint32_t rank = 0; rank < shape->n; rank++) {
        shape->host[rank] = rank;
    }
}

static inline void equal_hosts(shape_t *shape)
{
    for (uint32_t rank = 0; rank < shape->n; rank++) {
        shape->host[rank] = rank / 4;
    }
    shape->nhosts = (shape->n - 1) / 4 + 1;
}

/* 1, 2, 3, … ranks, in this order. */
static inline void unequal_hosts(shape_t *shape)
{
    uint32_t host = 0, used = 0;
    for (uint32_t rank = 0; rank < shape->n; rank++) {
        if (used > host) {
            host++;
            used = 0;
        }
        shape->host[rank] = host;
        used++;
    }
    shape->nhosts = host + 1;
}

static inline void dealt_hosts(shape_t *shape)
{
    shape->nhosts = shape->n < 3 ? shape->n : 3;
    for (uint32_t rank = 0; rank < shape->n; rank++) {
        shape->host[rank] = rank % shape->nhosts;
    }
}

/* Host 0 has every other rank, the others one each. */
static inline void crowded_host(shape_t *shape)
{
    shape->nhosts = 1;
    for (uint32_t rank = 0; rank < shape->n; rank++) {
        shape->host[rank] = rank % 2 == 0 ? 0 : shape->nhosts++;
    }
}

static const layout_fn_t layouts[] = {one_host,      host_per_rank, equal_hosts,
                                      unequal_hosts, dealt_hosts,   crowded_host};
#define LAYOUTS (sizeof layouts / sizeof *layouts)

static inline weft_plan_t *emit_one(const shape_t *shape, uint32_t rank)
{
    weft_algo_t algo = {.frame = &tree_frame, .config = &shape->settings};
    weft_algo_topo_t view = {.size = sizeof view, .nhosts = shape->nhosts, .host = shape->host};
    weft_algo_call_t call = {.size = sizeof call,
                             .coll = shape->coll,
                             .nranks = shape->n,
                             .rank = rank,
                             .root = shape->root};
    weft_plan_t *plan = NULL;
    view = shape->topo != NULL ? *shape->topo : view;
    if (weft_plan_emit(&tree_ops, &algo, &call, &view, NULL, &plan) != WEFT_OK) {
        fail_msg("rank %u of %u: %s", rank, shape->n, weft_error_record()->text);
    }
    return plan;
}

#endif
