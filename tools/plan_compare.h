/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft plan --compare A B`: do two algorithms give the same bits, and which is faster from which
 * size on? */
#ifndef WEFT_TOOLS_PLAN_COMPARE_H
#define WEFT_TOOLS_PLAN_COMPARE_H

#include "tools/plan_request.h"

/* Fills slots and slices of the request, if they are not given. */
int plan_compare(plan_request_t *request);

#endif
