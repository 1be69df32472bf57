/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options of `weft perf`: those of nccl-tests and a few more. */
#ifndef WEFT_TOOLS_PERF_OPTIONS_H
#define WEFT_TOOLS_PERF_OPTIONS_H

#include "tools/perf_job.h"

/* Returns TOOL_OK, or the exit code after the cause was printed. *done is set if --help was
 * asked. */
int perf_options_read(perf_options_t *options, int argc, char **argv, bool *done);

#endif
