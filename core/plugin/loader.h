/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One plugin: its file, its descriptor, its config struct, its host table. */
#ifndef WEFT_PLUGIN_LOADER_H
#define WEFT_PLUGIN_LOADER_H

#include <stdbool.h>

#include "core/check/check.h"
#include "core/config/config.h"
#include "core/config/option_table.h"
#include "core/os/os_path.h"
#include "core/plugin/algo_params.h"
#include "core/plugin/host.h"
#include "core/plugin/listed.h"

/* One loaded plugin; lives as long as the registry. */
typedef struct weft_loaded {
    const weft_plugin_t *plugin;
    const void *config;      /* its filled config struct, or NULL */
    const weft_host_t *host; /* for create() */
    const char *path;
    int64_t params[WEFT_ALGO_PARAMS_MAX]; /* of an algorithm, as its section has them */
} weft_loaded_t;

/* One listed plugin. Private to core/plugin. */
typedef struct weft_entry {
    struct weft_entry *next;
    char name[WEFT_OPTION_NAME_MAX + 1];
    weft_plugin_kind_t kind;
    const char *origin; /* where it is listed */
    bool elsewhere;     /* its section gives the path */
    bool optional;
    bool late;   /* loaded when the machine is asked for */
    bool usable; /* loaded; stays false if it is optional and was refused */
    void *object;
    const void *symbol; /* its entry function */
    void *config;
    weft_host_core_t core;
    weft_host_t host;
    weft_loaded_t loaded;
    weft_check_t *checking; /* the layer of core.check, or NULL */
    char path[WEFT_OS_PATH_MAX];
} weft_entry_t;

/* How plugins are loaded. */
typedef struct weft_load {
    bool check;      /* core.check */
    double patience; /* core.check: for a call that does not return, in seconds; 0: for ever */
} weft_load_t;

/* Opens and checks the entry's file and fills its config struct. On failure nothing stays open.
 * ERR_PLUGIN, ERR_CONFIG, ERR_RESOURCE. */
weft_status_t weft_entry_load(weft_entry_t *entry, weft_config_t *config,
                              const weft_listed_t *listed, const weft_load_t *how);
void weft_entry_unload(weft_entry_t *entry);

#endif
