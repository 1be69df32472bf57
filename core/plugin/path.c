/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where plugins lie, and whether a file may be loaded. */
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/config/defaults.h"
#include "core/os/path.h"
#include "core/plugin/place.h"

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

/* Cuts the last component; false at the root. */
static bool parent(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL || slash == path) {
        return false;
    }
    *slash = '\0';
    return true;
}

static bool search_near(weft_search_t *search, char *base)
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
        if (!parent(base)) {
            break;
        }
    }
    return try_folder(search, WEFT_INSTALL_PLUGIN_DIR, "");
}

static bool has_dot_dot(const char *path)
{
    for (const char *p = path; (p = strstr(p, "..")) != NULL; p += 2) {
        if ((p == path || p[-1] == '/') && (p[2] == '/' || p[2] == '\0')) {
            return true;
        }
    }
    return false;
}

static weft_status_t setting_check(const char *folder, const char *origin)
{
    if (folder[0] != '/' || has_dot_dot(folder)) {
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
        weft_status_t status = setting_check(setting, origin);
        snprintf(folder, bytes, "%s", status == WEFT_OK ? setting : "");
        return status;
    }
    weft_status_t status = weft_os_self_path(base);
    if (status != WEFT_OK) {
        return status;
    }
    parent(base);
    if (!search_near(&search, base)) {
        return weft_fail(WEFT_ERR_PLUGIN, 0,
                         "no folder of plugins found, set [core] plugin_dir; tried %s",
                         search.tried);
    }
    snprintf(folder, bytes, "%s", search.folder);
    return WEFT_OK;
}

/* The folder counts too: who may write there may exchange the file. */
static weft_status_t folder_trust(const weft_place_t *place)
{
    char folder[WEFT_OS_PATH_MAX], found[64];
    snprintf(folder, sizeof folder, "%s", place->path);
    parent(folder);
    const weft_os_file_t file = weft_os_file(folder);
    if (!file.others_write || file.sticky) {
        return WEFT_OK;
    }
    snprintf(found, sizeof found, "mode %04o", file.mode);
    return weft_place_refuse(place, "everybody may write to its folder", found,
                             "no write permission for others");
}

weft_status_t weft_place_trust(const weft_place_t *place)
{
    char found[64];
    if (place->path[0] != '/' || has_dot_dot(place->path)) {
        return weft_place_refuse(place, "bad path", place->path, "an absolute path without '..'");
    }
    const weft_os_file_t file = weft_os_file(place->path);
    if (!file.exists) {
        return weft_place_refuse(place, "cannot be found", strerror(file.os_errno), "a file");
    }
    if (!file.regular) {
        return weft_place_refuse(place, "cannot be loaded",
                                 file.folder ? "a folder" : "a special file", "a shared object");
    }
    if (!file.owner_trusted) {
        snprintf(found, sizeof found, "user %u", file.owner);
        return weft_place_refuse(place, "owned by somebody else", found, "your user or root");
    }
    if (file.group_writes || file.others_write) {
        snprintf(found, sizeof found, "mode %04o", file.mode);
        return weft_place_refuse(place, "writable by others", found,
                                 "no write permission for others (chmod go-w)");
    }
    return folder_trust(place);
}
