/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft info`: the loaded plugins with their options, and what their devices say of themselves. */
#ifndef WEFT_TOOLS_INFO_H
#define WEFT_TOOLS_INFO_H

int tool_info(int argc, char **argv);

#endif
