/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Facts about files that the loader and the configuration check before they trust them. */
#ifndef WEFT_OS_PATH_H
#define WEFT_OS_PATH_H

#include <stdbool.h>

#include <weft/types.h>

#define WEFT_OS_PATH_MAX 4096

typedef struct weft_os_file {
    bool exists;
    bool regular; /* or a device: /dev/null stands for an empty file */
    bool folder;
    bool owner_trusted; /* owned by root, by the effective user, or in a read-only image */
    bool group_writes;  /* not counting the user's own private group (its number is the user's) */
    bool others_write;
    bool sticky;
    uint32_t owner;
    uint32_t mode; /* permission bits */
    int os_errno;  /* the reason, where it does not exist for us */
} weft_os_file_t;

/* Returns the facts about the file behind `path`, following links. */
weft_os_file_t weft_os_file(const char *path);

/* Writes the absolute path of the shared object or program that contains the core. ERR_SYSTEM. */
weft_status_t weft_os_self_path(char path[WEFT_OS_PATH_MAX]);

/* Writes the path without links, "." and "..". Returns false if it does not exist. */
bool weft_os_resolve(const char *path, char resolved[WEFT_OS_PATH_MAX]);

/* Calls `visit` with each name in a folder. Returns false if the folder cannot be read. */
bool weft_os_folder_each(const char *path, void (*visit)(void *arg, const char *name), void *arg);

#endif
