/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Small files below a root folder, as the kernel shows what it knows in /sys and /proc. What is not
 * there, or is no such value, is not known; that is no error. */
#ifndef WEFT_TOPO_SYS_FILE_H
#define WEFT_TOPO_SYS_FILE_H

#include <stdbool.h>

#include <weft/types.h>

#define WEFT_SYS_PATH_MAX 512
#define WEFT_SYS_TEXT_MAX 4096

/* A path below the root. "" where it is too long, which no file has. */
typedef char weft_sys_path_t[WEFT_SYS_PATH_MAX];
const char *weft_sys_path(weft_sys_path_t path, const char *format, ...) WEFT_PRINTF(2, 3);

/* Reads the first line of a file, without blanks at its end. Returns false, and "" in `text`, if
 * there is none or it is longer. */
bool weft_sys_line(const char *path, char *text, size_t bytes);
/* Reads a decimal or 0x hexadecimal number at the beginning of a file, of at most 18 digits. */
bool weft_sys_number(const char *path, int64_t *number_p);
/* Copies the text behind `key`, blanks and a colon of the first line that begins with `key`. Files
 * may have 4 MiB. Returns false, and "" in `text`, if there is none. */
bool weft_sys_entry(const char *path, const char *key, char *text, size_t bytes);

/* Names of a folder in the order of strcmp(), without those that begin with a dot and those that
 * are longer than 31 bytes, at most `max`. Returns their number. */
typedef char weft_sys_name_t[32];
uint32_t weft_sys_names(const char *path, weft_sys_name_t *names, uint32_t max);

#endif
