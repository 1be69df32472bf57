/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugins that the configuration lists. */
#include "core/plugin/registry.h"

#include <errno.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <weft/sdk/choice.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/config/nearest.h"
#include "core/os/os.h"
#include "core/plugin/plugin_folder.h"

struct weft_registry {
    weft_entry_t *entries, **entries_end;
    weft_plugin_folders_t folders; /* none until a plugin needs them */
    weft_host_key_t key;
};

/* Keys that every plugin's section has. */
typedef struct weft_common {
    const char *path;
    bool optional;
} weft_common_t;

static const weft_option_t common_options[] = {
    {"path", WEFT_OPT_STRING, offsetof(weft_common_t, path), "",
     "absolute path of the shared object; empty: in the folder of the plugins", NULL, 0, 0,
     WEFT_OPTION_LOCAL, 0},
    {"optional", WEFT_OPT_BOOL, offsetof(weft_common_t, optional), "no",
     "go on without this plugin when it cannot be loaded", NULL, 0, 0, 0, 0},
    {NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0},
};

static weft_status_t registry_path_make(weft_registry_t *registry, weft_config_t *config,
                                        const weft_settings_t *settings, weft_entry_t *entry,
                                        const char *given)
{
    bool fits = true;
    entry->elsewhere = given[0] != '\0';
    if (entry->elsewhere) {
        entry->origin = weft_config_origin(config, entry->name, "path");
        fits = strlen(given) < sizeof entry->path;
        snprintf(entry->path, sizeof entry->path, "%s", given);
    } else {
        weft_status_t status = WEFT_OK;
        if (registry->folders.count == 0) {
            const char *origin = weft_config_origin(config, "core", "plugin_dir");
            status =
                weft_plugin_folders_read(&registry->folders, settings->core.plugin_dir, origin);
        }
        if (status != WEFT_OK) {
            return status;
        }
        fits = weft_plugin_folders_find(&registry->folders, entry->name, entry->path,
                                        sizeof entry->path);
    }
    if (!fits) {
        return weft_fail(WEFT_ERR_PLUGIN, 0, "plugin %s: path longer than %d bytes", entry->name,
                         WEFT_OS_PATH_MAX - 1);
    }
    return WEFT_OK;
}

static weft_listed_t registry_listed_of(const weft_entry_t *entry)
{
    return (weft_listed_t){
        .kind = entry->kind, .name = entry->name, .path = entry->path, .origin = entry->origin};
}

static weft_status_t registry_name_check(const weft_registry_t *registry, weft_plugin_kind_t kind,
                                         const char *name, const char *origin)
{
    char found[320];
    const char *key = weft_plugin_kind_name(kind);
    if (weft_settings_own(name)) {
        return weft_fail(WEFT_ERR_CONFIG, 0,
                         "%s: [core] %s: %s cannot be a plugin, its section is the core's", origin,
                         key, name);
    }
    for (const weft_entry_t *e = registry->entries; e != NULL; e = e->next) {
        if (strcmp(e->name, name) != 0) {
            continue;
        }
        weft_listed_t listed = registry_listed_of(e);
        listed.origin = origin;
        if (e->kind == kind) {
            snprintf(found, sizeof found, "it twice in [core] %s", key);
            return weft_listed_refuse(&listed, "listed twice", found, "it once");
        }
        /* Which of the two is wrong is not known before it is loaded. */
        const size_t bytes = strlen(e->origin), most = 200; /* its end has the line */
        snprintf(found, sizeof found, "it in [core] %s, by %s, and in [core] %s",
                 weft_plugin_kind_name(e->kind), e->origin + (bytes > most ? bytes - most : 0),
                 key);
        return weft_listed_refuse(&listed, "listed as two kinds", found, "it as one");
    }
    return WEFT_OK;
}

/* Adds one listed plugin, not loaded yet. */
static weft_status_t registry_entry_add(weft_registry_t *registry, weft_config_t *config,
                                        const weft_settings_t *settings, weft_plugin_kind_t kind,
                                        const char *name)
{
    weft_common_t common = {.path = ""};
    const char *origin = weft_config_origin(config, "core", weft_plugin_kind_name(kind));
    weft_status_t status = registry_name_check(registry, kind, name, origin);
    if (status != WEFT_OK) {
        return status;
    }
    weft_entry_t *entry = weft_os_alloc(sizeof *entry, 0);
    if (entry == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for plugin %s", name);
    }
    *registry->entries_end = entry;
    registry->entries_end = &entry->next;
    snprintf(entry->name, sizeof entry->name, "%s", name);
    entry->kind = kind;
    entry->origin = origin;
    entry->core = (weft_host_core_t){.name = entry->name, .key = &registry->key};
    weft_host_fill(&entry->host, &entry->core);
    status = weft_config_section(config, name, common_options, &common);
    if (status != WEFT_OK) {
        return status;
    }
    entry->optional = common.optional;
    return registry_path_make(registry, config, settings, entry, common.path);
}

static weft_status_t registry_list_read(weft_registry_t *registry, weft_config_t *config,
                                        const weft_settings_t *settings, weft_plugin_kind_t kind,
                                        const char *list)
{
    char name[WEFT_OPTION_NAME_MAX + 1];
    for (list += strspn(list, WEFT_CHOICE_BREAKS); *list != '\0';
         list += strspn(list, WEFT_CHOICE_BREAKS)) {
        size_t bytes = strcspn(list, WEFT_CHOICE_BREAKS);
        if (!weft_option_name_ok(list, bytes, '-')) {
            const char *key = weft_plugin_kind_name(kind);
            return weft_fail(WEFT_ERR_CONFIG, 0,
                             "%s: [core] %s: \"%.*s\" is no plugin name, expected a-z, 0-9 and -, "
                             "with blanks or commas between names",
                             weft_config_origin(config, "core", key), key,
                             bytes > 60 ? 60 : (int)bytes, list);
        }
        memcpy(name, list, bytes);
        name[bytes] = '\0';
        list += bytes;
        weft_status_t status = registry_entry_add(registry, config, settings, kind, name);
        if (status != WEFT_OK) {
            return status;
        }
    }
    return WEFT_OK;
}

static weft_status_t registry_lists_read(weft_registry_t *registry, weft_config_t *config,
                                         const weft_settings_t *settings)
{
    const struct {
        weft_plugin_kind_t kind;
        const char *names;
    } lists[] = {
        {WEFT_KIND_NET, settings->core.net},       {WEFT_KIND_ALGO, settings->core.algo},
        {WEFT_KIND_KERNEL, settings->core.kernel}, {WEFT_KIND_TUNER, settings->core.tuner},
        {WEFT_KIND_TOPO, settings->core.topo},
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        weft_status_t status =
            registry_list_read(registry, config, settings, lists[i].kind, lists[i].names);
        if (status != WEFT_OK) {
            return status;
        }
    }
    return WEFT_OK;
}

/* An optional plugin that was refused leaves a warning and a section that nobody claims. One that
 * nobody asked for leaves its section to be refused: whoever wrote it wants the plugin. */
static weft_status_t registry_forgive(weft_config_t *config, const weft_entry_t *entry)
{
    if (!entry->optional) {
        weft_log(WEFT_LOG_INFO, "core", "%s; going on without it", weft_error_record()->text);
        weft_error_clear(weft_error_record());
        return WEFT_OK;
    }
    weft_log(WEFT_LOG_WARN, "core", "%s; going on without it", weft_error_record()->text);
    weft_error_clear(weft_error_record());
    return weft_config_ignore(config, entry->name);
}

/* The core can do without a topo plugin, and not every build has the one of the default. */
static bool registry_is_spare(const weft_entry_t *entry)
{
    return entry->kind == WEFT_KIND_TOPO && strcmp(entry->origin, "default") == 0;
}

static weft_status_t registry_entry_load(const weft_registry_t *registry, weft_entry_t *e,
                                         weft_config_t *config, const weft_load_t *how)
{
    const weft_listed_t listed = registry_listed_of(e);
    const weft_os_file_t file = weft_os_file(e->path);
    bool absent = !file.exists && file.os_errno == ENOENT;
    weft_status_t status = !e->elsewhere && absent
                               ? weft_plugin_folders_refuse(&registry->folders, &listed)
                               : weft_entry_load(e, config, &listed, how);
    if (status == WEFT_ERR_PLUGIN && (e->optional || registry_is_spare(e))) {
        status = registry_forgive(config, e);
    }
    return status;
}

static weft_status_t registry_entries_load(weft_registry_t *registry, weft_config_t *config,
                                           bool machine, const weft_load_t *how)
{
    for (weft_entry_t *e = registry->entries; e != NULL; e = e->next) {
        weft_status_t status = WEFT_OK;
        /* Who sets its options asks for it, and hears of those that are wrong. */
        e->late = registry_is_spare(e) && !machine && !weft_config_has(config, e->name);
        if (!e->late) {
            status = registry_entry_load(registry, e, config, how);
        }
        if (status != WEFT_OK) {
            return status;
        }
    }
    return WEFT_OK;
}

static weft_load_t registry_load_how(const weft_settings_t *settings)
{
    return (weft_load_t){.check = settings->core.check, .patience = settings->exec.op_timeout};
}

weft_status_t weft_registry_load_late(weft_registry_t *registry, weft_config_t *config,
                                      const weft_settings_t *settings)
{
    const weft_load_t how = registry_load_how(settings);
    weft_status_t status = WEFT_OK;
    for (weft_entry_t *e = registry->entries; e != NULL && status == WEFT_OK; e = e->next) {
        if (e->late) {
            e->late = false;
            status = registry_entry_load(registry, e, config, &how);
        }
    }
    return status;
}

/* A value that was given for an option with the flag ALGO. */
static weft_status_t registry_algo_check(const weft_registry_t *registry,
                                         const weft_config_t *config, const weft_entry_t *entry,
                                         const weft_option_t *option)
{
    const char *wanted, *origin = weft_config_origin(config, entry->name, option->name);
    memcpy(&wanted, (const char *)entry->config + option->offset, sizeof wanted);
    char hint[96];
    weft_nearest_t nearest;
    weft_nearest_start(&nearest, wanted);
    for (const weft_entry_t *e = registry->entries; e != NULL; e = e->next) {
        if (e->kind == WEFT_KIND_ALGO && e->usable && strcmp(e->name, wanted) == 0) {
            return WEFT_OK;
        }
        if (e->kind == WEFT_KIND_ALGO && e->usable) {
            weft_nearest_offer(&nearest, e->name, strlen(e->name));
        }
    }
    if (strcmp(origin, "default") == 0) {
        return WEFT_OK;
    }
    weft_nearest_hint(&nearest, "", "", hint, sizeof hint);
    return weft_fail(WEFT_ERR_CONFIG, 0,
                     "%s: [%s] %s = %.60s: no algorithm of this name is loaded%s", origin,
                     entry->name, option->name, wanted, hint);
}

static weft_status_t registry_algos_check(const weft_registry_t *registry,
                                          const weft_config_t *config)
{
    weft_status_t status = WEFT_OK;
    for (const weft_entry_t *e = registry->entries; e != NULL; e = e->next) {
        const weft_option_t *option = e->usable ? e->loaded.plugin->options : NULL;
        for (; status == WEFT_OK && option != NULL && option->name != NULL; option++) {
            if ((option->flags & WEFT_OPTION_ALGO) != 0) {
                status = registry_algo_check(registry, config, e, option);
            }
        }
    }
    return status;
}

weft_status_t weft_registry_load(weft_config_t *config, const weft_settings_t *settings,
                                 bool machine, weft_registry_t **registry_p)
{
    weft_registry_t *registry = weft_os_alloc(sizeof *registry, 0);
    if (registry == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for the plugin registry");
    }
    registry->entries_end = &registry->entries;
    const weft_load_t how = registry_load_how(settings);
    atomic_init(&registry->key.is_set, false);
    weft_status_t status = registry_lists_read(registry, config, settings);
    status = status == WEFT_OK ? registry_entries_load(registry, config, machine, &how) : status;
    status = status == WEFT_OK ? registry_algos_check(registry, config) : status;
    if (status != WEFT_OK) {
        goto err_destroy;
    }
    /* A file may keep the sections of plugins that are installed but not listed now. */
    weft_plugin_folders_ignore_rest(&registry->folders, config);
    status = weft_config_finish(config);
    if (status != WEFT_OK) {
        goto err_destroy;
    }
    *registry_p = registry;
    return WEFT_OK;
err_destroy:
    weft_registry_destroy(registry);
    return status;
}

void weft_registry_destroy(weft_registry_t *registry)
{
    if (registry == NULL) {
        return;
    }
    for (weft_entry_t *entry = registry->entries; entry != NULL;) {
        weft_entry_t *next = entry->next;
        weft_entry_unload(entry);
        weft_os_free(entry);
        entry = next;
    }
    sodium_memzero(registry->key.bytes, sizeof registry->key.bytes);
    weft_os_free(registry);
}

const weft_loaded_t *weft_registry_get(const weft_registry_t *registry, weft_plugin_kind_t kind,
                                       uint32_t i)
{
    for (const weft_entry_t *e = registry->entries; e != NULL; e = e->next) {
        if (e->kind == kind && e->usable && i-- == 0) {
            return &e->loaded;
        }
    }
    return NULL;
}

void weft_registry_set_key(weft_registry_t *registry, const uint8_t key[32])
{
    weft_host_key_set(&registry->key, key);
}

static bool registry_is_loaded(const void *arg, const char *name)
{
    const weft_registry_t *registry = arg;
    for (const weft_entry_t *e = registry->entries; e != NULL; e = e->next) {
        if (strcmp(e->name, name) == 0) {
            return true;
        }
    }
    return false;
}

void weft_registry_spare(const weft_registry_t *registry, weft_plugin_kind_t kind, char *text,
                         size_t bytes)
{
    char prefix[16];
    snprintf(prefix, sizeof prefix, "%s-", weft_plugin_kind_name(kind));
    weft_spare_t spare = {.prefix = prefix,
                          .is_known = registry_is_loaded,
                          .arg = registry,
                          .text = text,
                          .bytes = bytes};
    weft_plugin_folders_spare(&registry->folders, &spare);
}

bool weft_registry_has_spare(const weft_registry_t *registry, weft_plugin_kind_t kind,
                             const char *name)
{
    char names[1024], *rest = NULL;
    weft_registry_spare(registry, kind, names, sizeof names);
    const char *word = strtok_r(names, ", ", &rest);
    while (word != NULL && strcmp(word, name) != 0) {
        word = strtok_r(NULL, ", ", &rest);
    }
    return word != NULL;
}
