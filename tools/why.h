/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft why`: which algorithm serves which sizes, how, and who decided. */
#ifndef WEFT_TOOLS_WHY_H
#define WEFT_TOOLS_WHY_H

int tool_why(int argc, char **argv);

#endif
