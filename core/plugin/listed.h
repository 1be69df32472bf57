/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A plugin as the configuration lists it: what error lines say about it. Private to core/plugin. */
#ifndef WEFT_PLUGIN_LISTED_H
#define WEFT_PLUGIN_LISTED_H

#include <weft/plugin/plugin.h>

typedef struct weft_listed {
    weft_plugin_kind_t kind;
    const char *name; /* as configured; NULL: any */
    const char *path;
    const char *origin; /* where the configuration lists it */
} weft_listed_t;

/* "net", "algo", "kernel", "tuner", "topo"; NULL for other numbers. */
const char *weft_plugin_kind_name(uint32_t kind);

/* Records the one line about a plugin that cannot be used. Returns ERR_PLUGIN. */
weft_status_t weft_listed_refuse(const weft_listed_t *listed, const char *reason, const char *found,
                                 const char *expected);

#endif
