/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Words that all outputs share. */
#include "tools/topo/words.h"

#include <stdio.h>

#include "core/topo/paths.h"

weft_algo_path_class_t topo_path(const topo_t *topo, uint32_t from, uint32_t to)
{
    return weft_path_between(&topo->machine, from, to).class;
}

const char *topo_device_name(const topo_t *topo, uint32_t device, topo_name_t name)
{
    const weft_machine_device_t *d = &topo->machine.devices[device];
    snprintf(name, sizeof(topo_name_t), "%s%u", d->kind == WEFT_DEVICE_GPU ? "GPU" : "NIC",
             d->number);
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
