/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long the tools that only look wait for one call of a plugin. Nothing can be done in a process
 * about a plugin that does not return: the tool says which call it is in, and ends. */
#ifndef WEFT_TOOLS_PATIENCE_H
#define WEFT_TOOLS_PATIENCE_H

#include "tools/tool.h"

#define TOOL_PATIENCE_DEFAULT 60
#define TOOL_PATIENCE_MOST 86400

/* A row for tables of options, and what reads its value: false after one line on stderr. */
#define TOOL_OPTION_PATIENCE(id)                                                                   \
    {                                                                                              \
        0, "patience", "SECONDS", "that one call of a plugin may take; 0 = any [60]", id           \
    }
bool tool_patience_read(const char *text, int64_t *seconds_p);

/* Watches the calls of plugins that are noted (core/os/call_note.h), of all threads, from now on
 * until the process ends; the time in which the process is stopped does not count. One call that
 * lasts longer ends the process with TOOL_TIMEOUT. 0: nothing is watched. */
void tool_patience_start(int64_t seconds);

#endif
