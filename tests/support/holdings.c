/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See holdings.h. */
#include "tests/support/holdings.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/os/os.h"

static uint32_t count_entries(const char *folder)
{
    uint32_t count = 0;
    DIR *dir = opendir(folder);
    while (dir != NULL && readdir(dir) != NULL) {
        count++;
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return count;
}

/* Mappings but for stacks of threads and the guards below them: the C library keeps as many stacks
 * as there ever were threads at once. */
static uint32_t count_mappings(void)
{
    uint32_t count = 0;
    char line[512];
    bool guard = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        bool named = strpbrk(line, "/[") != NULL, guarded = guard && !named;
        guard = strstr(line, " ---p ") != NULL && !named;
        count += !guard && !guarded;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return count;
}

holdings_t holdings_now(void)
{
    holdings_t h = {.fds = count_entries("/proc/self/fd"),
                    .threads = count_entries("/proc/self/task"),
                    .maps = count_mappings()};
    char line[512];
    unsigned long long kib;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
        h.kib = sscanf(line, "VmRSS: %llu", &kib) == 1 ? kib : h.kib;
    }
    if (status != NULL) {
        fclose(status);
    }
    return h;
}

holdings_t holdings_settled(uint32_t fds, uint32_t threads)
{
    holdings_t h = holdings_now();
    uint64_t until = weft_os_clock_ns() + 20 * WEFT_NS_PER_S;
    while ((h.fds > fds || h.threads > threads) && weft_os_clock_ns() < until) {
        weft_os_sleep_ns(10 * WEFT_NS_PER_MS);
        h = holdings_now();
    }
    return h;
}
