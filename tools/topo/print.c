/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The machine as text: a tree of places and devices, and the table of paths. */
#include "tools/topo/print.h"

#include <string.h>

#include "core/base/plural.h"
#include "tools/topo/topo.h"
#include "core/topo/paths.h"
#include "tools/topo/words.h"

typedef struct print {
    const topo_t *topo;
    FILE *out;
} print_t;

static void print_put_use(const print_t *print, const topo_use_t *use, int indent)
{
    FILE *out = print->out;
    topo_name_t size;
    fprintf(out, "%*s%s device %u: ", indent, "", use->plugin, use->index);
    if (!use->gpu) {
        fprintf(out, "%s, latency %.1f us, %.1f GB/s\n", use->net.name,
                (double)use->net.latency_ns / 1e3, (double)use->net.bandwidth / 1e9);
        return;
    }
    fprintf(out, "%s, %s, capability %s", use->kernel.name,
            topo_bytes(use->kernel.memory_bytes, size), use->kernel.capability);
    if (use->kernel.memory_free != WEFT_BYTES_UNKNOWN) {
        fprintf(out, ", %s free", topo_bytes(use->kernel.memory_free, size));
    }
    fprintf(out, "\n%*s%s\n", indent + 2, "", use->kernel.uuid);
}

static void print_put_nearest(const print_t *print, uint32_t gpu, int indent)
{
    const topo_t *topo = print->topo;
    weft_algo_path_class_t path = weft_path_nearest(&topo->machine, gpu);
    topo_name_t name;
    if (path == WEFT_ALGO_PATH_UNKNOWN) {
        return;
    }
    fprintf(print->out, "%*snearest (%s):", indent, "", weft_path_name(path));
    for (uint32_t i = topo->machine.ngpus; i < topo->machine.ndevices; i++) {
        if (weft_path_is_nearest(&topo->machine, gpu, i)) {
            fprintf(print->out, " %s", topo_device_name(topo, i, name));
        }
    }
    fputc('\n', print->out);
}

static void print_put_speeds(const print_t *print, const weft_machine_device_t *device)
{
    if (device->pci > 0) {
        fprintf(print->out, ", link %.1f GB/s", device->pci / 1e9);
    }
    if (device->speed > 0) {
        fprintf(print->out, ", port %.1f GB/s", device->speed / 1e9);
    }
    if (device->rail != WEFT_MACHINE_NONE) {
        fprintf(print->out, ", rail %u", device->rail);
    }
    if (device->node != WEFT_MACHINE_NONE) {
        fprintf(print->out, ", NUMA node %u", print->topo->machine.nodes[device->node].index);
    }
}

static void print_put_device(const print_t *print, uint32_t index, int indent)
{
    const weft_machine_device_t *device = &print->topo->machine.devices[index];
    topo_name_t name;
    fprintf(print->out, "%*s%s %s %s", indent, "", topo_device_name(print->topo, index, name),
            device->address, device->model);
    if (device->system[0] != '\0') {
        fprintf(print->out, " (%s)", device->system);
    }
    print_put_speeds(print, device);
    fputc('\n', print->out);
    for (uint32_t i = 0; i < print->topo->nuses; i++) {
        if (print->topo->uses[i].device == index) {
            print_put_use(print, &print->topo->uses[i], indent + 2);
        }
    }
    if (device->kind == WEFT_DEVICE_GPU) {
        print_put_nearest(print, index, indent + 2);
    }
}

/* Branches and devices below a branch, or those of a place that hang on none. */
static void print_put_below(const print_t *print, uint32_t branch, uint32_t place, int indent)
{
    const topo_t *topo = print->topo;
    for (uint32_t i = 0; i < topo->machine.nbranches; i++) {
        const weft_machine_branch_t *b = &topo->machine.branches[i];
        if (b->parent == branch && b->node == place) {
            fprintf(print->out, "%*s%s\n", indent, "", b->name);
            print_put_below(print, i, place, indent + 2);
        }
    }
    for (uint32_t i = 0; i < topo->machine.ndevices; i++) {
        if (topo->machine.devices[i].branch == branch && topo->machine.devices[i].node == place) {
            print_put_device(print, i, indent);
        }
    }
}

static void print_put_place(const print_t *print, uint32_t index, int indent)
{
    const weft_machine_node_t *place = &print->topo->machine.nodes[index];
    topo_name_t size;
    FILE *out = print->out;
    fprintf(out, "%*sNUMA node %u: %s, %u core%s, %u PU%s", indent, "", place->index,
            topo_bytes(place->memory, size), place->cores, weft_plural(place->cores), place->pus,
            weft_plural(place->pus));
    if (place->pus > 0) {
        fprintf(out, " (%s)", place->list);
    }
    if (place->usable < place->pus) {
        fprintf(out, ", %u usable", place->usable);
    }
    fputc('\n', out);
    for (uint32_t i = 0; i < place->ncaches; i++) {
        const weft_machine_cache_t *c = &place->caches[i];
        fprintf(out, "%*s%s %u x %s%s", i == 0 ? indent + 2 : 0, "", c->name, c->count,
                topo_bytes(c->bytes, size), i + 1 < place->ncaches ? ", " : "\n");
    }
    print_put_below(print, WEFT_MACHINE_NONE, index, indent + 2);
}

static void print_put_places(const print_t *print)
{
    const topo_t *topo = print->topo;
    for (uint32_t p = 0; p < topo->machine.npackages; p++) {
        const weft_machine_package_t *package = &topo->machine.packages[p];
        fprintf(print->out, "package %u%s%s\n", package->index,
                package->model[0] != '\0' ? ": " : "", package->model);
        for (uint32_t i = 0; i < topo->machine.nnodes; i++) {
            if (topo->machine.nodes[i].package == p) {
                print_put_place(print, i, 2);
            }
        }
    }
    for (uint32_t i = 0; i < topo->machine.nnodes; i++) {
        if (topo->machine.nodes[i].package == WEFT_MACHINE_NONE) {
            print_put_place(print, i, 0);
        }
    }
    for (uint32_t i = 0; i < topo->machine.ndevices; i++) {
        if (topo->machine.devices[i].node == WEFT_MACHINE_NONE) {
            fputs("at a place that the system does not tell\n", print->out);
            print_put_below(print, WEFT_MACHINE_NONE, WEFT_MACHINE_NONE, 2);
            return;
        }
    }
}

static void print_put_paths(const print_t *print)
{
    const topo_t *topo = print->topo;
    bool seen[WEFT_ALGO_PATH_UNKNOWN + 1] = {false};
    topo_name_t name;
    if (topo->machine.ndevices < 2) {
        return;
    }
    fprintf(print->out, "\npaths\n%7s", "");
    for (uint32_t i = 0; i < topo->machine.ndevices; i++) {
        fprintf(print->out, "%6s", topo_device_name(topo, i, name));
    }
    for (uint32_t i = 0; i < topo->machine.ndevices; i++) {
        fprintf(print->out, "\n%7s", topo_device_name(topo, i, name));
        for (uint32_t j = 0; j < topo->machine.ndevices; j++) {
            seen[topo_path(topo, i, j)] = true;
            fprintf(print->out, "%6s", weft_path_name(topo_path(topo, i, j)));
        }
    }
    fputc('\n', print->out);
    for (weft_algo_path_class_t path = WEFT_ALGO_PATH_NV; path <= WEFT_ALGO_PATH_UNKNOWN; path++) {
        if (seen[path]) {
            fprintf(print->out, "%7s  %s\n", weft_path_name(path), weft_path_help(path));
        }
    }
}

static void print_put_rest(const print_t *print)
{
    const topo_t *topo = print->topo;
    bool title = false;
    for (uint32_t i = 0; i < topo->nuses; i++) {
        if (topo->uses[i].device == WEFT_MACHINE_NONE) {
            fputs(title ? "" : "\ndevices of plugins without a PCI device here\n", print->out);
            print_put_use(print, &topo->uses[i], 2);
            title = true;
        }
    }
    title = false;
    for (uint32_t i = 0; i < topo->ntroubles; i++) {
        fputs(title ? "" : "\nplugins that cannot be used here\n", print->out);
        fprintf(print->out, "  %s: %s\n", topo->troubles[i].plugin, topo->troubles[i].text);
        title = true;
    }
    if (topo->spare_net[0] != '\0' || topo->spare_kernel[0] != '\0') {
        fputs("\nplugins that were not asked\n", print->out);
    }
    if (topo->spare_net[0] != '\0') {
        fprintf(print->out, "  %s (--set core.net=…)\n", topo->spare_net);
    }
    if (topo->spare_kernel[0] != '\0') {
        fprintf(print->out, "  %s (--set core.kernel=…)\n", topo->spare_kernel);
    }
}

void topo_print(const topo_t *topo, FILE *out)
{
    const print_t print = {.topo = topo, .out = out};
    uint32_t pus = 0, usable = 0;
    for (uint32_t i = 0; i < topo->machine.nnodes; i++) {
        pus += topo->machine.nodes[i].pus;
        usable += topo->machine.nodes[i].usable;
    }
    fprintf(out, "%s: packages %u, NUMA nodes %u, cores %u, PUs %u (usable %u), GPUs %u, NICs %u\n",
            topo->machine.name, topo->machine.npackages, topo->machine.nnodes, topo->machine.ncores,
            pus, usable, topo->machine.ngpus, topo->machine.ndevices - topo->machine.ngpus);
    print_put_places(&print);
    print_put_paths(&print);
    print_put_rest(&print);
}
