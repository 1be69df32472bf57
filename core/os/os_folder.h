/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Small files that only this user may read or write, and the identity of processes. */
#ifndef WEFT_OS_FOLDER_H
#define WEFT_OS_FOLDER_H

#include <stdbool.h>

#include <weft/types.h>

uint32_t weft_os_user_id(void);

/* True if `path` is a folder of this user, no link, with mode 0700. */
bool weft_os_folder_is_private(const char *path);
/* Makes a folder if it does not exist, and gives one of this user that is closed to others mode
 * 0700, whatever the umask was. ERR_CONFIG if it exists and is not private,
 * ERR_SYSTEM. */
weft_status_t weft_os_folder_make(const char *path);

/* Writes a file of mode 0600, or replaces it. Readers see the whole file or none. ERR_SYSTEM. */
weft_status_t weft_os_private_write(const char *path, const void *data, size_t bytes);
/* Copies a regular file of this user, no link, closed to others, of exactly `bytes` bytes. Returns
 * false for any other; records no error. */
bool weft_os_private_read(const char *path, void *data, size_t bytes);
void weft_os_file_remove(const char *path);
/* Gives out when the file was written, in seconds on the clock of its file system: for two files of
 * a folder it is the same clock, whichever hosts wrote them. False: there is no such file. */
bool weft_os_file_written(const char *path, int64_t *seconds_p);

/* Calls `visit` with the name and the age of each regular file of a folder, in any order. `visit`
 * may remove it. */
void weft_os_folder_visit(const char *path,
                          void (*visit)(void *arg, const char *name, uint64_t age_s), void *arg);

/* Finds the start time of process `pid` in ticks since boot; pid and start time name a process for
 * ever. Fills *parent and `name` too (16 bytes, may be NULL). Returns false if there is no such
 * process. */
bool weft_os_process(int32_t pid, uint64_t *started, int32_t *parent, char *name);
/* Returns when this process started, on the clock of weft_os_wall_ms(); 0: unknown. */
uint64_t weft_os_started_ms(void);
/* Returns the start time cut to 32 bits; 0: unknown. */
uint32_t weft_os_process_started(int32_t pid);
/* True if the process with this pid and start time (0: any) has not ended. */
bool weft_os_process_runs(int32_t pid, uint32_t started);
/* Returns a descriptor that becomes readable when the process with this pid and start time ends; −1
 * if there is no such process or the system cannot watch it. */
int weft_os_process_watch(int32_t pid, uint32_t started);
/* Returns a number for the namespaces of pids and of time of this process, 0: unknown. Pid and
 * start time of a process mean nothing in another. */
uint32_t weft_os_process_space(void);

#endif
