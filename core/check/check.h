/* SPDX-License-Identifier: BSD-3-Clause
 *
 * core.check: a layer between the core and a plugin that holds the plugin to its header. The loader
 * gives the core the layer's descriptor and host table in place of the plugin's. Each kind has a
 * file that fills the table; without the option nothing of this runs. */
#ifndef WEFT_CHECK_CHECK_H
#define WEFT_CHECK_CHECK_H

#include <weft/plugin/plugin.h>

typedef struct weft_check weft_check_t;

/* Makes the layer for a plugin whose descriptor and table were checked. `plugin`, `path` and `host`
 * outlive it. `patience` is the time in seconds after which a call that does not return ends the
 * process, with plugin and method in the text; 0: never. A plugin of a kind without checks gets a
 * layer for its host services alone. ERR_RESOURCE. */
weft_status_t weft_check_create(const weft_plugin_t *plugin, const char *path,
                                const weft_host_t *host, double patience, weft_check_t **check_p);
/* NULL is allowed. */
void weft_check_destroy(weft_check_t *check);

/* What takes the place of the plugin's own; both live as long as the layer. */
const weft_plugin_t *weft_check_plugin(const weft_check_t *check);
const weft_host_t *weft_check_host(const weft_check_t *check);

/* Returns how many breaches were found in this process, in calls that cannot fail too. */
uint32_t weft_check_breaches(void);

#endif
