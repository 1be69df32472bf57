/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks on a circle, clockwise from the top, with an arrow for every link. */
#ifndef WEFT_TOOLS_DRAW_RING_H
#define WEFT_TOOLS_DRAW_RING_H

#include "tools/draw_page.h"

weft_status_t draw_ring(draw_t *draw, FILE *out);

#endif
