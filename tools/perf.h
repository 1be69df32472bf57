/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft perf`: reads the options, checks them against the launcher, and starts the ranks. */
#ifndef WEFT_TOOLS_PERF_H
#define WEFT_TOOLS_PERF_H

/* The subcommands; argv[0] is the subcommand's name. */
int tool_perf(int argc, char **argv);

#endif
