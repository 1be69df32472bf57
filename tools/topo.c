/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft topo`: becomes the program weft-topo, which alone links hwloc: docs/decisions/0028. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tools/tool.h"

int tool_topo(int argc, char **argv)
{
    char program[512];
    (void)argc;
    if (!tool_beside("weft-topo", program, sizeof program)) {
        tool_usage(
            "weft topo needs the program weft-topo beside weft; it is built where CMake finds "
            "hwloc 2 (Debian: libhwloc-dev)");
        return TOOL_UNIMPLEMENTED;
    }
    execv(program, argv);
    tool_usage("cannot start %s: %s", program, strerror(errno));
    return TOOL_INTERNAL;
}
