/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loads one plugin: file, symbol, descriptor, options. */
#include "core/plugin/loader.h"

#include <string.h>

#include "core/base/error.h"
#include "core/os/crash.h"
#include "core/os/os.h"
#include "core/plugin/plugin_check.h"
#include "core/plugin/plugin_path.h"

#define ENTRY_NAME "weft_plugin_entry"

typedef const weft_plugin_t *(*weft_entry_fn_t)(void);

static weft_status_t loader_symbol_find(const weft_listed_t *listed, weft_entry_t *entry,
                                        weft_entry_fn_t *fn_p)
{
    char why[300];
    void *symbol = weft_os_dl_symbol(entry->object, ENTRY_NAME, why, sizeof why);
    if (symbol == NULL) {
        return weft_listed_refuse(listed, "missing symbol", why, "the function " ENTRY_NAME);
    }
    /* A data pointer does not convert to a function pointer in C; POSIX says the bits do. */
    _Static_assert(sizeof symbol == sizeof *fn_p, "dlsym answers functions");
    memcpy(fn_p, &symbol, sizeof symbol);
    entry->symbol = symbol;
    weft_crash_add_object(entry->name, symbol);
    return WEFT_OK;
}

static weft_status_t loader_config_fill(weft_entry_t *entry, weft_config_t *config)
{
    const weft_plugin_t *plugin = entry->loaded.plugin;
    if (plugin->config_size > 0) {
        entry->config = weft_os_alloc(plugin->config_size, 0);
        if (entry->config == NULL) {
            return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for the options of plugin %s",
                             entry->name);
        }
    }
    entry->loaded.config = entry->config;
    weft_status_t status =
        plugin->options != NULL
            ? weft_config_section(config, entry->name, plugin->options, entry->config)
            : WEFT_OK;
    return status == WEFT_OK && entry->kind == WEFT_KIND_ALGO
               ? weft_algo_params_configure(config, entry->name, plugin->ops, entry->loaded.params)
               : status;
}

/* Puts the layer of core.check between the core and the plugin. */
static weft_status_t loader_check(weft_entry_t *entry, const weft_load_t *how)
{
    if (!how->check) {
        return WEFT_OK;
    }
    weft_status_t status = weft_check_create(entry->loaded.plugin, entry->path, &entry->host,
                                             how->patience, &entry->checking);
    if (status == WEFT_OK) {
        entry->loaded.plugin = weft_check_plugin(entry->checking);
        entry->loaded.host = weft_check_host(entry->checking);
    }
    return status;
}

weft_status_t weft_entry_load(weft_entry_t *entry, weft_config_t *config,
                              const weft_listed_t *listed, const weft_load_t *how)
{
    char why[300], real[WEFT_OS_PATH_MAX];
    weft_entry_fn_t entry_fn = NULL;
    weft_status_t status = weft_listed_trust(listed, real);
    if (status != WEFT_OK) {
        return status;
    }
    entry->object = weft_os_dl_open(real, why, sizeof why);
    if (entry->object == NULL) {
        return weft_listed_refuse(listed, "cannot be loaded", why, "a complete shared object");
    }
    status = loader_symbol_find(listed, entry, &entry_fn);
    if (status != WEFT_OK) {
        goto err_close;
    }
    const weft_plugin_t *plugin = entry_fn();
    status = weft_listed_check(listed, plugin);
    if (status != WEFT_OK) {
        goto err_close;
    }
    entry->loaded.plugin = plugin;
    entry->loaded.host = &entry->host;
    entry->loaded.path = entry->path;
    status = loader_config_fill(entry, config);
    status = status == WEFT_OK ? loader_check(entry, how) : status;
    if (status != WEFT_OK) {
        goto err_close;
    }
    entry->usable = true;
    return WEFT_OK;
err_close:
    weft_entry_unload(entry);
    return status;
}

void weft_entry_unload(weft_entry_t *entry)
{
    weft_os_free(entry->config);
    entry->config = NULL;
    weft_check_destroy(entry->checking);
    entry->checking = NULL;
    if (entry->object != NULL) {
        weft_crash_remove_object(entry->symbol);
        weft_os_dl_close(entry->object);
        entry->object = NULL;
    }
}
