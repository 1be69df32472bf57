/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft info --memory`: what a rank holds. */
#ifndef WEFT_TOOLS_INFO_MEMORY_H
#define WEFT_TOOLS_INFO_MEMORY_H

#include "tools/tool.h"

/* Starts a job of `processes` ranks on this machine with the options in force, and prints what its
 * ranks hold when they have joined, and after an all-reduce of 8 bytes. Returns the exit code. */
int info_memory(const tool_settings_t *settings, uint32_t processes, bool as_json);

#endif
