/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The folder of the plugins: where it is and what it holds. Private to core/plugin. */
#ifndef WEFT_PLUGIN_FOLDER_H
#define WEFT_PLUGIN_FOLDER_H

#include <stdbool.h>

#include "core/config/config.h"
#include "core/plugin/listed.h"

/* Finds the folder of the plugins: `setting` if it is not empty, else the first of the usual
 * places. ERR_CONFIG, ERR_PLUGIN. */
weft_status_t weft_plugin_folder(const char *setting, const char *origin, char *folder,
                                 size_t bytes);

/* Refuses a plugin whose file is not in the folder, and names those that are. Returns
 * ERR_PLUGIN. */
weft_status_t weft_folder_refuse(const char *folder, const weft_listed_t *listed);

/* Tolerates the sections of plugins in the folder that nobody claimed. */
void weft_folder_ignore_rest(const char *folder, weft_config_t *config);

/* Plugins of the folder that are not in use. */
typedef struct weft_spare {
    const char *prefix; /* of the names */
    bool (*is_known)(const void *arg, const char *name);
    const void *arg;
    char *text; /* the names with that prefix that are not known, separated by commas */
    size_t bytes;
} weft_spare_t;
void weft_folder_spare(const char *folder, weft_spare_t *spare);

#endif
