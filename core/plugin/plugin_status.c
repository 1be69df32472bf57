/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See plugin_status.h. */
#include "core/plugin/plugin_status.h"

#include <stdio.h>
#include <string.h>

#include "core/base/error.h"

static bool plugin_status_is_allowed(weft_status_t status, unsigned returns)
{
    return status == WEFT_OK ||
           (status == WEFT_IN_PROGRESS && (returns & WEFT_RETURNS_IN_PROGRESS) != 0) ||
           (status == WEFT_AGAIN && (returns & WEFT_RETURNS_AGAIN) != 0) ||
           weft_status_is_failure(status);
}

/* The text for what the function may return. */
static const char *plugin_status_expected(unsigned returns)
{
    switch (returns) {
    case WEFT_RETURNS_FINAL:
        return "OK or an error";
    case WEFT_RETURNS_IN_PROGRESS:
        return "OK, IN_PROGRESS or an error";
    default:
        return "OK, AGAIN or an error";
    }
}

/* The plugin's own services note its name; what the core fails in for it notes none. */
static bool plugin_status_has_reason(const char *name, weft_status_t status)
{
    const weft_error_t *error = weft_error_record();
    return error->status == status &&
           (error->transport[0] == '\0' || strcmp(error->transport, name) == 0);
}

static void plugin_status_name(const char *name)
{
    weft_error_t *error = weft_error_record();
    snprintf(error->transport, sizeof error->transport, "%s", name);
}

weft_status_t weft_plugin_status(const weft_loaded_t *loaded, const char *method, unsigned returns,
                                 weft_status_t status)
{
    const char *name = loaded->plugin->name;
    if (!plugin_status_is_allowed(status, returns)) {
        int number = (int)status;
        status = weft_fail(WEFT_ERR_PLUGIN, 0, "%s: %s returned %d, expected %s (%s)", name, method,
                           number, plugin_status_expected(returns), loaded->path);
        plugin_status_name(name);
    } else if (status < 0 && !plugin_status_has_reason(name, status)) {
        status = weft_fail(status, 0, "%s: %s failed with %s and gave no reason", name, method,
                           weft_status_name(status));
        plugin_status_name(name);
    }
    return status;
}
