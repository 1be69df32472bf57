/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See ib_sysfs.h. */
#include "ib_sysfs.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE 64

/* Reads the first line of a file. Returns false if there is none. */
static bool ib_sysfs_line(const char *path, char line[LINE])
{
    FILE *file = fopen(path, "re");
    bool read = file != NULL && fgets(line, LINE, file) != NULL;
    if (file != NULL) {
        fclose(file);
    }
    if (read) {
        line[strcspn(line, "\n")] = '\0';
    }
    return read;
}

/* The line is as "400 Gb/sec (4X NDR)" or "2.5 Gb/sec (1X SDR)", in every locale. */
uint64_t ib_sysfs_rate(const char *device, uint32_t port)
{
    char path[PATH_MAX], line[LINE], *end;
    snprintf(path, sizeof path, "%s/ports/%u/rate", device, port);
    if (!ib_sysfs_line(path, line)) {
        return 0;
    }
    uint64_t whole = strtoul(line, &end, 10), tenths = 0;
    if (*end == '.' && end[1] >= '0' && end[1] <= '9') {
        tenths = (uint64_t)(end[1] - '0');
        end += 2 + strspn(end + 2, "0123456789");
    }
    bool valid = *line >= '0' && *line <= '9' && whole < 1000000 && strncmp(end, " Gb/sec", 7) == 0;
    return valid ? (10 * whole + tenths) * 12500000 : 0;
}

static bool ib_sysfs_is_known(const char *const *known, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(known[i], name) == 0) {
            return true;
        }
    }
    return false;
}

void ib_sysfs_others(const char *folder, const char *const *known, uint32_t count, char *names,
                     size_t bytes)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    size_t used = 0;
    names[0] = '\0';
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char path[PATH_MAX], name[LINE];
        snprintf(path, sizeof path, "%s/%s/ibdev", folder, entry->d_name);
        if (strncmp(entry->d_name, "uverbs", 6) == 0 && ib_sysfs_line(path, name) &&
            !ib_sysfs_is_known(known, count, name) && used + strlen(name) + 3 < bytes) {
            used += (size_t)sprintf(names + used, "%s%s", used > 0 ? ", " : "", name);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}
