/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft plan --svg`. */
#ifndef WEFT_TOOLS_PLAN_DRAW_H
#define WEFT_TOOLS_PLAN_DRAW_H

#include "tools/plan_request.h"
#include "tools/plan_source.h"

/* Proves the plans and draws them with the verdict. TOOL_OK; TOOL_LIBRARY after one line on stderr:
 * the plan is refused, though drawn, or cannot be drawn. */
int plan_draw(const plan_request_t *request, const plan_set_t *set);

#endif
