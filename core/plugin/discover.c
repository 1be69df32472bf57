/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The machine of this host. A topo plugin hands its description to a builder, which checks each
 * thing as it comes; the whole is checked at the end. */
#include "core/plugin/discover.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/topo/machine_sys.h"
#include "core/topo/machine_text.h"
#include "core/topo/rails.h"

static weft_machine_t *discover_machine(const weft_topo_builder_t *builder)
{
    return builder->core;
}

/* Takes a text that people will read, cut where it is too long. NULL is "". */
static void discover_text(char *to, size_t bytes, const char *from)
{
    weft_utf8_copy(to, bytes, from != NULL ? from : "");
    weft_utf8_clean(to);
}

/* A plugin built for an older minor has shorter structs; there is none yet. */
static weft_status_t discover_check_size(size_t size, size_t least, const char *what)
{
    return size >= least ? WEFT_OK
                         : weft_fail(WEFT_ERR_ARG, 0, "a %s of %zu bytes, at least %zu expected",
                                     what, size, least);
}

static double discover_bandwidth(double value)
{
    return isfinite(value) && value > 0 ? value : 0;
}

static weft_status_t discover_set_machine(const weft_topo_builder_t *builder, const char *name,
                                          const char *source, double socket)
{
    weft_machine_t *machine = discover_machine(builder);
    discover_text(machine->name, sizeof machine->name, name);
    discover_text(machine->source, sizeof machine->source, source);
    machine->socket = discover_bandwidth(socket);
    return WEFT_OK;
}

/* The index of what was added last. */
static weft_status_t discover_number(weft_status_t status, uint32_t count, uint32_t *index_p)
{
    if (status == WEFT_OK && index_p != NULL) {
        *index_p = count - 1;
    }
    return status;
}

static weft_status_t discover_add_package(const weft_topo_builder_t *builder,
                                          const weft_topo_package_t *package, uint32_t *index_p)
{
    weft_machine_t *machine = discover_machine(builder);
    weft_machine_package_t own = {.index = package->index};
    weft_status_t status = discover_check_size(package->size, sizeof *package, "package");
    discover_text(own.model, sizeof own.model, package->model);
    status = status == WEFT_OK ? weft_machine_add_package(machine, &own) : status;
    return discover_number(status, machine->npackages, index_p);
}

static weft_status_t discover_add_node(const weft_topo_builder_t *builder,
                                       const weft_topo_node_t *node, uint32_t *index_p)
{
    weft_machine_t *machine = discover_machine(builder);
    weft_status_t status = discover_check_size(node->size, sizeof *node, "NUMA node");
    if (status != WEFT_OK) {
        return status;
    }
    weft_machine_node_t own = {.index = node->index,
                               .package = node->package,
                               .memory = node->memory,
                               .bandwidth = discover_bandwidth(node->bandwidth)};
    discover_text(own.list, sizeof own.list, node->list);
    for (; own.ncaches < node->ncaches && own.ncaches < WEFT_MACHINE_CACHES_MAX; own.ncaches++) {
        const weft_topo_cache_t *cache = &node->caches[own.ncaches];
        weft_machine_cache_t *to = &own.caches[own.ncaches];
        to->bytes = cache->bytes;
        to->count = cache->count;
        discover_text(to->name, sizeof to->name, cache->name);
    }
    status = weft_machine_add_node(machine, &own);
    return discover_number(status, machine->nnodes, index_p);
}

static weft_status_t discover_add_core(const weft_topo_builder_t *builder,
                                       const weft_topo_core_t *core)
{
    weft_machine_t *machine = discover_machine(builder);
    const weft_machine_core_t own = {.node = core->node, .pus = core->pus, .usable = core->usable};
    weft_status_t status = discover_check_size(core->size, sizeof *core, "core");
    if (status == WEFT_OK && (core->node >= machine->nnodes || core->pus > UINT16_MAX)) {
        status = weft_fail(WEFT_ERR_ARG, 0, "core %u: NUMA node %u and %u PUs", machine->ncores,
                           core->node, core->pus);
    }
    status = status == WEFT_OK ? weft_machine_add_core(machine, &own) : status;
    if (status == WEFT_OK) {
        weft_machine_node_t *node = &machine->nodes[core->node];
        node->cores++;
        node->pus += core->pus;
        node->usable += core->usable;
    }
    return status;
}

static weft_status_t discover_add_branch(const weft_topo_builder_t *builder,
                                         const weft_topo_branch_t *branch, uint32_t *index_p)
{
    weft_machine_t *machine = discover_machine(builder);
    weft_machine_branch_t own = {.parent = branch->parent,
                                 .node = branch->node,
                                 .bridges = branch->bridges,
                                 .bandwidth = discover_bandwidth(branch->bandwidth)};
    weft_status_t status = discover_check_size(branch->size, sizeof *branch, "branch");
    discover_text(own.name, sizeof own.name, branch->name);
    status = status == WEFT_OK ? weft_machine_add_branch(machine, &own) : status;
    return discover_number(status, machine->nbranches, index_p);
}

static weft_status_t discover_add_device(const weft_topo_builder_t *builder,
                                         const weft_topo_device_t *device, uint32_t *index_p)
{
    weft_machine_t *machine = discover_machine(builder);
    weft_machine_device_t own = {.kind = device->kind == WEFT_TOPO_GPU ? WEFT_DEVICE_GPU
                                                                       : WEFT_DEVICE_NIC,
                                 .branch = device->branch,
                                 .node = device->node,
                                 .rail = WEFT_MACHINE_NONE,
                                 .bridges = device->bridges,
                                 .pci = discover_bandwidth(device->pci),
                                 .speed = discover_bandwidth(device->speed)};
    weft_status_t status = discover_check_size(device->size, sizeof *device, "device");
    if (status == WEFT_OK && device->kind > WEFT_TOPO_NIC) {
        status =
            weft_fail(WEFT_ERR_ARG, 0, "device %u: no kind %u", machine->ndevices, device->kind);
    }
    discover_text(own.address, sizeof own.address, device->address);
    discover_text(own.model, sizeof own.model, device->model);
    discover_text(own.system, sizeof own.system, device->system);
    status = status == WEFT_OK ? weft_machine_add_device(machine, &own) : status;
    return discover_number(status, machine->ndevices, index_p);
}

static weft_status_t discover_add_link(const weft_topo_builder_t *builder,
                                       const weft_topo_link_t *link)
{
    const weft_machine_link_t own = {
        .from = link->from, .to = link->to, .bandwidth = discover_bandwidth(link->bandwidth)};
    weft_status_t status = discover_check_size(link->size, sizeof *link, "link");
    return status == WEFT_OK ? weft_machine_add_link(discover_machine(builder), &own) : status;
}

/* What the core refuses names the thing; here it gets the name of the description. */
static weft_status_t discover_refuse(const weft_machine_t *machine, weft_status_t status,
                                     const char *before)
{
    char why[400];
    snprintf(why, sizeof why, "%.390s", weft_error_record()->text);
    return weft_fail(status, 0, "%s%s%s%s", before, machine->source,
                     machine->source[0] != '\0' ? ": " : "", why);
}

weft_status_t weft_discover_by(const weft_topo_ops_t *ops, weft_topo_t *topo, const char *plugin,
                               weft_machine_t *machine)
{
    const weft_topo_builder_t builder = {
        .size = sizeof builder,
        .core = machine,
        .set_machine = discover_set_machine,
        .add_package = discover_add_package,
        .add_node = discover_add_node,
        .add_core = discover_add_core,
        .add_branch = discover_add_branch,
        .add_device = discover_add_device,
        .add_link = discover_add_link,
    };
    weft_machine_init(machine);
    weft_status_t status = ops->discover(topo, &builder);
    if (status == WEFT_ERR_ARG) {
        discover_refuse(machine, status, "");
    } else if (status == WEFT_OK && weft_machine_finish(machine) != WEFT_OK) {
        char before[128];
        snprintf(before, sizeof before, "plugin %.60s describes what cannot be: ", plugin);
        status = discover_refuse(machine, WEFT_ERR_PLUGIN, before);
    }
    if (status != WEFT_OK) {
        weft_machine_fini(machine);
    }
    return status;
}

static weft_status_t discover_ask(const weft_loaded_t *loaded, weft_machine_t *machine)
{
    const weft_topo_ops_t *ops = loaded->plugin->ops;
    weft_topo_t *topo = NULL;
    weft_status_t status = ops->create(loaded->host, loaded->config, &topo);
    if (status == WEFT_OK) {
        status = weft_discover_by(ops, topo, loaded->plugin->name, machine);
        ops->destroy(topo);
    }
    return status;
}

/* A file of the configuration comes first, then the plugins, then /sys. */
static weft_status_t discover_machine_of(const weft_registry_t *registry,
                                         const weft_settings_t *settings, weft_machine_t *machine)
{
    const weft_loaded_t *loaded;
    weft_status_t status = WEFT_ERR_UNSUPPORTED;
    if (settings->core.machine[0] != '\0') {
        status = weft_machine_load(settings->core.machine, machine);
        return status == WEFT_OK ? WEFT_OK : weft_fail_about("[core] machine");
    }
    for (uint32_t i = 0; status == WEFT_ERR_UNSUPPORTED &&
                         (loaded = weft_registry_get(registry, WEFT_KIND_TOPO, i)) != NULL;
         i++) {
        status = discover_ask(loaded, machine);
    }
    return status == WEFT_ERR_UNSUPPORTED ? weft_machine_read_sys(machine) : status;
}

weft_status_t weft_discover(const weft_registry_t *registry, const weft_config_t *config,
                            const weft_settings_t *settings, weft_machine_t *machine)
{
    weft_status_t status = discover_machine_of(registry, settings, machine);
    if (status != WEFT_OK) {
        return status;
    }
    status = weft_machine_set_rails(machine, settings->core.rails,
                                    weft_config_origin(config, "core", "rails"));
    if (status != WEFT_OK) {
        weft_machine_fini(machine);
    }
    return status;
}
