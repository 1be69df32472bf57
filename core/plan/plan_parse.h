/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads plans that weft_plan_print() wrote, or people. */
#ifndef WEFT_PLAN_PLAN_PARSE_H
#define WEFT_PLAN_PLAN_PARSE_H

#include "core/plan/plan_ir.h"

/* Reads one rank's plan and checks that it is well formed. The caller destroys it. ERR_PLAN with
 * line and reason, ERR_RESOURCE. */
weft_status_t weft_plan_parse(const char *text, weft_plan_t **plan_p);
/* The same for a part of a longer text, whose first line has number `line`. Errors begin with
 * "name:line: " (name NULL: "line N: "). */
weft_status_t weft_plan_parse_part(const char *text, const char *name, uint32_t line,
                                   weft_plan_t **plan_p);

#endif
