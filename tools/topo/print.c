/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The machine as text: a tree of places and devices, and the table of paths. */
#include "tools/topo/print.h"

#include <string.h>

#include "tools/topo/paths.h"
#include "tools/topo/topo.h"

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
    topo_path_t path = topo_nearest(topo, gpu);
    topo_name_t name;
    if (path == TOPO_UNKNOWN) {
        return;
    }
    fprintf(print->out, "%*snearest (%s):", indent, "", topo_path_name(path));
    for (uint32_t i = topo->ngpus; i < topo->ndevices; i++) {
        if (topo_is_nearest(topo, gpu, i)) {
            fprintf(print->out, " %s", topo_device_name(topo, i, name));
        }
    }
    fputc('\n', print->out);
}

static void print_put_device(const print_t *print, uint32_t index, int indent)
{
    const topo_device_t *device = &print->topo->devices[index];
    topo_name_t name;
    fprintf(print->out, "%*s%s %s %s", indent, "", topo_device_name(print->topo, index, name),
            device->pci, device->model);
    if (device->system[0] != '\0') {
        fprintf(print->out, " (%s)", device->system);
    }
    if (device->link > 0) {
        fprintf(print->out, ", link %.1f GB/s", device->link / 1e9);
    }
    if (device->near[0] != '\0') {
        fprintf(print->out, ", NUMA node %s", device->near);
    }
    fputc('\n', print->out);
    for (uint32_t i = 0; i < print->topo->nuses; i++) {
        if (print->topo->uses[i].device == index) {
            print_put_use(print, &print->topo->uses[i], indent + 2);
        }
    }
    if (device->gpu) {
        print_put_nearest(print, index, indent + 2);
    }
}

/* Branches and devices below a branch, or those of a place that hang on none. */
static void print_put_below(const print_t *print, uint32_t branch, uint32_t place, int indent)
{
    const topo_t *topo = print->topo;
    for (uint32_t i = 0; i < topo->nbranches; i++) {
        const topo_branch_t *b = &topo->branches[i];
        if (b->parent == branch && b->place == place) {
            fprintf(print->out, "%*s%s\n", indent, "", b->name);
            print_put_below(print, i, place, indent + 2);
        }
    }
    for (uint32_t i = 0; i < topo->ndevices; i++) {
        if (topo->devices[i].branch == branch && topo->devices[i].place == place) {
            print_put_device(print, i, indent);
        }
    }
}

static void print_put_place(const print_t *print, uint32_t index, int indent)
{
    const topo_place_t *place = &print->topo->places[index];
    topo_name_t size;
    FILE *out = print->out;
    fprintf(out, "%*sNUMA node %u: %s, %u cores, %u PUs", indent, "", place->numa,
            topo_bytes(place->memory, size), place->cores, place->pus);
    if (place->pus > 0) {
        fprintf(out, " (%s)", place->list);
    }
    if (place->usable < place->pus) {
        fprintf(out, ", %u usable", place->usable);
    }
    fputc('\n', out);
    for (uint32_t i = 0; i < place->ncaches; i++) {
        const topo_cache_t *c = &place->caches[i];
        fprintf(out, "%*s%s %u x %s%s", i == 0 ? indent + 2 : 0, "", c->name, c->count,
                topo_bytes(c->bytes, size), i + 1 < place->ncaches ? ", " : "\n");
    }
    print_put_below(print, TOPO_NONE, index, indent + 2);
}

static void print_put_places(const print_t *print)
{
    const topo_t *topo = print->topo;
    for (uint32_t p = 0; p < topo->npackages; p++) {
        fprintf(print->out, "package %u: %s\n", topo->packages[p].index, topo->packages[p].model);
        for (uint32_t i = 0; i < topo->nplaces; i++) {
            if (topo->places[i].package == p) {
                print_put_place(print, i, 2);
            }
        }
    }
    for (uint32_t i = 0; i < topo->nplaces; i++) {
        if (topo->places[i].package == TOPO_NONE) {
            print_put_place(print, i, 0);
        }
    }
    for (uint32_t i = 0; i < topo->ndevices; i++) {
        if (topo->devices[i].place == TOPO_NONE) {
            fputs("at a place that the system does not tell\n", print->out);
            print_put_below(print, TOPO_NONE, TOPO_NONE, 2);
            return;
        }
    }
}

static void print_put_paths(const print_t *print)
{
    const topo_t *topo = print->topo;
    bool seen[TOPO_UNKNOWN + 1] = {false};
    topo_name_t name;
    if (topo->ndevices < 2) {
        return;
    }
    fprintf(print->out, "\npaths\n%7s", "");
    for (uint32_t i = 0; i < topo->ndevices; i++) {
        fprintf(print->out, "%6s", topo_device_name(topo, i, name));
    }
    for (uint32_t i = 0; i < topo->ndevices; i++) {
        fprintf(print->out, "\n%7s", topo_device_name(topo, i, name));
        for (uint32_t j = 0; j < topo->ndevices; j++) {
            seen[topo_path(topo, i, j)] = true;
            fprintf(print->out, "%6s", topo_path_name(topo_path(topo, i, j)));
        }
    }
    fputc('\n', print->out);
    for (topo_path_t path = TOPO_NV; path <= TOPO_UNKNOWN; path++) {
        if (seen[path]) {
            fprintf(print->out, "%7s  %s\n", topo_path_name(path), topo_path_help(path));
        }
    }
}

static void print_put_rest(const print_t *print)
{
    const topo_t *topo = print->topo;
    bool title = false;
    for (uint32_t i = 0; i < topo->nuses; i++) {
        if (topo->uses[i].device == TOPO_NONE) {
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
    for (uint32_t i = 0; i < topo->nplaces; i++) {
        pus += topo->places[i].pus;
        usable += topo->places[i].usable;
    }
    fprintf(out, "%s: packages %u, NUMA nodes %u, cores %u, PUs %u (usable %u), GPUs %u, NICs %u\n",
            topo->name, topo->npackages, topo->nplaces, topo->ncores, pus, usable, topo->ngpus,
            topo->ndevices - topo->ngpus);
    print_put_places(&print);
    print_put_paths(&print);
    print_put_rest(&print);
}
