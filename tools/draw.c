/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What all views share: the timed run, the links, the title, and the choice of the view. */
#include "tools/draw.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "tools/draw_forest.h"
#include "tools/draw_grid.h"
#include "tools/draw_hosts.h"
#include "tools/draw_lanes.h"
#include "tools/draw_ring.h"
#include "tools/draw_title.h"
#include "tools/draw_tree.h"
#include "tools/timeline.h"

#define STEPS_MAX 4000000u

static int draw_compare_links(const void *a, const void *b)
{
    const draw_link_t *x = a, *y = b;
    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    if (x->to != y->to) {
        return x->to < y->to ? -1 : 1;
    }
    return x->channel == y->channel ? 0 : x->channel < y->channel ? -1 : 1;
}

static weft_status_t draw_make_links(draw_t *draw)
{
    const timeline_t *t = &draw->timeline;
    draw_link_t *links = calloc(t->nmessages + 1, sizeof *links);
    if (links == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for a drawing");
    }
    for (uint32_t i = 0; i < t->nmessages; i++) {
        const timeline_message_t *m = &t->messages[i];
        links[i] = (draw_link_t){.from = t->events[m->from].rank,
                                 .to = t->events[m->to].rank,
                                 .channel = m->channel,
                                 .messages = 1,
                                 .first = t->events[m->from].start};
    }
    qsort(links, t->nmessages, sizeof *links, draw_compare_links);
    for (uint32_t i = 0; i < t->nmessages; i++) {
        draw_link_t *last = draw->nlinks > 0 ? &links[draw->nlinks - 1] : NULL;
        if (last != NULL && draw_compare_links(last, &links[i]) == 0) {
            last->messages++;
            last->first = links[i].first < last->first ? links[i].first : last->first;
        } else {
            links[draw->nlinks++] = links[i];
        }
    }
    draw->links = links;
    return WEFT_OK;
}

const char *const *draw_view_names(void)
{
    static const char *const names[] = {"auto", "ring", "hosts", "grid", "tree", "lanes", NULL};
    return names;
}

const char *draw_view_name(draw_view_t view)
{
    return draw_view_names()[view];
}

/* Beyond that a circle is a tangle. */
static bool draw_suits_circle(const draw_t *draw)
{
    uint32_t n = draw->input->nranks;
    return n <= 64 && draw->nlinks <= (n <= 32 ? 8 : 4) * n;
}

/* A chain is a tree too, but shows better on the circle. */
static weft_status_t draw_choose(draw_t *draw, draw_view_t *view_p)
{
    const draw_input_t *input = draw->input;
    draw_forest_t forest;
    weft_status_t status = draw_forest_make(draw, &forest);
    if (status != WEFT_OK) {
        return status;
    }
    bool tree = forest.count > 0 && forest.whole && forest.branching > 1;
    draw_forest_free(&forest);
    bool boxes = input->nhosts > 1 && input->nhosts < input->nranks &&
                 draw_hosts_width(input) <= DRAW_SCREEN;
    *view_p = tree                      ? DRAW_TREE
              : boxes                   ? DRAW_HOSTS
              : draw_suits_circle(draw) ? DRAW_RING
                                        : DRAW_GRID;
    return WEFT_OK;
}

static weft_status_t draw_prepare(draw_t *draw)
{
    const draw_input_t *input = draw->input;
    timeline_input_t timed = {.plans = input->plans,
                              .nranks = input->nranks,
                              .slots = input->slots,
                              .slices = 1,
                              .limit = STEPS_MAX,
                              .record = 1};
    weft_status_t status = timeline_run(&timed, &draw->timeline);
    /* A drawing with a verdict shows how far the plan comes. */
    if (status == WEFT_OK && draw->timeline.stuck && !draw_is_refused(draw)) {
        return weft_fail(WEFT_ERR_PLAN, 0,
                         "the plan does not come to its end with %u slots; --check tells where",
                         input->slots);
    }
    return status == WEFT_OK ? draw_make_links(draw) : status;
}

weft_status_t draw_plan(const draw_input_t *input, draw_view_t *view_p, FILE *out)
{
    static weft_status_t (*const views[])(draw_t *, FILE *) = {[DRAW_RING] = draw_ring,
                                                               [DRAW_HOSTS] = draw_hosts,
                                                               [DRAW_GRID] = draw_grid,
                                                               [DRAW_TREE] = draw_tree,
                                                               [DRAW_LANES] = draw_lanes};
    draw_t draw = {.input = input};
    weft_status_t status = draw_prepare(&draw);
    draw.top = draw_title_height(&draw);
    if (status == WEFT_OK && *view_p == DRAW_AUTO) {
        status = draw_choose(&draw, view_p);
    }
    if (status == WEFT_OK) {
        status = views[*view_p](&draw, out);
    }
    free(draw.links);
    timeline_free(&draw.timeline);
    return status;
}
