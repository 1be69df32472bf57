/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft run`: starts the ranks of a job, on this host or on several. */
#ifndef WEFT_TOOLS_RUN_H
#define WEFT_TOOLS_RUN_H

int tool_run(int argc, char **argv);

#endif
