/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft config`: every option with its value and where it came from, as a list, an INI file or
 * JSON. */
#ifndef WEFT_TOOLS_CONFIG_H
#define WEFT_TOOLS_CONFIG_H

int tool_config(int argc, char **argv);

#endif
