/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making and freeing a machine. */
#include "core/topo/machine.h"

#include <math.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"

void weft_machine_init(weft_machine_t *machine)
{
    *machine = (weft_machine_t){0};
}

void weft_machine_fini(weft_machine_t *machine)
{
    weft_os_free(machine->packages);
    weft_os_free(machine->nodes);
    weft_os_free(machine->cores);
    weft_os_free(machine->branches);
    weft_os_free(machine->devices);
    weft_os_free(machine->links);
    *machine = (weft_machine_t){0};
}

/* Adding --------------------------------------------------------------------------------------- */

/* What a machine has arrays of. */
typedef struct machine_things {
    size_t bytes; /* of one */
    uint32_t max;
    const char *what;
} machine_things_t;

/* Makes room for one more. The room doubles, so `count` tells it. */
static weft_status_t machine_grow(const machine_things_t *kind, void **things, uint32_t count)
{
    if (count >= kind->max) {
        return weft_fail(WEFT_ERR_ARG, 0, "the machine has more than %u %s", kind->max, kind->what);
    }
    if (count >= 4 ? (count & (count - 1)) != 0 : count != 0) {
        return WEFT_OK;
    }
    size_t room = count >= 4 ? 2 * (size_t)count : 4;
    void *more = weft_os_alloc(room * kind->bytes, 0);
    if (more == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for the %s of a machine", kind->what);
    }
    if (count > 0) {
        memcpy(more, *things, count * kind->bytes);
    }
    weft_os_free(*things);
    *things = more;
    return WEFT_OK;
}

/* `array` points to the pointer to the first thing, whatever its type. */
static weft_status_t machine_add(const machine_things_t *kind, void *array, uint32_t *count,
                                 const void *thing)
{
    void *things;
    memcpy(&things, array, sizeof things);
    weft_status_t status = machine_grow(kind, &things, *count);
    if (status == WEFT_OK) {
        memcpy((char *)things + *count * kind->bytes, thing, kind->bytes);
        memcpy(array, &things, sizeof things);
        *count += 1;
    }
    return status;
}

weft_status_t weft_machine_add_package(weft_machine_t *machine,
                                       const weft_machine_package_t *package)
{
    static const machine_things_t kind = {sizeof *package, WEFT_MACHINE_PACKAGES_MAX, "packages"};
    return machine_add(&kind, &machine->packages, &machine->npackages, package);
}

weft_status_t weft_machine_add_node(weft_machine_t *machine, const weft_machine_node_t *node)
{
    static const machine_things_t kind = {sizeof *node, WEFT_MACHINE_NODES_MAX, "NUMA nodes"};
    return machine_add(&kind, &machine->nodes, &machine->nnodes, node);
}

weft_status_t weft_machine_add_core(weft_machine_t *machine, const weft_machine_core_t *core)
{
    static const machine_things_t kind = {sizeof *core, WEFT_MACHINE_CORES_MAX, "cores"};
    return machine_add(&kind, &machine->cores, &machine->ncores, core);
}

weft_status_t weft_machine_add_branch(weft_machine_t *machine, const weft_machine_branch_t *branch)
{
    static const machine_things_t kind = {sizeof *branch, WEFT_MACHINE_BRANCHES_MAX,
                                          "PCI bridges where ways part"};
    return machine_add(&kind, &machine->branches, &machine->nbranches, branch);
}

weft_status_t weft_machine_add_device(weft_machine_t *machine, const weft_machine_device_t *device)
{
    static const machine_things_t kind = {sizeof *device, WEFT_MACHINE_DEVICES_MAX,
                                          "GPUs and NICs"};
    return machine_add(&kind, &machine->devices, &machine->ndevices, device);
}

weft_status_t weft_machine_add_link(weft_machine_t *machine, const weft_machine_link_t *link)
{
    static const machine_things_t kind = {sizeof *link, WEFT_MACHINE_LINKS_MAX,
                                          "links between GPUs"};
    return machine_add(&kind, &machine->links, &machine->nlinks, link);
}

/* Order ---------------------------------------------------------------------------------------- */

/* GPUs before NICs, then by address, as text of fixed width; names decide where there is none. */
static int machine_compare(const weft_machine_device_t *a, const weft_machine_device_t *b)
{
    const bool none_a = a->address[0] == '\0', none_b = b->address[0] == '\0';
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    if (none_a != none_b) {
        return none_b ? -1 : 1;
    }
    int order = strcmp(a->address, b->address);
    return order != 0 ? order : strcmp(a->system, b->system);
}

/* Sorted by insertion, so that equal ones keep their order. `at` tells where a device has gone. */
static void machine_sort_devices(weft_machine_t *machine, uint32_t *at)
{
    weft_machine_device_t *devices = machine->devices;
    uint32_t from[WEFT_MACHINE_DEVICES_MAX];
    for (uint32_t i = 0; i < machine->ndevices; i++) {
        const weft_machine_device_t one = devices[i];
        uint32_t to = i;
        for (; to > 0 && machine_compare(&devices[to - 1], &one) > 0; to--) {
            devices[to] = devices[to - 1];
            from[to] = from[to - 1];
        }
        devices[to] = one;
        from[to] = i;
    }
    for (uint32_t i = 0; i < machine->ndevices; i++) {
        at[from[i]] = i;
    }
}

weft_status_t weft_machine_finish(weft_machine_t *machine)
{
    uint32_t at[WEFT_MACHINE_DEVICES_MAX];
    if (machine->ndevices <= WEFT_MACHINE_DEVICES_MAX) {
        machine_sort_devices(machine, at);
    }
    machine->ngpus = 0;
    for (uint32_t i = 0; i < machine->ndevices; i++) {
        machine->ngpus += machine->devices[i].kind == WEFT_DEVICE_GPU;
    }
    for (uint32_t i = 0; i < machine->ndevices; i++) {
        machine->devices[i].number = i < machine->ngpus ? i : i - machine->ngpus;
    }
    for (uint32_t i = 0; i < machine->nlinks; i++) {
        weft_machine_link_t *link = &machine->links[i];
        link->from = link->from < machine->ndevices ? at[link->from] : link->from;
        link->to = link->to < machine->ndevices ? at[link->to] : link->to;
    }
    return weft_machine_check(machine);
}

/* Checks --------------------------------------------------------------------------------------- */

static weft_status_t machine_refuse(const char *thing, uint32_t index, const char *fault)
{
    return weft_fail(WEFT_ERR_ARG, 0, "machine: %s %u: %s", thing, index, fault);
}

static bool machine_is_bandwidth(double value)
{
    return isfinite(value) && value >= 0;
}

static bool machine_is_index(uint32_t index, uint32_t count)
{
    return index < count || index == WEFT_MACHINE_NONE;
}

#define ENDS(text) (memchr(text, '\0', sizeof(text)) != NULL)

static weft_status_t machine_check_counts(const weft_machine_t *machine)
{
    const struct {
        uint32_t count, max;
        const void *things;
        const char *what;
    } arrays[] = {
        {machine->npackages, WEFT_MACHINE_PACKAGES_MAX, machine->packages, "packages"},
        {machine->nnodes, WEFT_MACHINE_NODES_MAX, machine->nodes, "NUMA nodes"},
        {machine->ncores, WEFT_MACHINE_CORES_MAX, machine->cores, "cores"},
        {machine->nbranches, WEFT_MACHINE_BRANCHES_MAX, machine->branches, "branches"},
        {machine->ndevices, WEFT_MACHINE_DEVICES_MAX, machine->devices, "devices"},
        {machine->nlinks, WEFT_MACHINE_LINKS_MAX, machine->links, "links"},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        if (arrays[i].count > arrays[i].max || (arrays[i].count > 0 && arrays[i].things == NULL)) {
            return weft_fail(WEFT_ERR_ARG, 0, "machine: %u %s, at most %u, and an array of them",
                             arrays[i].count, arrays[i].what, arrays[i].max);
        }
    }
    if (!ENDS(machine->name) || !ENDS(machine->source) || !machine_is_bandwidth(machine->socket)) {
        return weft_fail(WEFT_ERR_ARG, 0, "machine: bad name, source or socket bandwidth");
    }
    return WEFT_OK;
}

static weft_status_t machine_check_node(const weft_machine_t *machine, uint32_t i)
{
    const weft_machine_node_t *node = &machine->nodes[i];
    if (!machine_is_index(node->package, machine->npackages)) {
        return machine_refuse("NUMA node", i, "its package is none");
    }
    if (node->ncaches > WEFT_MACHINE_CACHES_MAX || node->usable > node->pus ||
        node->cores > node->pus) {
        return machine_refuse("NUMA node", i, "more caches, usable PUs or cores than can be");
    }
    for (uint32_t c = 0; c < node->ncaches; c++) {
        if (!ENDS(node->caches[c].name)) {
            return machine_refuse("NUMA node", i, "the name of a cache does not end");
        }
    }
    if (!ENDS(node->list) || !machine_is_bandwidth(node->bandwidth)) {
        return machine_refuse("NUMA node", i, "its list does not end, or its bandwidth is none");
    }
    return WEFT_OK;
}

static weft_status_t machine_check_core(const weft_machine_t *machine, uint32_t i)
{
    const weft_machine_core_t *core = &machine->cores[i];
    if (core->node >= machine->nnodes || core->usable > core->pus || core->pus == 0) {
        return machine_refuse("core", i, "its node is none, or its PUs cannot be");
    }
    return i > 0 && core->node < machine->cores[i - 1].node
               ? machine_refuse("core", i, "it does not stand with its node")
               : WEFT_OK;
}

static weft_status_t machine_check_branch(const weft_machine_t *machine, uint32_t i)
{
    const weft_machine_branch_t *branch = &machine->branches[i];
    /* So no way up comes back to where it began. */
    if (branch->parent != WEFT_MACHINE_NONE && branch->parent >= i) {
        return machine_refuse("branch", i, "its parent does not stand before it");
    }
    if (!machine_is_index(branch->node, machine->nnodes)) {
        return machine_refuse("branch", i, "its NUMA node is none");
    }
    if (!ENDS(branch->name) || !machine_is_bandwidth(branch->bandwidth)) {
        return machine_refuse("branch", i, "its name does not end, or its bandwidth is none");
    }
    return WEFT_OK;
}

static weft_status_t machine_check_device(const weft_machine_t *machine, uint32_t i)
{
    const weft_machine_device_t *device = &machine->devices[i];
    const bool gpu = i < machine->ngpus;
    if (device->kind != (gpu ? WEFT_DEVICE_GPU : WEFT_DEVICE_NIC) ||
        device->number != (gpu ? i : i - machine->ngpus)) {
        return machine_refuse("device", i, "its kind or number is not that of its index");
    }
    if (!machine_is_index(device->branch, machine->nbranches) ||
        !machine_is_index(device->node, machine->nnodes)) {
        return machine_refuse("device", i, "its branch or NUMA node is none");
    }
    if (gpu && device->rail != WEFT_MACHINE_NONE) {
        return machine_refuse("device", i, "a GPU has no rail");
    }
    if (!machine_is_bandwidth(device->pci) || !machine_is_bandwidth(device->speed)) {
        return machine_refuse("device", i, "its bandwidths are none");
    }
    return !ENDS(device->address) || !ENDS(device->model) || !ENDS(device->system)
               ? machine_refuse("device", i, "a text does not end")
               : WEFT_OK;
}

static weft_status_t machine_check_link(const weft_machine_t *machine, uint32_t i)
{
    const weft_machine_link_t *link = &machine->links[i];
    if (link->from >= machine->ngpus || !machine_is_index(link->to, machine->ngpus) ||
        link->from == link->to) {
        return machine_refuse("link", i, "its ends are not two GPUs, or a GPU and the switch");
    }
    return machine_is_bandwidth(link->bandwidth)
               ? WEFT_OK
               : machine_refuse("link", i, "its bandwidth is none");
}

weft_status_t weft_machine_check(const weft_machine_t *machine)
{
    weft_status_t status = machine_check_counts(machine);
    if (status == WEFT_OK && machine->ngpus > machine->ndevices) {
        status = weft_fail(WEFT_ERR_ARG, 0, "machine: %u GPUs, but %u devices", machine->ngpus,
                           machine->ndevices);
    }
    const struct {
        uint32_t count;
        weft_status_t (*check)(const weft_machine_t *machine, uint32_t i);
    } checks[] = {
        {machine->nnodes, machine_check_node},      {machine->ncores, machine_check_core},
        {machine->nbranches, machine_check_branch}, {machine->ndevices, machine_check_device},
        {machine->nlinks, machine_check_link},
    };
    for (size_t c = 0; status == WEFT_OK && c < sizeof checks / sizeof checks[0]; c++) {
        for (uint32_t i = 0; status == WEFT_OK && i < checks[c].count; i++) {
            status = checks[c].check(machine, i);
        }
    }
    for (uint32_t i = 0; status == WEFT_OK && i < machine->npackages; i++) {
        if (!ENDS(machine->packages[i].model)) {
            status = machine_refuse("package", i, "its model does not end");
        }
    }
    return status;
}
