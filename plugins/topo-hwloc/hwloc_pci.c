/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GPUs and NICs in hwloc's tree of PCI devices. */
#include "hwloc_pci.h"

#include <stdio.h>
#include <string.h>

#include <weft/sdk/pci_class.h>

#include "hwloc_nodes.h"
#include "hwloc_nvml.h"
#include "hwloc_speed.h"

/* While the tree is walked: the object of each device that was added. */
typedef struct pci_scan {
    const weft_topo_t *topo;
    const weft_topo_builder_t *builder;
    hwloc_obj_t objects[WEFT_TOPO_DEVICES_MAX];
    hwloc_pci_gpu_t gpus[WEFT_TOPO_DEVICES_MAX];
    uint32_t count, ngpus;
} pci_scan_t;

/* A way from a branch down to an object: what has been passed since. */
typedef struct pci_way {
    uint32_t branch, bridges;
    double bandwidth;
} pci_way_t;

static weft_pci_kind_t pci_kind(hwloc_obj_t at)
{
    return at->type == HWLOC_OBJ_PCI_DEVICE
               ? weft_pci_kind(at->attr->pcidev.class_id, at->attr->pcidev.vendor_id)
               : WEFT_PCI_OTHER;
}

static bool pci_is_host_bridge(hwloc_obj_t at)
{
    return at->type == HWLOC_OBJ_BRIDGE && at->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST;
}

static bool pci_leads_to_device(hwloc_obj_t at)
{
    bool found = pci_kind(at) != WEFT_PCI_OTHER;
    for (hwloc_obj_t child = at->io_first_child; child != NULL && !found;
         child = child->next_sibling) {
        found = pci_leads_to_device(child);
    }
    return found;
}

static uint32_t pci_node(const pci_scan_t *scan, hwloc_obj_t at)
{
    hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(scan->topo->hwloc, at);
    return near != NULL && near->nodeset != NULL ? hwloc_find_node(scan->topo->hwloc, near->nodeset)
                                                 : WEFT_TOPO_NONE;
}

/* hwloc counts in GB/s; what it does not know is 0. */
static double pci_link(hwloc_obj_t at)
{
    const double link = at->type == HWLOC_OBJ_PCI_DEVICE ? (double)at->attr->pcidev.linkspeed
                        : at->type == HWLOC_OBJ_BRIDGE && !pci_is_host_bridge(at)
                            ? (double)at->attr->bridge.upstream.pci.linkspeed
                            : 0;
    return 1e9 * link;
}

static double pci_least(double a, double b)
{
    return a > 0 && (b == 0 || a < b) ? a : b;
}

/* Devices -------------------------------------------------------------------------------------- */

static void pci_name_address(char *text, size_t bytes, const struct hwloc_pcidev_attr_s *pci)
{
    snprintf(text, bytes, "%04x:%02x:%02x.%x", (unsigned)pci->domain, pci->bus, pci->dev,
             pci->func);
}

/* The data base of PCI names is not everywhere. */
static void pci_name_model(char *text, size_t bytes, hwloc_obj_t at)
{
    const char *model = hwloc_obj_get_info_by_name(at, "PCIDevice");
    if (model != NULL) {
        snprintf(text, bytes, "%s", model);
    } else {
        snprintf(text, bytes, "%04x:%04x", at->attr->pcidev.vendor_id, at->attr->pcidev.device_id);
    }
}

static void pci_name_system(char *text, size_t bytes, hwloc_obj_t at)
{
    size_t used = 0;
    text[0] = '\0';
    for (hwloc_obj_t child = at->io_first_child; child != NULL; child = child->next_sibling) {
        if (child->type == HWLOC_OBJ_OS_DEVICE && child->name != NULL &&
            used + strlen(child->name) + 2 < bytes) {
            used += (size_t)snprintf(text + used, bytes - used, "%s%s", used > 0 ? " " : "",
                                     child->name);
        }
    }
}

static weft_status_t pci_add_device(pci_scan_t *scan, hwloc_obj_t at, const pci_way_t *way)
{
    char address[32], model[128], system[128];
    uint32_t index = 0;
    const bool gpu = pci_kind(at) == WEFT_PCI_GPU;
    if (scan->count == WEFT_TOPO_DEVICES_MAX) {
        /* The core goes on with /sys and leaves some out. */
        const bool here = hwloc_topology_is_thissystem(scan->topo->hwloc) != 0;
        const char *file = scan->topo->config.xml;
        return scan->topo->host->set_error(scan->topo->host,
                                           here ? WEFT_ERR_UNSUPPORTED : WEFT_ERR_CONFIG, 0,
                                           "%s%sthe machine has more than %d GPUs and NICs", file,
                                           file[0] != '\0' ? ": " : "", WEFT_TOPO_DEVICES_MAX);
    }
    pci_name_address(address, sizeof address, &at->attr->pcidev);
    pci_name_model(model, sizeof model, at);
    pci_name_system(system, sizeof system, at);
    const weft_topo_device_t device = {
        .size = sizeof device,
        .address = address,
        .model = model,
        .system = system,
        .pci = pci_least(way->bandwidth, pci_link(at)),
        .speed =
            !gpu && hwloc_topology_is_thissystem(scan->topo->hwloc) ? hwloc_port_speed(system) : 0,
        .kind = gpu ? WEFT_TOPO_GPU : WEFT_TOPO_NIC,
        .branch = way->branch,
        .node = pci_node(scan, at),
        .bridges = way->bridges,
    };
    weft_status_t status = scan->builder->add_device(scan->builder, &device, &index);
    if (status == WEFT_OK && gpu) {
        hwloc_pci_gpu_t *own = &scan->gpus[scan->ngpus++];
        memcpy(own->address, address, sizeof own->address);
        own->index = index;
    }
    scan->objects[scan->count++] = at;
    return status;
}

/* Branches ------------------------------------------------------------------------------------- */

/* A bridge with one way on is part of that way. */
static bool pci_parts(hwloc_obj_t at)
{
    uint32_t ways = 0;
    for (hwloc_obj_t child = at->io_first_child; child != NULL; child = child->next_sibling) {
        ways += pci_leads_to_device(child);
    }
    return at->type == HWLOC_OBJ_BRIDGE && (pci_is_host_bridge(at) || ways > 1);
}

static weft_status_t pci_add_branch(const pci_scan_t *scan, hwloc_obj_t at, pci_way_t *way)
{
    char name[64] = "bridge ";
    if (pci_is_host_bridge(at)) {
        snprintf(name, sizeof name, "host bridge %04x:%02x",
                 (unsigned)at->attr->bridge.downstream.pci.domain,
                 at->attr->bridge.downstream.pci.secondary_bus);
    } else {
        pci_name_address(name + 7, sizeof name - 7, &at->attr->bridge.upstream.pci);
    }
    const weft_topo_branch_t branch = {.size = sizeof branch,
                                       .name = name,
                                       .bandwidth = pci_least(way->bandwidth, pci_link(at)),
                                       .parent = way->branch,
                                       .node = pci_node(scan, at),
                                       .bridges = way->bridges};
    *way = (pci_way_t){0};
    return scan->builder->add_branch(scan->builder, &branch, &way->branch);
}

static weft_status_t pci_walk(pci_scan_t *scan, hwloc_obj_t at, pci_way_t way)
{
    weft_status_t status = WEFT_OK;
    if (!pci_leads_to_device(at)) {
        return WEFT_OK;
    }
    if (pci_parts(at)) {
        status = pci_add_branch(scan, at, &way);
    } else if (at->type == HWLOC_OBJ_BRIDGE) {
        way.bandwidth = pci_least(way.bandwidth, pci_link(at));
        way.bridges++;
    } else if (pci_kind(at) != WEFT_PCI_OTHER) {
        status = pci_add_device(scan, at, &way);
    }
    for (hwloc_obj_t child = at->io_first_child; child != NULL && status == WEFT_OK;
         child = child->next_sibling) {
        status = pci_walk(scan, child, way);
    }
    return status;
}

static weft_status_t pci_walk_machine(pci_scan_t *scan, hwloc_obj_t at)
{
    const pci_way_t none = {.branch = WEFT_TOPO_NONE};
    weft_status_t status = WEFT_OK;
    for (hwloc_obj_t io = at->io_first_child; io != NULL && status == WEFT_OK;
         io = io->next_sibling) {
        status = pci_walk(scan, io, none);
    }
    for (hwloc_obj_t child = at->first_child; child != NULL && status == WEFT_OK;
         child = child->next_sibling) {
        status = pci_walk_machine(scan, child);
    }
    return status;
}

/* NVLinks -------------------------------------------------------------------------------------- */

/* The GPU that an object of hwloc is part of: its number for the builder. */
static uint32_t pci_gpu_of(const pci_scan_t *scan, hwloc_obj_t at)
{
    for (; at != NULL; at = at->parent) {
        for (uint32_t i = 0; i < scan->count; i++) {
            if (scan->objects[i] == at) {
                return pci_kind(at) == WEFT_PCI_GPU ? i : WEFT_TOPO_NONE;
            }
        }
    }
    return WEFT_TOPO_NONE;
}

/* hwloc gives MB/s; the larger of the two directions counts. On the diagonal it has a number that
 * stands for no link. */
static double pci_told(const struct hwloc_distances_s *links, unsigned i, unsigned j)
{
    const hwloc_uint64_t there = links->values[i * links->nbobjs + j];
    const hwloc_uint64_t back = links->values[j * links->nbobjs + i];
    const hwloc_uint64_t most = there > back ? there : back;
    return i == j || most > 100000000 ? 0 : 1e6 * (double)most;
}

static bool pci_is_device(hwloc_obj_t at)
{
    return at != NULL && (at->type == HWLOC_OBJ_PCI_DEVICE || at->type == HWLOC_OBJ_OS_DEVICE);
}

/* A device that is no GPU is a port of the switch; POWER's processors are no devices. */
static weft_status_t pci_add_link(const pci_scan_t *scan, const struct hwloc_distances_s *links,
                                  unsigned i, unsigned j)
{
    const double speed = pci_told(links, i, j);
    uint32_t a = pci_gpu_of(scan, links->objs[i]), b = pci_gpu_of(scan, links->objs[j]);
    if (a == b || speed == 0 || !pci_is_device(links->objs[i]) || !pci_is_device(links->objs[j])) {
        return WEFT_OK;
    }
    const weft_topo_link_t link = {.size = sizeof link,
                                   .bandwidth = speed,
                                   .from = a != WEFT_TOPO_NONE ? a : b,
                                   .to = a != WEFT_TOPO_NONE ? b : a};
    return scan->builder->add_link(scan->builder, &link);
}

/* Where hwloc has followed the ways through the switch, each GPU has its whole bandwidth to all
 * others: more than its links can carry together, which is 900 GB/s for 18 links of NVLink 5. */
static bool pci_is_switched(const struct hwloc_distances_s *links)
{
    for (unsigned i = 0; i < links->nbobjs; i++) {
        double sum = 0;
        for (unsigned j = 0; j < links->nbobjs; j++) {
            sum += pci_told(links, i, j);
        }
        if (sum > 900e9) {
            return true;
        }
    }
    return false;
}

static weft_status_t pci_add_switch(const pci_scan_t *scan, const struct hwloc_distances_s *links)
{
    weft_status_t status = WEFT_OK;
    for (unsigned i = 0; i < links->nbobjs && status == WEFT_OK; i++) {
        weft_topo_link_t link = {
            .size = sizeof link, .from = pci_gpu_of(scan, links->objs[i]), .to = WEFT_TOPO_NONE};
        for (unsigned j = 0; j < links->nbobjs; j++) {
            const double speed = pci_told(links, i, j);
            link.bandwidth = speed > link.bandwidth ? speed : link.bandwidth;
        }
        if (link.from != WEFT_TOPO_NONE && link.bandwidth > 0) {
            status = scan->builder->add_link(scan->builder, &link);
        }
    }
    return status;
}

static weft_status_t pci_add_pairs(const pci_scan_t *scan, const struct hwloc_distances_s *links)
{
    weft_status_t status = WEFT_OK;
    for (unsigned i = 0; i < links->nbobjs && status == WEFT_OK; i++) {
        for (unsigned j = i + 1; j < links->nbobjs && status == WEFT_OK; j++) {
            status = pci_add_link(scan, links, i, j);
        }
    }
    return status;
}

/* hwloc may have asked NVML where the XML was written. */
static weft_status_t pci_add_told_links(const pci_scan_t *scan, bool *told_p)
{
    hwloc_topology_t hwloc = scan->topo->hwloc;
    struct hwloc_distances_s *links = NULL;
    unsigned count = 1;
    *told_p =
        hwloc_distances_get_by_name(hwloc, "NVLinkBandwidth", &count, &links, 0) == 0 && count > 0;
    if (!*told_p) {
        return WEFT_OK;
    }
    weft_status_t status =
        pci_is_switched(links) ? pci_add_switch(scan, links) : pci_add_pairs(scan, links);
    hwloc_distances_release(hwloc, links);
    return status;
}

weft_status_t hwloc_add_devices(const weft_topo_t *topo, const weft_topo_builder_t *builder)
{
    const weft_host_t *host = topo->host;
    bool told = false;
    pci_scan_t *scan = host->alloc(host, sizeof *scan, 0);
    if (scan == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    scan->topo = topo;
    scan->builder = builder;
    weft_status_t status = pci_walk_machine(scan, hwloc_get_root_obj(topo->hwloc));
    status = status == WEFT_OK ? pci_add_told_links(scan, &told) : status;
    if (status == WEFT_OK && !told && topo->config.nvml && scan->ngpus > 0 &&
        hwloc_topology_is_thissystem(topo->hwloc)) {
        status = hwloc_nvml_add_links(host, builder, scan->gpus, scan->ngpus);
    }
    host->free(host, scan);
    return status;
}
