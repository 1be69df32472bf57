/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Drawings of a plan as SVG: ranks on a circle, trees, lanes over time. All are made from a timed run
 * (timeline.h), so they show what the plan does, not what the algorithm is called. */
#ifndef WEFT_TOOLS_DRAW_H
#define WEFT_TOOLS_DRAW_H

#include "tools/svg.h"
#include "tools/timeline.h"

typedef enum draw_view { DRAW_AUTO, DRAW_RING, DRAW_TREE, DRAW_LANES } draw_view_t;

typedef struct draw_input {
    weft_plan_t *const *plans;
    uint32_t nranks;
    const uint32_t *host; /* of each rank */
    uint32_t nhosts;
    const char *algo; /* with its parameters */
    uint32_t slots;
} draw_input_t;

/* All messages of one pass over one queue. */
typedef struct draw_link {
    uint32_t from, to, channel;
    uint32_t messages;
    double first; /* when the first was sent */
} draw_link_t;

typedef struct draw {
    const draw_input_t *input;
    timeline_t timeline;
    draw_link_t *links;
    uint32_t nlinks;
    svg_t svg;
} draw_t;

/* Draws the plan; *view_p is replaced by the view chosen if it is AUTO. ERR_ARG: too much for this view,
 * or not a tree; ERR_RESOURCE; ERR_PLAN: the plan does not come to its end. */
weft_status_t draw_plan(const draw_input_t *input, draw_view_t *view_p, FILE *out);
const char *draw_view_name(draw_view_t view);

/* Parts, for the views. */
weft_status_t draw_ring(draw_t *draw, FILE *out);
weft_status_t draw_tree(draw_t *draw, FILE *out);
weft_status_t draw_lanes(draw_t *draw, FILE *out);
/* Title and what is drawn, at the top left; opens the document. */
void draw_begin(draw_t *draw, FILE *out, double width, double height, const char *what);
#define DRAW_MARGIN 28.0
#define DRAW_TOP 84.0 /* below the title */
/* A coloured stroke with its meaning, at `at`. */
void draw_key(draw_t *draw, svg_point_t at, const char *colour, const char *text);
/* Colour of a chunk among all chunks of the job. */
svg_colour_t draw_chunk_colour(const draw_t *draw, uint32_t chunk);

/* The trees in the links, draw_forest.c. Channels that join the same ranks are one tree. */
#define DRAW_TREES_MAX 16
#define DRAW_NO_PARENT UINT32_MAX
typedef struct draw_tree {
    uint32_t *parent; /* of each rank; NO_PARENT: the root, or not in this tree */
    uint8_t *member;
    uint32_t root, members, channel;
    uint32_t up, down; /* messages go to the root, come from it */
} draw_tree_t;
typedef struct draw_forest {
    draw_tree_t trees[DRAW_TREES_MAX];
    uint32_t count;
    uint32_t branching; /* most children of any rank */
    int whole;          /* every link is in a tree */
} draw_forest_t;
weft_status_t draw_forest_make(const draw_t *draw, draw_forest_t *forest);
void draw_forest_free(draw_forest_t *forest);

#endif
