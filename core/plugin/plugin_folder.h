/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The folders of the plugins: where they are and what they hold. Private to core/plugin. */
#ifndef WEFT_PLUGIN_FOLDER_H
#define WEFT_PLUGIN_FOLDER_H

#include <stdbool.h>

#include "core/config/config.h"
#include "core/os/os_path.h"
#include "core/plugin/listed.h"

#define WEFT_PLUGIN_FOLDERS_MAX 8u

/* The folders in the order in which they are searched. All zeros: not looked for yet. */
typedef struct weft_plugin_folders {
    uint32_t count;
    char paths[WEFT_PLUGIN_FOLDERS_MAX][WEFT_OS_PATH_MAX];
} weft_plugin_folders_t;

/* Reads `setting`, absolute folders separated by colons. An empty entry stands for the first of the
 * usual places, as does an empty setting. ERR_CONFIG, ERR_PLUGIN; then there are no folders. */
weft_status_t weft_plugin_folders_read(weft_plugin_folders_t *folders, const char *setting,
                                       const char *origin);

/* Finds the usual folder, seen from the folder `base` of the library or program; from that of the
 * programs `to_lib` leads to that of the libraries. One that somebody else could change is passed
 * over. ERR_PLUGIN. */
weft_status_t weft_plugin_folder_near(const char *base, const char *to_lib,
                                      char folder[WEFT_OS_PATH_MAX]);

/* Writes the path of the file of plugin `name`: in the first folder that has it, with a line of log
 * about the others, or in the first folder of all. Returns false if the path is too long. */
bool weft_plugin_folders_find(const weft_plugin_folders_t *folders, const char *name, char *path,
                              size_t bytes);

/* Refuses a plugin whose file is in no folder, and names the folders and the plugins that are.
 * Returns ERR_PLUGIN. */
weft_status_t weft_plugin_folders_refuse(const weft_plugin_folders_t *folders,
                                         const weft_listed_t *listed);

/* Tolerates the sections of plugins in the folders that nobody claimed. */
void weft_plugin_folders_ignore_rest(const weft_plugin_folders_t *folders, weft_config_t *config);

/* Plugins of the folders that are not in use. */
typedef struct weft_spare {
    const char *prefix; /* of the names */
    bool (*is_known)(const void *arg, const char *name);
    const void *arg;
    char *text; /* the names with that prefix that are not known, separated by commas */
    size_t bytes;
} weft_spare_t;
void weft_plugin_folders_spare(const weft_plugin_folders_t *folders, weft_spare_t *spare);

#endif
