/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loads the plugins that the configuration lists, checks them, and fills their config structs. One
 * registry serves one communicator, so plugins see separate instances. */
#ifndef WEFT_PLUGIN_REGISTRY_H
#define WEFT_PLUGIN_REGISTRY_H

#include "core/config/settings.h"

typedef struct weft_registry weft_registry_t;

/* One loaded plugin; lives as long as the registry. */
typedef struct weft_loaded {
    const weft_plugin_t *plugin;
    const void *config;      /* its filled config struct, or NULL */
    const weft_host_t *host; /* for create() */
    const char *path;
} weft_loaded_t;

/* Loads what settings->core lists, then calls weft_config_finish(). ERR_PLUGIN with one line: path,
 * reason, found, expected, and where the INI lists it. `optional = yes` in a plugin's section turns
 * its failure into a warning. */
weft_status_t weft_registry_load(weft_config_t *config, const weft_settings_t *settings,
                                 weft_registry_t **registry_p);
void weft_registry_destroy(weft_registry_t *registry);

/* The i-th plugin of a kind in the order of the INI, or NULL past the end. */
const weft_loaded_t *weft_registry_get(const weft_registry_t *registry, weft_plugin_kind_t kind,
                                       uint32_t i);

/* Names of the plugins of a kind that lie in the folder of the plugins and are not loaded, separated by
 * commas; by their file names, which begin with the kind. For errors. */
void weft_registry_spare(const weft_registry_t *registry, weft_plugin_kind_t kind, char *text,
                         size_t bytes);

/* Key of the auth service that the plugins' hosts offer; before this call get_service answers NULL. */
void weft_registry_set_key(weft_registry_t *registry, const uint8_t key[32]);

/* Checks a descriptor as the loader does; `origin` and `path` go into the error line. For tools. */
weft_status_t weft_plugin_check(const weft_plugin_t *plugin, weft_plugin_kind_t kind,
                                const char *name, const char *path, const char *origin);

#endif
