/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The checks of a plan that need no run: operands, ports, loops, PARs, waits. */
#ifndef WEFT_PLAN_WELL_FORMED_H
#define WEFT_PLAN_WELL_FORMED_H

#include "core/plan/plan_ir.h"

/* The instruction that a mistake is in; `known` is false if it is of the plan as a whole. */
typedef struct weft_plan_spot {
    bool known;
    uint32_t lane, pc;
} weft_plan_spot_t;

/* ERR_PLAN with lane, pc and reason, and *spot_p is set; ERR_RESOURCE. weft_plan_emit() and
 * weft_plan_parse() call it. `spot_p` may be NULL. */
weft_status_t weft_plan_check(const weft_plan_t *plan, weft_plan_spot_t *spot_p);

#endif
