/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Configuration and plugins for the subcommands that only look. */
#include "tools/session.h"

#include "tools/tool.h"
#include "tools/values.h"

weft_status_t tool_session_open(tool_session_t *session, const tool_settings_t *settings)
{
    weft_comm_options_t options = tool_settings_options(settings);
    *session = (tool_session_t){0};
    weft_status_t status = weft_config_load(&options, &session->config);
    if (status != WEFT_OK) {
        return status;
    }
    status = weft_settings_read(session->config, &session->settings);
    if (status != WEFT_OK) {
        goto err_config;
    }
    status = weft_registry_load(session->config, &session->settings, true, &session->registry);
    if (status != WEFT_OK) {
        goto err_config;
    }
    return WEFT_OK;
err_config:
    weft_config_destroy(session->config);
    return status;
}

void tool_session_close(tool_session_t *session)
{
    weft_registry_destroy(session->registry);
    weft_config_destroy(session->config);
}

const char *tool_kind_name(uint32_t kind)
{
    static const char *const names[] = {"", "net", "algo", "kernel", "tuner", "topo"};
    return kind <= TOOL_KIND_LAST ? names[kind] : "";
}
