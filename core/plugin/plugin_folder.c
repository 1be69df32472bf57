/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The folder of the plugins: where it is and what it holds. */
#include "core/plugin/plugin_folder.h"

#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/config/defaults.h"
#include "core/config/nearest.h"
#include "core/config/option_table.h"
#include "core/os/os_path.h"
#include "core/plugin/plugin_path.h"

#define SUFFIX ".so"
#define PARENTS_MAX 4

/* The places tried so far, for the message. */
typedef struct weft_search {
    char folder[WEFT_OS_PATH_MAX]; /* the one found */
    char tried[360];
} weft_search_t;

static bool try_folder(weft_search_t *search, const char *base, const char *below)
{
    char path[WEFT_OS_PATH_MAX];
    int used = snprintf(path, sizeof path, "%s%s", base, below);
    if (used < 0 || (size_t)used >= sizeof path) {
        return false;
    }
    size_t at = strlen(search->tried);
    snprintf(search->tried + at, sizeof search->tried - at, "%s%s", at > 0 ? ", " : "", path);
    return weft_os_file(path).folder && weft_os_resolve(path, search->folder);
}

static bool plugin_folder_search_near(weft_search_t *search, char *base)
{
    /* Beside an installed library, beside an installed program, and in a build tree. */
    static const char *const below[] = {
        "/weft", "/../lib/weft",
        WEFT_MULTIARCH[0] != '\0' ? "/../lib/" WEFT_MULTIARCH "/weft" : "/lib/weft"};
    for (size_t i = 0; i < sizeof below / sizeof below[0]; i++) {
        if (try_folder(search, base, below[i])) {
            return true;
        }
    }
    for (unsigned i = 0; i <= PARENTS_MAX; i++) {
        if (try_folder(search, base, "/lib/weft")) {
            return true;
        }
        if (!weft_path_parent(base)) {
            break;
        }
    }
    return try_folder(search, WEFT_INSTALL_PLUGIN_DIR, "");
}

static weft_status_t plugin_folder_setting_check(const char *folder, const char *origin)
{
    if (folder[0] != '/' || weft_path_has_dot_dot(folder)) {
        return weft_fail(WEFT_ERR_CONFIG, 0,
                         "%s: [core] plugin_dir = %.300s: expected an absolute path without '..'",
                         origin, folder);
    }
    if (!weft_os_file(folder).folder) {
        return weft_fail(WEFT_ERR_CONFIG, 0, "%s: [core] plugin_dir = %.300s: no such folder",
                         origin, folder);
    }
    return WEFT_OK;
}

weft_status_t weft_plugin_folder(const char *setting, const char *origin, char *folder,
                                 size_t bytes)
{
    weft_search_t search = {.folder = ""};
    char base[WEFT_OS_PATH_MAX];
    if (setting[0] != '\0') {
        weft_status_t status = plugin_folder_setting_check(setting, origin);
        snprintf(folder, bytes, "%s", status == WEFT_OK ? setting : "");
        return status;
    }
    weft_status_t status = weft_os_self_path(base);
    if (status != WEFT_OK) {
        return status;
    }
    weft_path_parent(base);
    if (!plugin_folder_search_near(&search, base)) {
        return weft_fail(WEFT_ERR_PLUGIN, 0,
                         "no folder of plugins found, set [core] plugin_dir; tried %s",
                         search.tried);
    }
    snprintf(folder, bytes, "%s", search.folder);
    return WEFT_OK;
}

/* The names in a folder, to help with one that is missing. */
typedef struct weft_listing {
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

static void plugin_folder_list_name(void *arg, const char *file)
{
    weft_listing_t *listing = arg;
    size_t bytes = plugin_folder_stem_bytes(file);
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

weft_status_t weft_folder_refuse(const char *folder, const weft_listed_t *listed)
{
    char expected[400], hint[80];
    weft_nearest_t nearest;
    weft_listing_t listing = {.nearest = &nearest};
    weft_nearest_start(&nearest, listed->name);
    weft_os_folder_each(folder, plugin_folder_list_name, &listing);
    weft_nearest_hint(&nearest, "", "", hint, sizeof hint);
    snprintf(expected, sizeof expected, "a file%s%s%s", hint,
             listing.text[0] != '\0' ? "; the folder has" : "; the folder has no plugin",
             listing.text);
    return weft_listed_refuse(listed, "cannot be found", "no such file", expected);
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

void weft_folder_ignore_rest(const char *folder, weft_config_t *config)
{
    weft_os_folder_each(folder, plugin_folder_ignore_unlisted, config);
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

void weft_folder_spare(const char *folder, weft_spare_t *spare)
{
    spare->text[0] = '\0';
    weft_os_folder_each(folder, plugin_folder_add_spare, spare);
}
