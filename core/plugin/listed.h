/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which plugin is meant, for messages. Private to core/plugin. */
#ifndef WEFT_PLUGIN_PLACE_H
#define WEFT_PLUGIN_PLACE_H

#include "core/plugin/registry.h"

typedef struct weft_place {
    weft_plugin_kind_t kind;
    const char *name; /* as configured; NULL: any */
    const char *path;
    const char *origin; /* where the configuration names it */
} weft_listed_t;

/* "net", "algo", "kernel", "tuner"; NULL for other numbers. */
const char *weft_plugin_kind_name(uint32_t kind);

/* The one line about a plugin that cannot be used; returns ERR_PLUGIN. */
weft_status_t weft_listed_refuse(const weft_listed_t *listed, const char *reason, const char *found,
                                 const char *expected);

/* weft_plugin_check() with its arguments together. */
weft_status_t weft_listed_check(const weft_listed_t *listed, const weft_plugin_t *plugin);

/* Finds the folder of the plugins: `setting` if not empty, else the first of the usual places. */
weft_status_t weft_plugin_folder(const char *setting, const char *origin, char *folder,
                                 size_t bytes);

/* Refuses a plugin whose file is not in the folder, with the names that are. */
weft_status_t weft_folder_refuse(const char *folder, const weft_listed_t *listed);

/* Tolerates the sections of plugins in the folder that nobody claimed. */
void weft_folder_ignore_rest(const char *folder, weft_config_t *config);

/* Adds to `text` the plugins of the folder whose names begin with `prefix` and for which `known` says 0. */
typedef struct weft_spare {
    const char *prefix;
    int (*known)(const void *arg, const char *name);
    const void *arg;
    char *text;
    size_t bytes;
} weft_spare_t;
void weft_folder_spare(const char *folder, weft_spare_t *spare);

/* Cuts the last component; false at the root. */
bool weft_path_parent(char *path);
bool weft_path_has_dot_dot(const char *path);

/* Checks that a file may be loaded: absolute path, exists, right owner and permissions. */
weft_status_t weft_listed_trust(const weft_listed_t *listed);

#endif
