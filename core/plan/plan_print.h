/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans as text. weft_plan_parse() (plan_parse.h) reads it back. */
#ifndef WEFT_PLAN_PLAN_PRINT_H
#define WEFT_PLAN_PLAN_PRINT_H

#include "core/plan/plan_ir.h"

/* Prints one rank's plan, one instruction a line. */
void weft_plan_print(const weft_plan_t *plan, FILE *out);
/* Prints one instruction, without a newline. */
void weft_plan_print_code(const weft_plan_t *plan, const weft_code_t *code, FILE *out);

#endif
