/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft perf`: reads the options and starts the ranks. */
#include "tools/perf_job.h"

int tool_perf(int argc, char **argv)
{
    perf_options_t options;
    bool done;
    int code = perf_options_read(&options, argc, argv, &done);
    return code != TOOL_OK || done ? code : perf_ranks_start(&options);
}
