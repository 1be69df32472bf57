/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The folders of the plugins: where they are and what they hold. */
#include "core/plugin/plugin_folder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/config/defaults.h"
#include "core/config/nearest.h"
#include "core/config/option_table.h"
#include "core/os/os_path.h"
#include "core/plugin/plugin_path.h"

#define SUFFIX ".so"

/* The places tried so far, for the message. */
typedef struct weft_search {
    char folder[WEFT_OS_PATH_MAX]; /* the one found */
    char tried[420];
} weft_search_t;

/* `doubt` may be NULL. */
static void plugin_folder_note(weft_search_t *search, const char *path, const char *doubt)
{
    size_t at = strlen(search->tried);
    int used =
        snprintf(search->tried + at, sizeof search->tried - at, "%s%s", at > 0 ? ", " : "", path);
    if (doubt != NULL && used > 0 && at + (size_t)used < sizeof search->tried) {
        at += (size_t)used;
        snprintf(search->tried + at, sizeof search->tried - at, " (%s)", doubt);
    }
}

/* A folder that nobody named may be one that somebody else put there. */
static bool plugin_folder_try(weft_search_t *search, const char *base, const char *below)
{
    char path[WEFT_OS_PATH_MAX];
    int used = snprintf(path, sizeof path, "%s%s", base, below);
    if (used < 0 || (size_t)used >= sizeof path) {
        return false;
    }
    const weft_os_file_t file =
        weft_os_file(weft_os_resolve(path, search->folder) ? search->folder : "");
    const char *doubt = file.folder ? weft_path_folder_doubt(&file) : NULL;
    plugin_folder_note(search, path, doubt);
    if (doubt != NULL) {
        weft_log(WEFT_LOG_INFO, "core",
                 "passes over the folder of plugins %s: it is %s (user %u, mode %04o)",
                 search->folder, doubt, file.owner, file.mode);
    }
    return file.folder && doubt == NULL;
}

/* Beside an installed library, beside an installed program, and in a build tree. */
static bool plugin_folder_search(weft_search_t *search, const char *base, const char *to_lib)
{
    char installed[WEFT_OS_PATH_MAX];
    snprintf(installed, sizeof installed, "/%s/weft", to_lib);
    return plugin_folder_try(search, base, "/weft") || plugin_folder_try(search, base, installed) ||
           (strcmp(to_lib, "../lib") != 0 && plugin_folder_try(search, base, "/../lib/weft")) ||
           plugin_folder_try(search, WEFT_INSTALL_PLUGIN_DIR, "");
}

weft_status_t weft_plugin_folder_near(const char *base, const char *to_lib,
                                      char folder[WEFT_OS_PATH_MAX])
{
    weft_search_t search = {.folder = ""};
    if (!plugin_folder_search(&search, base, to_lib)) {
        return weft_fail(WEFT_ERR_PLUGIN, 0,
                         "no folder of plugins found, set [core] plugin_dir; tried %s",
                         search.tried);
    }
    memcpy(folder, search.folder, sizeof search.folder);
    return WEFT_OK;
}

static weft_status_t plugin_folder_setting_check(const char *folder, const char *origin)
{
    if (folder[0] != '/' || weft_path_has_dot_dot(folder)) {
        return weft_fail(WEFT_ERR_CONFIG, 0,
                         "%s: [core] plugin_dir = %.300s: expected an absolute path without '..'",
                         origin, folder);
    }
    const weft_os_file_t file = weft_os_file(folder);
    if (!file.folder) {
        bool absent = file.exists || file.os_errno == ENOENT || file.os_errno == ENOTDIR;
        return weft_fail(WEFT_ERR_CONFIG, absent ? 0 : file.os_errno,
                         "%s: [core] plugin_dir = %.300s: %s", origin, folder,
                         absent ? "no such folder" : "cannot be looked at");
    }
    return WEFT_OK;
}

static weft_status_t plugin_folder_usual(char folder[WEFT_OS_PATH_MAX])
{
    char base[WEFT_OS_PATH_MAX];
    weft_status_t status = weft_os_self_path(base);
    if (status != WEFT_OK) {
        return status;
    }
    weft_path_parent(base);
    return weft_plugin_folder_near(base, WEFT_INSTALL_BIN_TO_LIB, folder);
}

/* Adds the folder that the first `bytes` bytes of `text` name. */
static weft_status_t plugin_folders_add(weft_plugin_folders_t *folders, const char *text,
                                        size_t bytes, const char *origin)
{
    char *path = folders->paths[folders->count];
    weft_status_t status = WEFT_OK;
    if (bytes == 0) {
        status = plugin_folder_usual(path);
    } else {
        snprintf(path, WEFT_OS_PATH_MAX, "%.*s", (int)bytes, text);
        status = plugin_folder_setting_check(path, origin);
    }
    folders->count += status == WEFT_OK ? 1 : 0;
    return status;
}

weft_status_t weft_plugin_folders_read(weft_plugin_folders_t *folders, const char *setting,
                                       const char *origin)
{
    folders->count = 0;
    for (const char *at = setting;; at++) {
        size_t bytes = strcspn(at, ":");
        weft_status_t status = WEFT_OK;
        if (folders->count == WEFT_PLUGIN_FOLDERS_MAX || bytes >= WEFT_OS_PATH_MAX) {
            status = weft_fail(WEFT_ERR_CONFIG, 0,
                               "%s: [core] plugin_dir: found more than %u folders, or one longer "
                               "than %d bytes",
                               origin, WEFT_PLUGIN_FOLDERS_MAX, WEFT_OS_PATH_MAX - 1);
        } else {
            status = plugin_folders_add(folders, at, bytes, origin);
        }
        if (status != WEFT_OK) {
            folders->count = 0;
            return status;
        }
        at += bytes;
        if (*at == '\0') {
            return WEFT_OK;
        }
    }
}

static bool plugin_folder_path(const char *folder, const char *name, char *path, size_t bytes)
{
    int used = snprintf(path, bytes, "%s/%s" SUFFIX, folder, name);
    return used > 0 && (size_t)used < bytes;
}

bool weft_plugin_folders_find(const weft_plugin_folders_t *folders, const char *name, char *path,
                              size_t bytes)
{
    char other[WEFT_OS_PATH_MAX];
    bool found = false;
    for (uint32_t i = 0; i < folders->count; i++) {
        if (!plugin_folder_path(folders->paths[i], name, other, sizeof other) ||
            !weft_os_file(other).exists) {
            continue;
        }
        if (found) {
            weft_log(WEFT_LOG_INFO, "core", "plugin %s is %s; %s comes later in plugin_dir", name,
                     path, other);
        } else {
            snprintf(path, bytes, "%s", other);
            found = true;
        }
    }
    return found || plugin_folder_path(folders->paths[0], name, path, bytes);
}

/* The names in a folder, to help with one that is missing: the nearest of all, and those that begin
 * with the kind, as those of weft do. Where the missing one does so too, what follows the kind is
 * compared. */
typedef struct weft_listing {
    const char *kind;
    const char *missing;
    bool listed;  /* the missing one is there, so it is a link that leads nowhere */
    size_t alike; /* bytes that the missing name and those of its kind begin with */
    weft_nearest_t *nearest;
    char text[200];
    char best[WEFT_OPTION_NAME_MAX + 1];
} weft_listing_t;

/* Length of a plugin's name in "name.so", 0 if it is something else. */
static size_t plugin_folder_stem_bytes(const char *file)
{
    size_t bytes = strlen(file);
    size_t suffix = strlen(SUFFIX);
    if (bytes <= suffix || strcmp(file + bytes - suffix, SUFFIX) != 0 ||
        !weft_option_name_ok(file, bytes - suffix, '-')) {
        return 0;
    }
    return bytes - suffix;
}

/* Length of "net-", if the name begins so, else 0. */
static size_t plugin_folder_kind_bytes(const char *name, const char *kind)
{
    size_t bytes = strlen(kind);
    return strncmp(name, kind, bytes) == 0 && name[bytes] == '-' ? bytes + 1 : 0;
}

static void plugin_folder_list_name(void *arg, const char *file)
{
    weft_listing_t *listing = arg;
    size_t bytes = plugin_folder_stem_bytes(file);
    if (bytes == 0) {
        return;
    }
    if (strncmp(file, listing->missing, bytes) == 0 && listing->missing[bytes] == '\0') {
        listing->listed = true;
        return;
    }
    size_t at = strlen(listing->text);
    bool of_kind = plugin_folder_kind_bytes(file, listing->kind) > 0;
    if (of_kind) {
        snprintf(listing->text + at, sizeof listing->text - at, " %.*s", (int)bytes, file);
    }
    if (!of_kind && listing->alike > 0) {
        return;
    }
    const char *name = file + listing->alike;
    bytes -= listing->alike;
    weft_nearest_offer(listing->nearest, name, bytes);
    if (listing->nearest->best == name) {
        memcpy(listing->best, name, bytes);
        listing->best[bytes] = '\0';
        listing->nearest->best = listing->best;
    }
}

weft_status_t weft_plugin_folders_refuse(const weft_plugin_folders_t *folders,
                                         const weft_listed_t *listed)
{
    char expected[1000], searched[500] = "", hint[240], before[32];
    weft_nearest_t nearest;
    const char *kind = weft_plugin_kind_name((uint32_t)listed->kind);
    weft_listing_t listing = {.kind = kind, .missing = listed->name, .nearest = &nearest};
    listing.alike = plugin_folder_kind_bytes(listed->name, kind);
    snprintf(before, sizeof before, "%.*s", (int)listing.alike, listed->name);
    weft_nearest_start(&nearest, listed->name + listing.alike);
    for (uint32_t i = 0; i < folders->count; i++) {
        weft_os_folder_each(folders->paths[i], plugin_folder_list_name, &listing);
        size_t at = strlen(searched);
        snprintf(searched + at, sizeof searched - at, "%s%.480s", i > 0 ? ", " : " in one of ",
                 folders->paths[i]);
    }
    weft_nearest_hint(&nearest, before, "", hint, sizeof hint);
    bool one = folders->count == 1;
    if (hint[0] == '\0') {
        snprintf(hint, sizeof hint, "; of the kind %s the folder%s%s", kind,
                 one ? " has" : "s have", listing.text[0] != '\0' ? listing.text : " no plugin");
    }
    snprintf(expected, sizeof expected, "a file%s%s", one ? "" : searched,
             listing.listed ? "" : hint);
    return weft_listed_refuse(listed, "cannot be found",
                              listing.listed ? "a link that leads nowhere" : "no such file",
                              expected);
}

static void plugin_folder_ignore_unlisted(void *arg, const char *file)
{
    weft_config_t *config = arg;
    char name[WEFT_OPTION_NAME_MAX + 1];
    size_t bytes = plugin_folder_stem_bytes(file);
    memcpy(name, file, bytes);
    name[bytes] = '\0';
    if (bytes > 0 && !weft_config_claimed(config, name)) {
        /* Without memory the section counts as unknown, which is told. */
        weft_status_t ignored = weft_config_ignore(config, name);
        (void)ignored;
    }
}

void weft_plugin_folders_ignore_rest(const weft_plugin_folders_t *folders, weft_config_t *config)
{
    for (uint32_t i = 0; i < folders->count; i++) {
        weft_os_folder_each(folders->paths[i], plugin_folder_ignore_unlisted, config);
    }
}

static void plugin_folder_add_spare(void *arg, const char *file)
{
    weft_spare_t *spare = arg;
    char name[WEFT_OPTION_NAME_MAX + 1];
    size_t bytes = plugin_folder_stem_bytes(file);
    memcpy(name, file, bytes);
    name[bytes] = '\0';
    if (bytes == 0 || strncmp(name, spare->prefix, strlen(spare->prefix)) != 0 ||
        spare->is_known(spare->arg, name)) {
        return;
    }
    size_t at = strlen(spare->text);
    snprintf(spare->text + at, spare->bytes - at, "%s%s", at > 0 ? ", " : "", name);
}

void weft_plugin_folders_spare(const weft_plugin_folders_t *folders, weft_spare_t *spare)
{
    spare->text[0] = '\0';
    for (uint32_t i = 0; i < folders->count; i++) {
        weft_os_folder_each(folders->paths[i], plugin_folder_add_spare, spare);
    }
}
