/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The OS seam for small files that only this user may read or write, and for telling processes
 * apart. */
#ifndef WEFT_OS_FOLDER_H
#define WEFT_OS_FOLDER_H

#include <stdbool.h>

#include <weft/types.h>

uint32_t weft_os_user_id(void);

/* Whether `path` is a folder, no link, of this user, closed to everybody else. */
bool weft_os_folder_is_private(const char *path);
/* Makes it with mode 0700 if it does not exist; ERR_SYSTEM, or ERR_CONFIG if it exists and is not
 * private. */
weft_status_t weft_os_folder_make(const char *path);

/* Writes a new file of mode 0600 in one step: readers see all of it or nothing. Replaces. */
weft_status_t weft_os_private_write(const char *path, const void *data, size_t bytes);
/* Whether `path` is a regular file of this user, no link, closed to others, of exactly `bytes`
 * bytes, which are copied. No error is recorded. */
bool weft_os_private_read(const char *path, void *data, size_t bytes);
void weft_os_file_remove(const char *path);

/* Start time of process `pid` in ticks since boot; with the pid it names a process for ever. False:
 * there is none. *parent and `name` (16 bytes, may be NULL) are filled too. */
bool weft_os_process(int32_t pid, uint64_t *started, int32_t *parent, char *name);
/* The same start time, shortened; 0 = unknown. */
uint32_t weft_os_process_started(int32_t pid);
/* A descriptor that becomes readable when the process with this pid and start time ends; −1 if there
 * is none or the system cannot tell. */
int weft_os_process_watch(int32_t pid, uint32_t started);
/* Number of the pid namespace; pids of others mean nothing here. 0 = unknown. */
uint64_t weft_os_pid_space(void);

#endif
