/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The machine as JSON. Devices are named as in the text; what is not known is absent. */
#include "tools/topo/write_json.h"

#include "tools/json.h"
#include "tools/topo/topo.h"
#include "core/topo/paths.h"
#include "tools/topo/words.h"

static void write_json_put_place(json_t *json, const topo_t *topo, const weft_machine_node_t *place)
{
    json_open(json, NULL, '{');
    json_unsigned(json, "numa", place->index);
    if (place->package != WEFT_MACHINE_NONE) {
        json_unsigned(json, "package", topo->machine.packages[place->package].index);
    }
    json_unsigned(json, "memory_bytes", place->memory);
    json_unsigned(json, "cores", place->cores);
    json_unsigned(json, "pus", place->pus);
    json_unsigned(json, "usable_pus", place->usable);
    json_string(json, "pu_list", place->list);
    json_open(json, "caches", '[');
    for (uint32_t i = 0; i < place->ncaches; i++) {
        json_open(json, NULL, '{');
        json_string(json, "name", place->caches[i].name);
        json_unsigned(json, "bytes", place->caches[i].bytes);
        json_unsigned(json, "count", place->caches[i].count);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

static void write_json_put_use(json_t *json, const topo_use_t *use)
{
    json_open(json, NULL, '{');
    json_string(json, "plugin", use->plugin);
    json_unsigned(json, "index", use->index);
    json_string(json, "name", use->gpu ? use->kernel.name : use->net.name);
    json_string(json, "pci", use->gpu ? use->kernel.pci : use->net.pci);
    if (use->gpu) {
        json_string(json, "uuid", use->kernel.uuid);
        json_string(json, "capability", use->kernel.capability);
        json_unsigned(json, "memory_bytes", use->kernel.memory_bytes);
        if (use->kernel.memory_free != WEFT_BYTES_UNKNOWN) {
            json_unsigned(json, "memory_free", use->kernel.memory_free);
        }
    } else {
        json_unsigned(json, "latency_ns", use->net.latency_ns);
        json_unsigned(json, "bandwidth", use->net.bandwidth);
    }
    json_close(json, '}');
}

static void write_json_put_uses(json_t *json, const topo_t *topo, const char *key, uint32_t device)
{
    json_open(json, key, '[');
    for (uint32_t i = 0; i < topo->nuses; i++) {
        if (topo->uses[i].device == device) {
            write_json_put_use(json, &topo->uses[i]);
        }
    }
    json_close(json, ']');
}

static void write_json_put_nearest(json_t *json, const topo_t *topo, uint32_t gpu)
{
    topo_name_t name;
    json_open(json, "nearest", '[');
    for (uint32_t i = topo->machine.ngpus; i < topo->machine.ndevices; i++) {
        if (weft_path_is_nearest(&topo->machine, gpu, i)) {
            json_string(json, NULL, topo_device_name(topo, i, name));
        }
    }
    json_close(json, ']');
}

static void write_json_put_speeds(json_t *json, const topo_t *topo,
                                  const weft_machine_device_t *device)
{
    if (device->node != WEFT_MACHINE_NONE) {
        json_unsigned(json, "numa", topo->machine.nodes[device->node].index);
    }
    if (device->speed > 0) {
        json_real(json, "port_bytes_per_second", device->speed);
    }
    if (device->rail != WEFT_MACHINE_NONE) {
        json_unsigned(json, "rail", device->rail);
    }
    if (device->pci > 0) {
        json_real(json, "link_bytes_per_second", device->pci);
    }
}

static void write_json_put_device(json_t *json, const topo_t *topo, uint32_t index)
{
    const weft_machine_device_t *device = &topo->machine.devices[index];
    topo_name_t name;
    json_open(json, NULL, '{');
    json_string(json, "name", topo_device_name(topo, index, name));
    json_string(json, "pci", device->address);
    json_string(json, "model", device->model);
    json_string(json, "system", device->system);
    write_json_put_speeds(json, topo, device);
    json_open(json, "bridges", '[');
    for (uint32_t b = device->branch; b != WEFT_MACHINE_NONE;
         b = topo->machine.branches[b].parent) {
        json_string(json, NULL, topo->machine.branches[b].name);
    }
    json_close(json, ']');
    write_json_put_uses(json, topo, "plugins", index);
    if (device->kind == WEFT_DEVICE_GPU) {
        write_json_put_nearest(json, topo, index);
    }
    json_close(json, '}');
}

/* Rows and columns: gpus, then nics. */
static void write_json_put_paths(json_t *json, const topo_t *topo)
{
    json_open(json, "paths", '[');
    for (uint32_t i = 0; i < topo->machine.ndevices; i++) {
        json_open(json, NULL, '[');
        for (uint32_t j = 0; j < topo->machine.ndevices; j++) {
            json_string(json, NULL, weft_path_name(topo_path(topo, i, j)));
        }
        json_close(json, ']');
    }
    json_close(json, ']');
}

static void write_json_put_plugins(json_t *json, const topo_t *topo)
{
    write_json_put_uses(json, topo, "elsewhere", WEFT_MACHINE_NONE);
    json_open(json, "troubles", '[');
    for (uint32_t i = 0; i < topo->ntroubles; i++) {
        json_open(json, NULL, '{');
        json_string(json, "plugin", topo->troubles[i].plugin);
        json_string(json, "trouble", topo->troubles[i].text);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void write_json_put_places(json_t *json, const topo_t *topo)
{
    json_open(json, "packages", '[');
    for (uint32_t i = 0; i < topo->machine.npackages; i++) {
        json_open(json, NULL, '{');
        json_unsigned(json, "index", topo->machine.packages[i].index);
        json_string(json, "model", topo->machine.packages[i].model);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_open(json, "numa_nodes", '[');
    for (uint32_t i = 0; i < topo->machine.nnodes; i++) {
        write_json_put_place(json, topo, &topo->machine.nodes[i]);
    }
    json_close(json, ']');
}

static void write_json_put_devices(json_t *json, const topo_t *topo)
{
    json_open(json, "gpus", '[');
    for (uint32_t i = 0; i < topo->machine.ngpus; i++) {
        write_json_put_device(json, topo, i);
    }
    json_close(json, ']');
    json_open(json, "nics", '[');
    for (uint32_t i = topo->machine.ngpus; i < topo->machine.ndevices; i++) {
        write_json_put_device(json, topo, i);
    }
    json_close(json, ']');
}

void topo_write_json(const topo_t *topo, FILE *out)
{
    json_t json = {.out = out};
    json_open(&json, NULL, '{');
    json_string(&json, "name", topo->machine.name);
    json_string(&json, "source", topo->machine.source);
    write_json_put_places(&json, topo);
    write_json_put_devices(&json, topo);
    write_json_put_paths(&json, topo);
    write_json_put_plugins(&json, topo);
    json_close(&json, '}');
}
