/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft trace` and `weft status`: flight records of a job that hangs, failed, or runs. */
#ifndef WEFT_TOOLS_TRACE_H
#define WEFT_TOOLS_TRACE_H

int tool_trace(int argc, char **argv);
int tool_status(int argc, char **argv);

#endif
