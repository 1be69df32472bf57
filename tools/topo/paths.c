/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Words for paths, the nearest NICs, and other words that all outputs share. */
#include "tools/topo/paths.h"

#include <stdio.h>

#include "tools/topo/topo.h"

topo_path_t topo_path(const topo_t *topo, uint32_t from, uint32_t to)
{
    return (topo_path_t)topo->paths[from * topo->ndevices + to];
}

const char *topo_path_name(topo_path_t path)
{
    static const char *const names[] = {
        [TOPO_SELF] = "X",  [TOPO_NV] = "NV",     [TOPO_PIX] = "PIX", [TOPO_PXB] = "PXB",
        [TOPO_PHB] = "PHB", [TOPO_NODE] = "NODE", [TOPO_SYS] = "SYS", [TOPO_UNKNOWN] = "?",
    };
    return names[path];
}

const char *topo_path_help(topo_path_t path)
{
    static const char *const help[] = {
        [TOPO_SELF] = "itself",
        [TOPO_NV] = "NVLink; of how many links is not known here",
        [TOPO_PIX] = "PCIe, one switch at most",
        [TOPO_PXB] = "PCIe, several switches, no host bridge",
        [TOPO_PHB] = "PCIe and one host bridge",
        [TOPO_NODE] = "PCIe and several host bridges of one NUMA node",
        [TOPO_SYS] = "PCIe and the way between NUMA nodes",
        [TOPO_UNKNOWN] = "the system does not tell where one of them is",
    };
    return help[path];
}

topo_path_t topo_nearest(const topo_t *topo, uint32_t gpu)
{
    topo_path_t nearest = TOPO_UNKNOWN;
    for (uint32_t i = topo->ngpus; i < topo->ndevices; i++) {
        topo_path_t path = topo_path(topo, gpu, i);
        nearest = path < nearest ? path : nearest;
    }
    return nearest;
}

bool topo_is_nearest(const topo_t *topo, uint32_t gpu, uint32_t nic)
{
    topo_path_t path = topo_path(topo, gpu, nic);
    return nic >= topo->ngpus && path != TOPO_UNKNOWN && path == topo_nearest(topo, gpu);
}

const char *topo_device_name(const topo_t *topo, uint32_t device, topo_name_t name)
{
    const topo_device_t *d = &topo->devices[device];
    snprintf(name, sizeof(topo_name_t), "%s%u", d->gpu ? "GPU" : "NIC", d->number);
    return name;
}

const char *topo_bytes(uint64_t bytes, topo_name_t text)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit < 4) {
        value /= 1024;
        unit++;
    }
    snprintf(text, sizeof(topo_name_t), "%.4g %s", value, units[unit]);
    return text;
}
