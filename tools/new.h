/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft new`: the folder of a plugin, to begin with. */
#ifndef WEFT_TOOLS_NEW_H
#define WEFT_TOOLS_NEW_H

int tool_new(int argc, char **argv);

#endif
