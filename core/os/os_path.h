/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OS seam: what the loader and the configuration ask about files before they trust them. */
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
    int os_errno;  /* why it does not exist, for us */
} weft_os_file_t;

/* Looks at the file behind `path`, following links. */
weft_os_file_t weft_os_file(const char *path);

/* Absolute path of the shared object or program that contains the core. */
weft_status_t weft_os_self_path(char path[WEFT_OS_PATH_MAX]);

/* The path without links, "." and ".."; false if it does not exist. */
bool weft_os_resolve(const char *path, char resolved[WEFT_OS_PATH_MAX]);

/* Calls `visit` with each name in a folder; false if it cannot be read. */
bool weft_os_folder_each(const char *path, void (*visit)(void *arg, const char *name), void *arg);

#endif
