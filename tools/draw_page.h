/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Drawings of a plan as SVG: ranks on a circle, trees, lanes over time. All are made from a timed
 * run (timeline.h), so they show what the plan does, not what the algorithm is called. */
#ifndef WEFT_TOOLS_DRAW_PAGE_H
#define WEFT_TOOLS_DRAW_PAGE_H

#include "tools/svg.h"
#include "tools/timeline.h"

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

/* Title and what is drawn, at the top left; opens the document. */
void draw_begin(draw_t *draw, FILE *out, double width, double height, const char *what);
#define DRAW_MARGIN 28.0
#define DRAW_TOP 84.0 /* below the title */
/* A coloured stroke with its meaning, at `at`. */
void draw_key(draw_t *draw, svg_point_t at, const char *colour, const char *text);
/* Colour of a chunk among all chunks of the job. */
svg_colour_t draw_chunk_colour(const draw_t *draw, uint32_t chunk);

#endif
