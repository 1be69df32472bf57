/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Available memory, from /proc and the files of control groups. */
#include <weft/sdk/memory_available.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIB UINT64_C(1024)
#define GROUPS "/sys/fs/cgroup"

/* Returns the number behind `key` at the beginning of a line ("": of the first line). */
static uint64_t available_number(const char *path, const char *key)
{
    char line[256];
    uint64_t number = WEFT_MEMORY_UNKNOWN;
    size_t length = strlen(key);
    FILE *file = fopen(path, "re");
    while (file != NULL && number == WEFT_MEMORY_UNKNOWN &&
           fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, length) == 0) {
            char *end;
            number = strtoull(line + length, &end, 10);
            if (end == line + length) {
                number = WEFT_MEMORY_UNKNOWN; /* "max" */
                break;
            }
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return number;
}

static uint64_t available_in(const char *folder, const char *name, const char *key)
{
    char path[512];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return length > 0 && (size_t)length < sizeof path ? available_number(path, key)
                                                      : WEFT_MEMORY_UNKNOWN;
}

uint64_t weft_memory_of_host(const char *file)
{
    uint64_t kib = available_number(file, "MemAvailable:");
    return kib == WEFT_MEMORY_UNKNOWN ? kib : kib * KIB;
}

/* Returns what counts as used and goes first when memory is wanted: pages of files, read once or
 * more often, and what the kernel remembers of files. `prefix` is that of the lines of
 * memory.stat. */
static uint64_t available_reclaimable(const char *folder, const char *prefix)
{
    static const char *const kinds[] = {"inactive_file", "active_file", "slab_reclaimable"};
    char path[512], name[64];
    unsigned long long bytes = 0;
    uint64_t sum = 0;
    size_t skip = strlen(prefix);
    int length = snprintf(path, sizeof path, "%s/memory.stat", folder);
    FILE *file = length > 0 && (size_t)length < sizeof path ? fopen(path, "re") : NULL;
    while (file != NULL && fscanf(file, "%63s %llu", name, &bytes) == 2) {
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            bool counts = strncmp(name, prefix, skip) == 0 && strcmp(name + skip, kinds[i]) == 0;
            sum += counts ? bytes : 0;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return sum;
}

static uint64_t available_below(uint64_t limit, uint64_t used, uint64_t reclaimable)
{
    if (limit == WEFT_MEMORY_UNKNOWN || used == WEFT_MEMORY_UNKNOWN) {
        return WEFT_MEMORY_UNKNOWN;
    }
    used -= reclaimable < used ? reclaimable : used;
    return limit > used ? limit - used : 0;
}

uint64_t weft_memory_of_group(const char *folder)
{
    uint64_t limit = available_in(folder, "memory.max", "");
    if (limit != WEFT_MEMORY_UNKNOWN) {
        return available_below(limit, available_in(folder, "memory.current", ""),
                               available_reclaimable(folder, ""));
    }
    return available_below(available_in(folder, "memory.limit_in_bytes", ""),
                           available_in(folder, "memory.usage_in_bytes", ""),
                           available_reclaimable(folder, "total_"));
}

static uint64_t available_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The group at `path` below `root`, and those around it: each may have a limit. In a container the
 * path may be the host's, and its own group lies at the root. */
static uint64_t available_in_group(const char *root, char *path)
{
    char folder[600];
    uint64_t least = WEFT_MEMORY_UNKNOWN;
    for (char *end = path + strlen(path); end != NULL; end = strrchr(path, '/')) {
        *end = '\0';
        snprintf(folder, sizeof folder, "%s%s", root, path);
        least = available_least(least, weft_memory_of_group(folder));
    }
    return least;
}

/* Lines are "4:memory:/path" of version 1 and "0::/path" of version 2. */
static uint64_t available_in_groups(void)
{
    char line[512];
    uint64_t least = WEFT_MEMORY_UNKNOWN;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *kind = strchr(line, ':');
        char *path = kind != NULL ? strchr(kind + 1, ':') : NULL;
        if (path == NULL) {
            continue;
        }
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        bool first = strcmp(kind + 1, "memory") == 0;
        if (first || kind[1] == '\0') {
            least =
                available_least(least, available_in_group(first ? GROUPS "/memory" : GROUPS, path));
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return least;
}

uint64_t weft_memory_available(void)
{
    return available_least(weft_memory_of_host("/proc/meminfo"), available_in_groups());
}
