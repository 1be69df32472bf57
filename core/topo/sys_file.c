/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Small files of /sys and /proc. */
#include "core/topo/sys_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/os/os.h"
#include "core/os/os_path.h"

#define ENTRY_FILE_MAX (UINT32_C(4) << 20)

const char *weft_sys_path(weft_sys_path_t path, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(path, WEFT_SYS_PATH_MAX, format, args);
    va_end(args);
    if (length < 0 || length >= WEFT_SYS_PATH_MAX) {
        path[0] = '\0';
    }
    return path;
}

/* Copies up to the end of the line, without blanks around it. */
static bool sys_file_copy(const char *from, char *text, size_t bytes)
{
    from += strspn(from, " \t:");
    size_t length = strcspn(from, "\n");
    while (length > 0 && (from[length - 1] == ' ' || from[length - 1] == '\t')) {
        length--;
    }
    text[0] = '\0';
    if (length == 0 || length >= bytes) {
        return false;
    }
    memcpy(text, from, length);
    text[length] = '\0';
    return true;
}

bool weft_sys_line(const char *path, char *text, size_t bytes)
{
    char *all = NULL;
    size_t length;
    int error;
    text[0] = '\0';
    if (weft_os_read_file(path, WEFT_SYS_TEXT_MAX, &all, &length, &error) != WEFT_OK) {
        return false;
    }
    bool good = sys_file_copy(all, text, bytes);
    weft_os_free(all);
    return good;
}

bool weft_sys_number(const char *path, int64_t *number_p)
{
    char text[64], *end;
    if (!weft_sys_line(path, text, sizeof text) || strlen(text) > 19) {
        return false;
    }
    const long long number = strtoll(text, &end, 0);
    if (end == text) {
        return false;
    }
    *number_p = number;
    return true;
}

bool weft_sys_entry(const char *path, const char *key, char *text, size_t bytes)
{
    char *all = NULL;
    size_t length;
    int error;
    bool good = false;
    text[0] = '\0';
    if (weft_os_read_file(path, ENTRY_FILE_MAX, &all, &length, &error) != WEFT_OK) {
        return false;
    }
    for (const char *line = all; line != NULL && *line != '\0' && !good;) {
        if (strncmp(line, key, strlen(key)) == 0) {
            good = sys_file_copy(line + strlen(key), text, bytes);
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    weft_os_free(all);
    return good;
}

typedef struct sys_file_names {
    weft_sys_name_t *names;
    uint32_t count, max;
} sys_file_names_t;

static void sys_file_take_name(void *arg, const char *name)
{
    sys_file_names_t *all = arg;
    if (name[0] != '.' && strlen(name) < sizeof(weft_sys_name_t) && all->count < all->max) {
        strcpy(all->names[all->count++], name);
    }
}

static int sys_file_compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

uint32_t weft_sys_names(const char *path, weft_sys_name_t *names, uint32_t max)
{
    sys_file_names_t all = {.names = names, .max = max};
    if (weft_os_folder_each(path, sys_file_take_name, &all) && all.count > 0) {
        qsort(names, all.count, sizeof(weft_sys_name_t), sys_file_compare);
    }
    return all.count;
}
