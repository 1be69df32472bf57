/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the trees in the links of a plan. The links of one channel, without their direction, are a
 * tree if they join their ranks without a cycle; channels that join the same ranks alike are one
 * tree (up and down). Where a link is used both ways, the way used first leads to the root. */
#include "tools/draw_forest.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "tools/draw_page.h"

/* A pair of ranks that exchange messages on a channel. */
typedef struct edge {
    uint32_t low, high;
    int rises, falls; /* messages from low to high, from high to low */
    double rise, fall;
} edge_t;

typedef struct edges {
    edge_t *edge;
    uint32_t count;
} edges_t;

static void draw_forest_add_edge(edges_t *edges, const draw_link_t *link)
{
    int rises = link->from < link->to;
    uint32_t low = rises ? link->from : link->to, high = rises ? link->to : link->from;
    edge_t *e = NULL;
    for (uint32_t i = 0; i < edges->count && e == NULL; i++) {
        e = edges->edge[i].low == low && edges->edge[i].high == high ? &edges->edge[i] : NULL;
    }
    if (e == NULL) {
        e = &edges->edge[edges->count++];
        *e = (edge_t){.low = low, .high = high};
    }
    if (rises) {
        e->rise = !e->rises || link->first < e->rise ? link->first : e->rise;
        e->rises = 1;
    } else {
        e->fall = !e->falls || link->first < e->fall ? link->first : e->fall;
        e->falls = 1;
    }
}

static int draw_forest_joins_same(const draw_t *draw, uint32_t a, uint32_t b)
{
    uint32_t balance = 0;
    for (uint32_t i = 0; i < draw->nlinks; i++) {
        const draw_link_t *x = &draw->links[i];
        if (x->channel != a && x->channel != b) {
            continue;
        }
        bool found = false;
        for (uint32_t j = 0; j < draw->nlinks && !found; j++) {
            const draw_link_t *y = &draw->links[j];
            found =
                y->channel == (x->channel == a ? b : a) &&
                ((y->from == x->from && y->to == x->to) || (y->from == x->to && y->to == x->from));
        }
        balance += !found;
    }
    return balance == 0;
}

static uint32_t draw_forest_find(uint32_t *set, uint32_t r)
{
    while (set[r] != r) {
        set[r] = set[set[r]];
        r = set[r];
    }
    return r;
}

/* One component and no cycle. */
static bool draw_forest_is_tree(const edges_t *edges, uint32_t n, uint32_t *set)
{
    for (uint32_t r = 0; r < n; r++) {
        set[r] = r;
    }
    for (uint32_t i = 0; i < edges->count; i++) {
        uint32_t a = draw_forest_find(set, edges->edge[i].low),
                 b = draw_forest_find(set, edges->edge[i].high);
        if (a == b) {
            return false;
        }
        set[a] = b;
    }
    for (uint32_t i = 1; i < edges->count; i++) {
        if (draw_forest_find(set, edges->edge[i].low) !=
            draw_forest_find(set, edges->edge[0].low)) {
            return false;
        }
    }
    return edges->count > 0;
}

/* True: the root lies at `high`. Where all links go one way, the collective tells whether that is
 * up. */
static bool draw_forest_root_is_high(const edge_t *e, bool down)
{
    if (e->rises && e->falls) {
        return e->rise <= e->fall;
    }
    return e->rises ? !down : down;
}

static int draw_forest_one_way_is_down(const draw_t *draw, const edges_t *edges, uint32_t *out)
{
    weft_coll_t coll = draw->input->plans[0]->coll;
    if (coll == WEFT_BROADCAST || coll == WEFT_SCATTER) {
        return 1;
    }
    if (coll == WEFT_REDUCE || coll == WEFT_GATHER) {
        return 0;
    }
    memset(out, 0, draw->input->nranks * sizeof *out);
    for (uint32_t i = 0; i < edges->count; i++) {
        out[edges->edge[i].rises ? edges->edge[i].low : edges->edge[i].high]++;
    }
    for (uint32_t r = 0; r < draw->input->nranks; r++) {
        if (out[r] > 1) {
            return 1;
        }
    }
    return 0;
}

static int draw_forest_set_parents(draw_tree_t *tree, const edges_t *edges, uint32_t n, int down)
{
    for (uint32_t r = 0; r < n; r++) {
        tree->parent[r] = DRAW_NO_PARENT;
        tree->member[r] = 0;
    }
    for (uint32_t i = 0; i < edges->count; i++) {
        const edge_t *e = &edges->edge[i];
        int high = draw_forest_root_is_high(e, down);
        uint32_t child = high ? e->low : e->high, parent = high ? e->high : e->low;
        if (tree->parent[child] != DRAW_NO_PARENT) {
            return 0;
        }
        tree->parent[child] = parent;
        tree->member[child] = tree->member[parent] = 1;
        tree->up |= (uint32_t)(high ? e->rises : e->falls);
        tree->down |= (uint32_t)(high ? e->falls : e->rises);
    }
    tree->members = edges->count + 1;
    for (uint32_t r = 0; r < n; r++) {
        if (tree->member[r] && tree->parent[r] == DRAW_NO_PARENT) {
            tree->root = r;
        }
    }
    return 1;
}

static uint32_t draw_forest_most_children(const draw_tree_t *tree, uint32_t n, uint32_t *children)
{
    uint32_t most = 0;
    memset(children, 0, n * sizeof *children);
    for (uint32_t r = 0; r < n; r++) {
        if (tree->parent[r] != DRAW_NO_PARENT && ++children[tree->parent[r]] > most) {
            most = children[tree->parent[r]];
        }
    }
    return most;
}

/* The links of `channel` and of later channels that join the same ranks. */
static void draw_forest_collect(const draw_t *draw, uint32_t channel, uint8_t *used,
                                uint32_t nchannels, edges_t *edges)
{
    edges->count = 0;
    for (uint32_t c = channel; c < nchannels; c++) {
        if (c != channel && (used[c] || !draw_forest_joins_same(draw, channel, c))) {
            continue;
        }
        used[c] = 1;
        for (uint32_t i = 0; i < draw->nlinks; i++) {
            if (draw->links[i].channel == c) {
                draw_forest_add_edge(edges, &draw->links[i]);
            }
        }
    }
}

static int draw_forest_find_tree(const draw_t *draw, const edges_t *edges, uint32_t *scratch,
                                 draw_forest_t *forest)
{
    uint32_t n = draw->input->nranks;
    draw_tree_t *tree = &forest->trees[forest->count];
    if (edges->count >= n || !draw_forest_is_tree(edges, n, scratch)) {
        return 0;
    }
    tree->parent = calloc(n, sizeof *tree->parent);
    tree->member = calloc(n, 1);
    if (tree->parent == NULL || tree->member == NULL ||
        !draw_forest_set_parents(tree, edges, n,
                                 draw_forest_one_way_is_down(draw, edges, scratch))) {
        free(tree->parent);
        free(tree->member);
        *tree = (draw_tree_t){0};
        return 0;
    }
    uint32_t most = draw_forest_most_children(tree, n, scratch);
    forest->branching = most > forest->branching ? most : forest->branching;
    forest->count++;
    return 1;
}

static uint32_t draw_forest_count_channels(const draw_t *draw)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < draw->nlinks; i++) {
        n = draw->links[i].channel >= n ? draw->links[i].channel + 1 : n;
    }
    return n;
}

weft_status_t draw_forest_make(const draw_t *draw, draw_forest_t *forest)
{
    uint32_t nchannels = draw_forest_count_channels(draw);
    edges_t edges = {.edge = calloc(draw->nlinks + 1, sizeof *edges.edge)};
    uint32_t *scratch = calloc(draw->input->nranks, sizeof *scratch);
    uint8_t *used = calloc(nchannels + 1, 1);
    weft_status_t status = WEFT_OK;
    *forest = (draw_forest_t){.whole = true};
    if (edges.edge == NULL || scratch == NULL || used == NULL) {
        status = weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for a drawing");
    }
    /* More links than trees of that many channels can have need not be looked at. */
    uint64_t most = (uint64_t)DRAW_TREES_MAX * 4 * draw->input->nranks;
    forest->whole = draw->nlinks <= most;
    for (uint32_t c = 0; status == WEFT_OK && draw->nlinks <= most && c < nchannels; c++) {
        if (used[c]) {
            continue;
        }
        draw_forest_collect(draw, c, used, nchannels, &edges);
        if (edges.count == 0) {
            continue;
        }
        if (forest->count == DRAW_TREES_MAX ||
            !draw_forest_find_tree(draw, &edges, scratch, forest)) {
            forest->whole = false;
        }
    }
    free(edges.edge);
    free(scratch);
    free(used);
    return status;
}

void draw_forest_free(draw_forest_t *forest)
{
    for (uint32_t i = 0; i < forest->count; i++) {
        free(forest->trees[i].parent);
        free(forest->trees[i].member);
    }
    forest->count = 0;
}
