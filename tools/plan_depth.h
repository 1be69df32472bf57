/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slots and slices of `weft plan` where the command line does not say them: those of a job with
 * this configuration. */
#ifndef WEFT_TOOLS_PLAN_DEPTH_H
#define WEFT_TOOLS_PLAN_DEPTH_H

#include "tools/plan_request.h"
#include "tools/plan_source.h"

/* Fills request->slots and request->slices. TOOL_USAGE, told, if a chunk does not fit in a
 * queue. */
int plan_depth_take(plan_request_t *request, const plan_source_t *source);

#endif
