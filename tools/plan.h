/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft plan`: emits the plans of all ranks with a loaded algorithm, and shows them. */
#ifndef WEFT_TOOLS_PLAN_H
#define WEFT_TOOLS_PLAN_H

int tool_plan(int argc, char **argv);

#endif
