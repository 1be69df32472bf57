/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether a file may be loaded. */
#include "core/plugin/plugin_path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

const char *weft_path_folder_doubt(const weft_os_file_t *folder)
{
    if (!folder->owner_trusted) {
        return "owned by somebody else";
    }
    return (folder->group_writes || folder->others_write) && !folder->sticky ? "writable by others"
                                                                             : NULL;
}

/* The folder counts too: who may write there may exchange the file, also after it was checked. */
static weft_status_t plugin_path_folder_trust(const weft_listed_t *listed, const char *path)
{
    char folder[WEFT_OS_PATH_MAX], reason[64], found[64];
    snprintf(folder, sizeof folder, "%s", path);
    if (!weft_path_parent(folder)) {
        folder[1] = '\0';
    }
    const weft_os_file_t file = weft_os_file(folder);
    if (!file.exists) {
        return weft_listed_refuse(listed, "its folder cannot be looked at", strerror(file.os_errno),
                                  "a folder");
    }
    const char *doubt = weft_path_folder_doubt(&file);
    if (doubt == NULL) {
        return WEFT_OK;
    }
    snprintf(reason, sizeof reason, "its folder is %s", doubt);
    snprintf(found, sizeof found, "user %u, mode %04o", file.owner, file.mode);
    return weft_listed_refuse(listed, reason, found,
                              "a folder of your user or root, where nobody else may write "
                              "(chmod go-w)");
}

weft_status_t weft_listed_trust(const weft_listed_t *listed, char real[WEFT_OS_PATH_MAX])
{
    char found[64];
    if (listed->path[0] != '/' || weft_path_has_dot_dot(listed->path)) {
        return weft_listed_refuse(listed, "bad path", listed->path,
                                  "an absolute path without '..'");
    }
    if (!weft_os_resolve(listed->path, real)) {
        return weft_listed_refuse(listed, "cannot be found", strerror(errno), "a file");
    }
    const weft_os_file_t file = weft_os_file(real);
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
    weft_status_t status = plugin_path_folder_trust(listed, listed->path);
    return status == WEFT_OK ? plugin_path_folder_trust(listed, real) : status;
}
