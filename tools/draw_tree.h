/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Trees, side by side or one below the other. Every host (or rank) has the column of its number, in
 * all trees alike, so that one sees who is inner in which tree. */
#ifndef WEFT_TOOLS_DRAW_TREE_H
#define WEFT_TOOLS_DRAW_TREE_H

#include "tools/draw_page.h"

weft_status_t draw_tree(draw_t *draw, FILE *out);

#endif
