/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft sim`: surveys the plans and prints times. */
#ifndef WEFT_TOOLS_SIM_H
#define WEFT_TOOLS_SIM_H

int tool_sim(int argc, char **argv);

#endif
