/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans as a graph for Graphviz. */
#ifndef WEFT_PLAN_DOT_H
#define WEFT_PLAN_DOT_H

#include "core/plan/plan_ir.h"

/* Prints the lanes of all ranks over time, with queues as edges. */
void weft_plan_print_dot(weft_plan_t *const *plans, uint32_t nranks, FILE *out);

#endif
