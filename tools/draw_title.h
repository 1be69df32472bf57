/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The title of a drawing with the verdict on the plan, and the marks of what the verdict names. */
#ifndef WEFT_TOOLS_DRAW_TITLE_H
#define WEFT_TOOLS_DRAW_TITLE_H

#include "tools/draw_page.h"

#define DRAW_FAULT "#d1242f"  /* marks where a refused plan is wrong, */
#define DRAW_ORIGIN "#e07b00" /* … and where the wrong value comes from */

/* Returns the height of title and verdict, for draw->top. */
double draw_title_height(const draw_t *draw);
/* Title, what is drawn, and the verdict, at the top left; opens the document. */
void draw_begin(draw_t *draw, FILE *out, double width, double height, const char *what);

/* True if the plan is refused. */
bool draw_is_refused(const draw_t *draw);
/* The colour that marks a rank, or an instruction; NULL: none. */
const char *draw_mark_of_rank(const draw_t *draw, uint32_t rank);
const char *draw_mark_of_code(const draw_t *draw, const weft_plan_place_t *at);
/* A ring around a rank's disc, if the rank is marked. */
void draw_mark_rank(draw_t *draw, uint32_t rank, svg_point_t centre, double radius);

#endif
