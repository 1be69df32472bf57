/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lanes over time: a row per rank and lane, a bar per chunk that a MOVE moved, an arrow per
 * message. Members of a PAR share their row, one below the other, on a common ground. */
#ifndef WEFT_TOOLS_DRAW_LANES_H
#define WEFT_TOOLS_DRAW_LANES_H

#include "tools/draw_page.h"

weft_status_t draw_lanes(draw_t *draw, FILE *out);

#endif
