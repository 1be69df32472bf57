/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OS seam: NUMA nodes, from /sys/devices/system/node. Lists read like "0-7,16-23". */
#include "core/os/os_numa.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMA_FILE_MAX 8192u
#define NUMA_CPUS (sizeof(weft_os_cpu_set_t) * 8)
#define NUMA_NODES_MAX NUMA_CPUS

/* Adds a list of numbers to a set; the first number beyond its size ends it. */
static void numa_read_list(const char *text, weft_os_cpu_set_t *set)
{
    memset(set, 0, sizeof *set);
    for (;;) {
        char *end;
        unsigned long first = strtoul(text, &end, 10), last = first;
        if (end == text) {
            return;
        }
        if (*end == '-') {
            text = end + 1;
            last = strtoul(text, &end, 10);
        }
        for (unsigned long i = first; i <= last && i < NUMA_CPUS; i++) {
            set->word[i / 64] |= UINT64_C(1) << i % 64;
        }
        if (*end != ',' || last >= NUMA_CPUS) {
            return;
        }
        text = end + 1;
    }
}

static bool numa_read(const char *folder, const char *name, weft_os_cpu_set_t *set)
{
    char path[512], *text = NULL;
    size_t bytes;
    int error, length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof path ||
        weft_os_read_file(path, NUMA_FILE_MAX, &text, &bytes, &error) != WEFT_OK) {
        return false;
    }
    numa_read_list(text, set);
    weft_os_free(text);
    return true;
}

static bool numa_has(const weft_os_cpu_set_t *set, uint32_t i)
{
    return (set->word[i / 64] >> i % 64 & 1) != 0;
}

/* True if every CPU of `some` is in `all`. */
static bool numa_is_within(const weft_os_cpu_set_t *some, const weft_os_cpu_set_t *all)
{
    uint64_t outside = 0, any = 0;
    for (size_t i = 0; i < sizeof some->word / sizeof *some->word; i++) {
        outside |= some->word[i] & ~all->word[i];
        any |= some->word[i];
    }
    return outside == 0 && any != 0;
}

weft_os_numa_t weft_os_numa_of(const char *folder, const weft_os_cpu_set_t *set)
{
    weft_os_cpu_set_t online, cpus;
    weft_os_numa_t numa = {.node = WEFT_OS_NODE_NONE};
    uint32_t last = 0;
    if (!numa_read(folder, "online", &online)) {
        return numa;
    }
    for (uint32_t node = 0; node < NUMA_NODES_MAX; node++) {
        numa.nodes += numa_has(&online, node);
        last = numa_has(&online, node) ? node : last;
    }
    if (numa.nodes == 1) {
        numa.node = last;
        return numa;
    }
    for (uint32_t node = 0; node <= last && numa.node == WEFT_OS_NODE_NONE; node++) {
        char name[32];
        snprintf(name, sizeof name, "node%u/cpulist", node);
        if (numa_has(&online, node) && numa_read(folder, name, &cpus) &&
            numa_is_within(set, &cpus)) {
            numa.node = node;
        }
    }
    return numa;
}

weft_os_numa_t weft_os_numa_here(void)
{
    weft_os_cpu_set_t set;
    weft_os_thread_cpus(&set);
    return weft_os_numa_of("/sys/devices/system/node", &set);
}
