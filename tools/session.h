/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Configuration and plugins, read as a communicator would, for the subcommands that only look. */
#ifndef WEFT_TOOLS_SESSION_H
#define WEFT_TOOLS_SESSION_H

#include "core/plugin/registry.h"
#include "tools/tool.h"

typedef struct tool_session {
    weft_config_t *config;
    weft_settings_t settings;
    weft_registry_t *registry;
} tool_session_t;

/* Reads the configuration and loads the plugins that it lists. On failure nothing is left open. */
weft_status_t tool_session_open(tool_session_t *session, const tool_settings_t *settings);
void tool_session_close(tool_session_t *session);

/* "net", "algo", "kernel", "tuner", "topo" for 1 … 5. */
const char *tool_kind_name(uint32_t kind);
#define TOOL_KIND_FIRST 1u
#define TOOL_KIND_LAST 5u

#endif
