/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who sends to whom: a row for each sender, a column for each receiver. Legible where a circle is a
 * tangle. */
#ifndef WEFT_TOOLS_DRAW_GRID_H
#define WEFT_TOOLS_DRAW_GRID_H

#include "tools/draw_page.h"

/* Up to 256 ranks; ERR_ARG. */
weft_status_t draw_grid(draw_t *draw, FILE *out);

#endif
