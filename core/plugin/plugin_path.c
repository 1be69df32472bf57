/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether a file may be loaded. */
#include "core/plugin/plugin_path.h"

#include <stdio.h>
#include <string.h>

#include "core/os/os_path.h"

bool weft_path_parent(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL || slash == path) {
        return false;
    }
    *slash = '\0';
    return true;
}

bool weft_path_has_dot_dot(const char *path)
{
    for (const char *p = path; (p = strstr(p, "..")) != NULL; p += 2) {
        if ((p == path || p[-1] == '/') && (p[2] == '/' || p[2] == '\0')) {
            return true;
        }
    }
    return false;
}

/* The folder counts too: who may write there may exchange the file. */
static weft_status_t plugin_path_folder_trust(const weft_listed_t *listed)
{
    char folder[WEFT_OS_PATH_MAX], found[64];
    snprintf(folder, sizeof folder, "%s", listed->path);
    weft_path_parent(folder);
    const weft_os_file_t file = weft_os_file(folder);
    if (!file.others_write || file.sticky) {
        return WEFT_OK;
    }
    snprintf(found, sizeof found, "mode %04o", file.mode);
    return weft_listed_refuse(listed, "everybody may write to its folder", found,
                              "no write permission for others");
}

weft_status_t weft_listed_trust(const weft_listed_t *listed)
{
    char found[64];
    if (listed->path[0] != '/' || weft_path_has_dot_dot(listed->path)) {
        return weft_listed_refuse(listed, "bad path", listed->path,
                                  "an absolute path without '..'");
    }
    const weft_os_file_t file = weft_os_file(listed->path);
    if (!file.exists) {
        return weft_listed_refuse(listed, "cannot be found", strerror(file.os_errno), "a file");
    }
    if (!file.regular) {
        return weft_listed_refuse(listed, "cannot be loaded",
                                  file.folder ? "a folder" : "a special file", "a shared object");
    }
    if (!file.owner_trusted) {
        snprintf(found, sizeof found, "user %u", file.owner);
        return weft_listed_refuse(listed, "owned by somebody else", found, "your user or root");
    }
    if (file.group_writes || file.others_write) {
        snprintf(found, sizeof found, "mode %04o", file.mode);
        return weft_listed_refuse(listed, "writable by others", found,
                                  "no write permission for others (chmod go-w)");
    }
    return plugin_path_folder_trust(listed);
}
