/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks of a plugin's descriptor and tables, before any of its code runs. */
#ifndef WEFT_PLUGIN_CHECK_H
#define WEFT_PLUGIN_CHECK_H

#include "core/plugin/listed.h"

/* Checks a descriptor, which may be NULL. ERR_PLUGIN with one line: reason, found, expected. */
weft_status_t weft_listed_check(const weft_listed_t *listed, const weft_plugin_t *plugin);

/* The same for tools; `name` may be NULL, `path` and `origin` go into the error line. */
weft_status_t weft_plugin_check(const weft_plugin_t *plugin, weft_plugin_kind_t kind,
                                const char *name, const char *path, const char *origin);

#endif
