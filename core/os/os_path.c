/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OS seam: paths, owners and permissions. */
#include "core/os/os_path.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/error.h"

#define OVERFLOW_UID 65534u /* default of kernel.overflowuid */

_Static_assert(WEFT_OS_PATH_MAX >= PATH_MAX, "realpath() writes up to PATH_MAX bytes");

/* An address inside this object; a constant has no other use here. */
static const char anchor = 0;

/* In a user namespace without root, root's files have the overflow owner. A container image mounted
 * read-only was chosen by whoever started it, and nobody can change its files. */
static bool os_path_is_image_file(const char *path, const struct stat *st)
{
    struct statvfs fs;
    return st->st_uid == OVERFLOW_UID && statvfs(path, &fs) == 0 && (fs.f_flag & ST_RDONLY) != 0;
}

weft_os_file_t weft_os_file(const char *path)
{
    struct stat st;
    weft_os_file_t file = {0};
    if (stat(path, &st) != 0) {
        file.os_errno = errno;
        return file;
    }
    uid_t me = geteuid();
    bool private_group = st.st_uid == me && (uint32_t)st.st_gid == (uint32_t)me;
    file.exists = true;
    file.regular = S_ISREG(st.st_mode) || S_ISCHR(st.st_mode);
    file.folder = S_ISDIR(st.st_mode);
    file.owner_trusted = st.st_uid == 0 || st.st_uid == me || os_path_is_image_file(path, &st);
    file.group_writes = (st.st_mode & S_IWGRP) != 0 && !private_group;
    file.others_write = (st.st_mode & S_IWOTH) != 0;
    file.sticky = (st.st_mode & S_ISVTX) != 0;
    file.owner = (uint32_t)st.st_uid;
    file.mode = (uint32_t)st.st_mode & 07777u;
    return file;
}

/* Once the main thread has ended, /proc/self tells nothing. An emulator of this processor
 * (qemu-user) puts its guest in place of itself there, and only there. */
static const char *const selves[] = {"/proc/self", "/proc/thread-self"};
enum { SELVES = sizeof selves / sizeof *selves };

static bool os_path_mapped_by(const char *self, const void *inside, char path[WEFT_OS_PATH_MAX])
{
    char list[64];
    snprintf(list, sizeof list, "%s/maps", self);
    FILE *maps = fopen(list, "re");
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    while (maps != NULL && !found && getline(&line, &room, maps) > 0) {
        unsigned long begin = 0, end = 0;
        char *name = strchr(line, '/');
        if (name != NULL && sscanf(line, "%lx-%lx", &begin, &end) == 2 &&
            (uintptr_t)inside >= begin && (uintptr_t)inside < end) {
            name[strcspn(name, "\n")] = '\0';
            found = weft_os_resolve(name, path);
        }
    }
    free(line);
    if (maps != NULL) {
        (void)fclose(maps);
    }
    return found;
}

/* Asks the system for the file that an address was mapped from; the linker only has what it was
 * asked for, which means something else once the program has gone to another folder. */
static bool os_path_mapped(const void *inside, char path[WEFT_OS_PATH_MAX])
{
    bool found = false;
    for (size_t i = 0; i < SELVES && !found; i++) {
        found = os_path_mapped_by(selves[i], inside, path);
    }
    return found;
}

static bool os_path_program(char path[WEFT_OS_PATH_MAX])
{
    bool found = false;
    for (size_t i = 0; i < SELVES && !found; i++) {
        char link[64];
        snprintf(link, sizeof link, "%s/exe", selves[i]);
        found = weft_os_resolve(link, path);
    }
    return found;
}

weft_status_t weft_os_self_path(char path[WEFT_OS_PATH_MAX])
{
    Dl_info info;
    void *map = NULL;
    /* The link map has the path the linker opened; dli_fname of the main program is only
     * argv[0]. */
    if (dladdr1(&anchor, &info, &map, RTLD_DL_LINKMAP) != 0 && map != NULL) {
        const char *name = ((const struct link_map *)map)->l_name;
        const bool known = name != NULL && name[0] != '\0';
        if (known &&
            ((name[0] != '/' && os_path_mapped(&anchor, path)) || weft_os_resolve(name, path))) {
            return WEFT_OK;
        }
    }
    if (os_path_program(path)) {
        return WEFT_OK;
    }
    return weft_fail(WEFT_ERR_SYSTEM, errno,
                     "cannot tell where this program lies: /proc/self/exe cannot be read, "
                     "is /proc mounted?");
}

bool weft_os_resolve(const char *path, char resolved[WEFT_OS_PATH_MAX])
{
    return realpath(path, resolved) != NULL;
}

bool weft_os_folder_each(const char *path, void (*visit)(void *arg, const char *name), void *arg)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return false;
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        visit(arg, entry->d_name);
    }
    closedir(folder);
    return true;
}
