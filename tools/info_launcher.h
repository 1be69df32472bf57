/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft info --launcher`. */
#ifndef WEFT_TOOLS_INFO_LAUNCHER_H
#define WEFT_TOOLS_INFO_LAUNCHER_H

#include "tools/json.h"
#include "tools/tool.h"

/* Prints who started this process, as which rank, and how the unique id would come; `json` NULL:
 * text. Returns the exit code. */
int info_launcher(json_t *json, const tool_settings_t *settings);

#endif
