/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugins that the configuration lists. */
#include "core/plugin/registry.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/config/nearest.h"
#include "core/os/os.h"
#include "core/plugin/entry.h"

#define SUFFIX ".so"
#define BLANKS " \t"

/* Keys that every plugin's section has. */
typedef struct weft_common {
    const char *path;
    bool optional;
} weft_common_t;

static const weft_option_t common_options[] = {
    {"path", WEFT_OPT_STRING, offsetof(weft_common_t, path), "",
     "absolute path of the shared object; empty: in the folder of the plugins", NULL, 0, 0},
    {"optional", WEFT_OPT_BOOL, offsetof(weft_common_t, optional), "no",
     "go on without this plugin when it cannot be loaded", NULL, 0, 0},
    {NULL, 0, 0, NULL, NULL, NULL, 0, 0},
};

/* The names in a folder, to help with one that is missing. */
typedef struct weft_listing {
    weft_nearest_t *nearest;
    char text[200];
    char best[WEFT_OPTION_NAME_MAX + 1];
} weft_listing_t;

/* Length of a plugin's name in "name.so", 0 if it is something else. */
static size_t stem_bytes(const char *file)
{
    size_t bytes = strlen(file);
    size_t suffix = strlen(SUFFIX);
    if (bytes <= suffix || strcmp(file + bytes - suffix, SUFFIX) != 0 ||
        !weft_option_name_ok(file, bytes - suffix, '-')) {
        return 0;
    }
    return bytes - suffix;
}

static void list_name(void *arg, const char *file)
{
    weft_listing_t *listing = arg;
    size_t bytes = stem_bytes(file);
    if (bytes == 0) {
        return;
    }
    size_t at = strlen(listing->text);
    snprintf(listing->text + at, sizeof listing->text - at, " %.*s", (int)bytes, file);
    weft_nearest_offer(listing->nearest, file, bytes);
    if (listing->nearest->best == file) {
        memcpy(listing->best, file, bytes);
        listing->best[bytes] = '\0';
        listing->nearest->best = listing->best;
    }
}

static weft_status_t missing_refuse(const weft_registry_t *registry, const weft_place_t *place)
{
    char expected[400], hint[80];
    weft_nearest_t nearest;
    weft_listing_t listing = {.nearest = &nearest};
    weft_nearest_start(&nearest, place->name);
    weft_os_folder_each(registry->folder, list_name, &listing);
    weft_nearest_hint(&nearest, "", "", hint, sizeof hint);
    snprintf(expected, sizeof expected, "a file%s%s%s", hint,
             listing.text[0] != '\0' ? "; the folder has" : "; the folder has no plugin",
             listing.text);
    return weft_place_refuse(place, "cannot be found", "no such file", expected);
}

static weft_status_t path_make(weft_registry_t *registry, weft_config_t *config,
                               const weft_settings_t *settings, weft_entry_t *entry,
                               const char *given)
{
    if (given[0] != '\0') {
        snprintf(entry->path, sizeof entry->path, "%s", given);
        return WEFT_OK;
    }
    if (registry->folder[0] == '\0') {
        weft_status_t status = weft_plugin_folder(settings->core.plugin_dir,
                                                  weft_config_origin(config, "core", "plugin_dir"),
                                                  registry->folder, sizeof registry->folder);
        if (status != WEFT_OK) {
            return status;
        }
    }
    int used =
        snprintf(entry->path, sizeof entry->path, "%s/%s" SUFFIX, registry->folder, entry->name);
    if (used < 0 || (size_t)used >= sizeof entry->path) {
        return weft_fail(WEFT_ERR_PLUGIN, 0, "plugin %s: path longer than %d bytes", entry->name,
                         WEFT_OS_PATH_MAX);
    }
    return WEFT_OK;
}

static weft_status_t entry_add(weft_registry_t *registry, const weft_place_t *place,
                               weft_entry_t **entry_p)
{
    char found[80];
    for (const weft_entry_t *e = registry->entries; e != NULL; e = e->next) {
        if (strcmp(e->name, place->name) == 0) {
            snprintf(found, sizeof found, "it in %s and again in %s",
                     weft_plugin_kind_name(e->kind), weft_plugin_kind_name(place->kind));
            const weft_place_t at = {
                .kind = e->kind, .name = e->name, .path = e->path, .origin = place->origin};
            return weft_place_refuse(
                &at, e->kind == place->kind ? "listed twice" : "duplicate name", found, "it once");
        }
    }
    weft_entry_t *entry = weft_os_alloc(sizeof *entry, 0);
    if (entry == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for plugin %s", place->name);
    }
    snprintf(entry->name, sizeof entry->name, "%s", place->name);
    entry->kind = place->kind;
    weft_host_fill(entry, registry);
    *registry->entries_end = entry;
    registry->entries_end = &entry->next;
    *entry_p = entry;
    return WEFT_OK;
}

/* An optional plugin that was refused leaves a warning and a section that nobody claims. */
static weft_status_t forgive(weft_config_t *config, const char *name, const weft_common_t *common,
                             weft_status_t status)
{
    if (status != WEFT_ERR_PLUGIN || !common->optional) {
        return status;
    }
    weft_log(WEFT_LOG_WARN, "core", "%s; going on without it", weft_error_record()->text);
    weft_error_clear(weft_error_record());
    return weft_config_ignore(config, name);
}

static weft_status_t plugin_add(weft_registry_t *registry, weft_config_t *config,
                                const weft_settings_t *settings, weft_place_t *place)
{
    weft_common_t common = {.path = ""};
    weft_entry_t *entry = NULL;
    weft_status_t status = entry_add(registry, place, &entry);
    status = status == WEFT_OK ? weft_config_section(config, place->name, common_options, &common)
                               : status;
    if (status != WEFT_OK) {
        return status;
    }
    status = path_make(registry, config, settings, entry, common.path);
    if (status == WEFT_OK) {
        place->path = entry->path;
        if (common.path[0] != '\0') {
            place->origin = weft_config_origin(config, place->name, "path");
            status = weft_entry_load(entry, config, place);
        } else if (!weft_os_file(entry->path).exists) {
            status = missing_refuse(registry, place);
        } else {
            status = weft_entry_load(entry, config, place);
        }
    }
    return forgive(config, entry->name, &common, status);
}

/* Loads the names of one list. */
static weft_status_t list_load(weft_registry_t *registry, weft_config_t *config,
                               const weft_settings_t *settings, weft_plugin_kind_t kind,
                               const char *list)
{
    char name[WEFT_OPTION_NAME_MAX + 1];
    const char *key = weft_plugin_kind_name(kind);
    const char *origin = weft_config_origin(config, "core", key);
    for (list += strspn(list, BLANKS); *list != '\0'; list += strspn(list, BLANKS)) {
        size_t bytes = strcspn(list, BLANKS);
        if (!weft_option_name_ok(list, bytes, '-')) {
            return weft_fail(WEFT_ERR_CONFIG, 0,
                             "%s: [core] %s: \"%.*s\" is no plugin name, expected a-z, 0-9 and -, "
                             "with blanks between names",
                             origin, key, bytes > 60 ? 60 : (int)bytes, list);
        }
        memcpy(name, list, bytes);
        name[bytes] = '\0';
        list += bytes;
        if (weft_settings_own(name)) {
            return weft_fail(WEFT_ERR_CONFIG, 0,
                             "%s: [core] %s: %s cannot be a plugin, its section is the core's",
                             origin, key, name);
        }
        weft_place_t place = {.kind = kind, .name = name, .path = "", .origin = origin};
        weft_status_t status = plugin_add(registry, config, settings, &place);
        if (status != WEFT_OK) {
            return status;
        }
    }
    return WEFT_OK;
}

static weft_status_t lists_load(weft_registry_t *registry, weft_config_t *config,
                                const weft_settings_t *settings)
{
    const struct {
        weft_plugin_kind_t kind;
        const char *names;
    } lists[] = {
        {WEFT_KIND_NET, settings->core.net},
        {WEFT_KIND_ALGO, settings->core.algo},
        {WEFT_KIND_KERNEL, settings->core.kernel},
        {WEFT_KIND_TUNER, settings->core.tuner},
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        weft_status_t status = list_load(registry, config, settings, lists[i].kind, lists[i].names);
        if (status != WEFT_OK) {
            return status;
        }
    }
    return WEFT_OK;
}

/* A file may keep the sections of plugins that are installed but not listed now. */
static void ignore_unlisted(void *arg, const char *file)
{
    weft_config_t *config = arg;
    char name[WEFT_OPTION_NAME_MAX + 1];
    size_t bytes = stem_bytes(file);
    memcpy(name, file, bytes);
    name[bytes] = '\0';
    if (bytes > 0 && !weft_config_claimed(config, name)) {
        /* Without memory the section counts as unknown, which is told. */
        weft_status_t ignored = weft_config_ignore(config, name);
        (void)ignored;
    }
}

weft_status_t weft_registry_load(weft_config_t *config, const weft_settings_t *settings,
                                 weft_registry_t **registry_p)
{
    weft_registry_t *registry = weft_os_alloc(sizeof *registry, 0);
    if (registry == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for the plugin registry");
    }
    registry->entries_end = &registry->entries;
    atomic_init(&registry->has_key, false);
    weft_status_t status = lists_load(registry, config, settings);
    if (status != WEFT_OK) {
        goto err_destroy;
    }
    if (registry->folder[0] != '\0') {
        weft_os_folder_each(registry->folder, ignore_unlisted, config);
    }
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
    sodium_memzero(registry->key, sizeof registry->key);
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
    memcpy(registry->key, key, sizeof registry->key);
    atomic_store_explicit(&registry->has_key, true, memory_order_release);
}
