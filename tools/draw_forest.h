/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The trees in the links of a plan. */
#ifndef WEFT_TOOLS_DRAW_FOREST_H
#define WEFT_TOOLS_DRAW_FOREST_H

#include <stdbool.h>

#include "tools/draw_page.h"

/* Channels that join the same ranks are one tree. */
#define DRAW_TREES_MAX 16
#define DRAW_NO_PARENT UINT32_MAX
typedef struct draw_tree {
    uint32_t *parent; /* of each rank; NO_PARENT: the root, or not in this tree */
    uint8_t *member;
    uint32_t root, members;
    uint32_t up, down; /* messages go to the root, come from it */
} draw_tree_t;
typedef struct draw_forest {
    draw_tree_t trees[DRAW_TREES_MAX];
    uint32_t count;
    uint32_t branching; /* most children of any rank */
    bool whole;         /* every link is in a tree */
} draw_forest_t;

weft_status_t draw_forest_make(const draw_t *draw, draw_forest_t *forest);
void draw_forest_free(draw_forest_t *forest);

#endif
