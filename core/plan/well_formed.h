/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The checks of a plan that need no run: operands, ports, loops, PARs, waits. */
#ifndef WEFT_PLAN_WELL_FORMED_H
#define WEFT_PLAN_WELL_FORMED_H

#include "core/plan/plan_ir.h"

/* ERR_PLAN with lane, pc and reason; ERR_RESOURCE. weft_plan_emit() and weft_plan_parse() call
 * it. */
weft_status_t weft_plan_check(const weft_plan_t *plan);

#endif
