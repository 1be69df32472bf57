/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What all drawings of a plan share: their input, keys, colours. Drawings are made from a timed run
 * (timeline.h), so they show what the plan does, not what the algorithm is called. */
#ifndef WEFT_TOOLS_DRAW_PAGE_H
#define WEFT_TOOLS_DRAW_PAGE_H

#include "core/plan/verdict.h"
#include "tools/svg.h"
#include "tools/timeline.h"

/* Screens are at least so wide; views keep to it where they can. */
#define DRAW_SCREEN 1280.0
/* No text is smaller. */
#define DRAW_TEXT_LEAST 9.0
#define DRAW_MARGIN 28.0

typedef struct draw_input {
    weft_plan_t *const *plans;
    uint32_t nranks;
    const uint32_t *host; /* of each rank */
    uint32_t nhosts;
    const char *algo; /* with its parameters */
    uint32_t slots, slices;
    /* Out of place and in place, as weft_plan_prove() gives them; NULL: nothing is said of a
     * proof. */
    const weft_verify_report_t *reports;
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
    draw_link_t *links; /* by sender, receiver and channel */
    uint32_t nlinks;
    double top; /* where the drawing begins, below the title and the verdict */
    svg_t svg;
} draw_t;

/* A coloured stroke with its meaning, at `at`. */
void draw_key(draw_t *draw, svg_point_t at, const char *colour, const char *text);
/* Colour of a chunk among all chunks of the job. */
svg_colour_t draw_chunk_colour(const draw_t *draw, uint32_t chunk);
/* Adds links over all channels of their two ranks; returns how many are left, in the same order. */
uint32_t draw_merge_links(const draw_t *draw, draw_link_t *merged);

#endif
