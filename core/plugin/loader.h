/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One listed plugin and what it needs at run time. Private to core/plugin. */
#ifndef WEFT_PLUGIN_ENTRY_H
#define WEFT_PLUGIN_ENTRY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/config/option.h"
#include "core/os/os_path.h"
#include "core/plugin/listed.h"

/* What weft_host_t.core points to. */
typedef struct weft_host_core {
    const char *name; /* of the plugin */
    const weft_registry_t *registry;
} weft_host_core_t;

typedef struct weft_entry {
    struct weft_entry *next;
    char name[WEFT_OPTION_NAME_MAX + 1];
    weft_plugin_kind_t kind;
    const char *origin; /* where it is listed */
    bool elsewhere;     /* its section says the path */
    bool optional;
    bool usable; /* loaded; false later on: optional and refused */
    void *object;
    void *config;
    weft_host_core_t core;
    weft_host_t host;
    weft_loaded_t loaded;
    char path[WEFT_OS_PATH_MAX];
} weft_entry_t;

struct weft_registry {
    weft_entry_t *entries, **entries_end;
    char folder[WEFT_OS_PATH_MAX]; /* "" until a plugin needs it */
    uint8_t key[32];
    atomic_bool has_key;
};

/* Fills the host table of an entry whose name is set. */
void weft_host_fill(weft_entry_t *entry, const weft_registry_t *registry);

/* Opens and checks the entry's file and fills its config struct. On failure nothing stays open. */
weft_status_t weft_entry_load(weft_entry_t *entry, weft_config_t *config,
                              const weft_listed_t *listed);
void weft_entry_unload(weft_entry_t *entry);

#endif
