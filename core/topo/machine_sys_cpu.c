/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packages, NUMA nodes, cores and caches from /sys/devices/system. */
#include "core/topo/machine_sys_cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/topo/sys_file.h"

#define CACHE_INDICES 8u
#define KIB UINT64_C(1024)

typedef struct sys_cpu {
    weft_machine_t *machine;
    const char *root;
    const weft_cpu_list_t *usable;
} sys_cpu_t;

static bool sys_cpu_list(const char *path, weft_cpu_list_t *list)
{
    char text[WEFT_SYS_TEXT_MAX];
    return weft_sys_line(path, text, sizeof text) && weft_cpu_list_parse(text, list);
}

static uint64_t sys_cpu_kib(const char *path, const char *key)
{
    char text[64];
    return weft_sys_entry(path, key, text, sizeof text) ? strtoull(text, NULL, 10) * KIB : 0;
}

/* Caches --------------------------------------------------------------------------------------- */

/* From the largest to the smallest, as hwloc has them. */
static bool sys_cpu_cache_is_before(const weft_machine_cache_t *a, const weft_machine_cache_t *b)
{
    return a->name[1] != b->name[1] ? a->name[1] > b->name[1] : strcmp(a->name, b->name) < 0;
}

static void sys_cpu_count_cache(weft_machine_node_t *node, const weft_machine_cache_t *one)
{
    uint32_t at = 0;
    for (; at < node->ncaches && !sys_cpu_cache_is_before(one, &node->caches[at]); at++) {
        weft_machine_cache_t *known = &node->caches[at];
        if (strcmp(known->name, one->name) == 0 && known->bytes == one->bytes) {
            known->count++;
            return;
        }
    }
    if (node->ncaches < WEFT_MACHINE_CACHES_MAX) {
        memmove(&node->caches[at + 1], &node->caches[at],
                (node->ncaches - at) * sizeof node->caches[0]);
        node->caches[at] = *one;
        node->ncaches++;
    }
}

/* A cache is counted at the first of the CPUs that share it. */
static void sys_cpu_read_cache(const sys_cpu_t *sys, weft_machine_node_t *node, uint32_t cpu,
                               uint32_t index)
{
    weft_sys_path_t path, folder;
    weft_cpu_list_t sharing;
    weft_machine_cache_t one = {.count = 1};
    char type[32], size[32], *unit;
    int64_t level = 0;
    weft_sys_path(folder, "%s/sys/devices/system/cpu/cpu%u/cache/index%u", sys->root, cpu, index);
    if (!sys_cpu_list(weft_sys_path(path, "%s/shared_cpu_list", folder), &sharing) ||
        weft_cpu_list_next(&sharing, 0) != cpu ||
        !weft_sys_number(weft_sys_path(path, "%s/level", folder), &level) || level < 1 ||
        level > 9 || !weft_sys_line(weft_sys_path(path, "%s/size", folder), size, sizeof size)) {
        return;
    }
    weft_sys_line(weft_sys_path(path, "%s/type", folder), type, sizeof type);
    one.bytes = strtoull(size, &unit, 10);
    one.bytes *= *unit == 'M' ? KIB * KIB : *unit == 'K' ? KIB : 1;
    snprintf(one.name, sizeof one.name, "L%u%s", (unsigned)level,
             type[0] == 'D'   ? "d"
             : type[0] == 'I' ? "i"
                              : "");
    sys_cpu_count_cache(node, &one);
}

/* Packages ------------------------------------------------------------------------------------- */

/* A kernel that does not tell has no packages. */
static weft_status_t sys_cpu_find_package(const sys_cpu_t *sys, uint32_t cpu, uint32_t *package_p)
{
    weft_machine_t *machine = sys->machine;
    weft_sys_path_t path;
    weft_machine_package_t package = {0};
    int64_t id;
    *package_p = WEFT_MACHINE_NONE;
    weft_sys_path(path, "%s/sys/devices/system/cpu/cpu%u/topology/physical_package_id", sys->root,
                  cpu);
    if (!weft_sys_number(path, &id) || id < 0 || id >= UINT32_MAX) {
        return WEFT_OK;
    }
    for (uint32_t i = 0; i < machine->npackages; i++) {
        if (machine->packages[i].index == (uint32_t)id) {
            *package_p = i;
            return WEFT_OK;
        }
    }
    package.index = (uint32_t)id;
    weft_sys_entry(weft_sys_path(path, "%s/proc/cpuinfo", sys->root), "model name", package.model,
                   sizeof package.model);
    *package_p = machine->npackages;
    return weft_machine_add_package(machine, &package);
}

/* Cores and nodes ------------------------------------------------------------------------------ */

static weft_status_t sys_cpu_add_core(const sys_cpu_t *sys, weft_machine_node_t *node, uint32_t cpu,
                                      const weft_cpu_list_t *siblings)
{
    weft_cpu_list_t usable = *siblings;
    uint32_t package = WEFT_MACHINE_NONE;
    weft_status_t status = sys_cpu_find_package(sys, cpu, &package);
    weft_cpu_list_and(&usable, sys->usable);
    const weft_machine_core_t core = {.node = sys->machine->nnodes,
                                      .pus = weft_cpu_list_count(siblings),
                                      .usable = weft_cpu_list_count(&usable)};
    if (node->cores == 0) {
        node->package = package;
    } else if (node->package != package) {
        node->package = WEFT_MACHINE_NONE;
    }
    node->cores++;
    node->pus += core.pus;
    node->usable += core.usable;
    return status == WEFT_OK ? weft_machine_add_core(sys->machine, &core) : status;
}

static weft_status_t sys_cpu_read_core(const sys_cpu_t *sys, weft_machine_node_t *node,
                                       const weft_cpu_list_t *cpus, uint32_t cpu)
{
    weft_sys_path_t path;
    weft_cpu_list_t siblings;
    weft_sys_path(path, "%s/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", sys->root,
                  cpu);
    if (!sys_cpu_list(path, &siblings) || !weft_cpu_list_has(&siblings, cpu)) {
        siblings = (weft_cpu_list_t){0};
        weft_cpu_list_add(&siblings, cpu);
    }
    weft_cpu_list_and(&siblings, cpus);
    for (uint32_t i = 0; i < CACHE_INDICES; i++) {
        sys_cpu_read_cache(sys, node, cpu, i);
    }
    return weft_cpu_list_next(&siblings, 0) == cpu ? sys_cpu_add_core(sys, node, cpu, &siblings)
                                                   : WEFT_OK;
}

static weft_status_t sys_cpu_add_node(const sys_cpu_t *sys, weft_machine_node_t *node,
                                      const weft_cpu_list_t *cpus)
{
    weft_status_t status = WEFT_OK;
    node->package = WEFT_MACHINE_NONE;
    weft_cpu_list_print(cpus, node->list, sizeof node->list);
    for (uint32_t cpu = weft_cpu_list_next(cpus, 0); status == WEFT_OK && cpu < WEFT_CPUS_MAX;
         cpu = weft_cpu_list_next(cpus, cpu + 1)) {
        status = sys_cpu_read_core(sys, node, cpus, cpu);
    }
    return status == WEFT_OK ? weft_machine_add_node(sys->machine, node) : status;
}

static weft_status_t sys_cpu_read_node(const sys_cpu_t *sys, uint32_t index)
{
    weft_sys_path_t path, folder;
    weft_cpu_list_t cpus;
    weft_machine_node_t node = {.index = index};
    char key[32];
    int64_t bandwidth = 0;
    weft_sys_path(folder, "%s/sys/devices/system/node/node%u", sys->root, index);
    /* Memory without CPUs has an empty list. */
    if (!sys_cpu_list(weft_sys_path(path, "%s/cpulist", folder), &cpus)) {
        cpus = (weft_cpu_list_t){0};
    }
    snprintf(key, sizeof key, "Node %u MemTotal", index);
    node.memory = sys_cpu_kib(weft_sys_path(path, "%s/meminfo", folder), key);
    weft_sys_path(path, "%s/access0/initiators/read_bandwidth", folder); /* of ACPI's HMAT */
    if (weft_sys_number(path, &bandwidth) && bandwidth > 0) {
        node.bandwidth = 1e6 * (double)bandwidth;
    }
    return sys_cpu_add_node(sys, &node, &cpus);
}

/* A kernel without NUMA, or a sandbox that shows little. */
static weft_status_t sys_cpu_one_node(const sys_cpu_t *sys)
{
    weft_sys_path_t path;
    weft_cpu_list_t cpus;
    weft_machine_node_t node = {0};
    if (!sys_cpu_list(weft_sys_path(path, "%s/sys/devices/system/cpu/online", sys->root), &cpus)) {
        cpus = *sys->usable;
    }
    node.memory = sys_cpu_kib(weft_sys_path(path, "%s/proc/meminfo", sys->root), "MemTotal");
    return sys_cpu_add_node(sys, &node, &cpus);
}

weft_status_t weft_sys_read_cpus(weft_machine_t *machine, const char *root,
                                 const weft_cpu_list_t *usable)
{
    const sys_cpu_t sys = {.machine = machine, .root = root, .usable = usable};
    weft_sys_path_t path;
    weft_cpu_list_t nodes;
    weft_status_t status = WEFT_OK;
    if (!sys_cpu_list(weft_sys_path(path, "%s/sys/devices/system/node/online", root), &nodes)) {
        return sys_cpu_one_node(&sys);
    }
    for (uint32_t i = weft_cpu_list_next(&nodes, 0); status == WEFT_OK && i < WEFT_CPUS_MAX;
         i = weft_cpu_list_next(&nodes, i + 1)) {
        status = sys_cpu_read_node(&sys, i);
    }
    return status == WEFT_OK && machine->nnodes == 0 ? sys_cpu_one_node(&sys) : status;
}
