/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loads the plugins that the configuration lists, checks them, and fills their config structs. A
 * family of communicators has one registry, so plugins see one instance per family. */
#ifndef WEFT_PLUGIN_REGISTRY_H
#define WEFT_PLUGIN_REGISTRY_H

#include "core/config/settings.h"
#include "core/plugin/loader.h"

typedef struct weft_registry weft_registry_t;

/* Loads what settings->core lists, then calls weft_config_finish(). ERR_PLUGIN with one line: path,
 * reason, found, expected, and where the INI lists it. `optional = yes` in a plugin's section turns
 * its failure into a warning; a topo plugin that only the default lists may be missing. `machine`:
 * the machine will be asked for; else that plugin, whose library is large, is loaded only if its
 * section is there, or by weft_registry_load_late(). */
weft_status_t weft_registry_load(weft_config_t *config, const weft_settings_t *settings,
                                 bool machine, weft_registry_t **registry_p);
/* Loads what was left for the time when the machine is asked for. Errors: weft_registry_load(). */
weft_status_t weft_registry_load_late(weft_registry_t *registry, weft_config_t *config,
                                      const weft_settings_t *settings);
void weft_registry_destroy(weft_registry_t *registry);

/* The i-th plugin of a kind in the order of the INI, or NULL past the end. */
const weft_loaded_t *weft_registry_get(const weft_registry_t *registry, weft_plugin_kind_t kind,
                                       uint32_t i);

/* Writes the names of the plugins of a kind that lie in the folder of the plugins and are not
 * loaded, separated by commas. They are told by their file names, which begin with the kind. */
void weft_registry_spare(const weft_registry_t *registry, weft_plugin_kind_t kind, char *text,
                         size_t bytes);

/* Whether a plugin of that name is one of them: it is there, but the INI does not list it. */
bool weft_registry_has_spare(const weft_registry_t *registry, weft_plugin_kind_t kind,
                             const char *name);

/* Sets the key of the auth service. Until then get_service() returns NULL for it. */
void weft_registry_set_key(weft_registry_t *registry, const uint8_t key[32]);

#endif
