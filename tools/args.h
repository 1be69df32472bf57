/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The option parser of all subcommands, driven by tables that also print the help. */
#ifndef WEFT_TOOLS_ARGS_H
#define WEFT_TOOLS_ARGS_H

#include "tools/tool.h"

/* Next option's id, or one of TOOL_ARGS_*. Accepts -b8, -b 8, --name 8 and --name=8; after "--"
 * only operands follow. */
int tool_args_next(tool_args_t *args);
/* One line an option, for --help. */
void tool_options_print(const tool_option_t *options, FILE *out);

#endif
