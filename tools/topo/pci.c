/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GPUs and NICs in hwloc's tree of PCI devices, where their ways part, and the paths between them. */
#include "tools/topo/pci.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"

#define CLASS_NETWORK 0x02u
#define CLASS_DISPLAY 0x03u
#define CLASS_ACCELERATOR 0x12u
#define CLASS_VGA 0x0300u
#define CLASS_INFINIBAND 0x0c06u

typedef enum pci_kind { PCI_OTHER, PCI_GPU, PCI_NIC } pci_kind_t;

uint32_t topo_scan_place(const topo_t *topo, hwloc_const_nodeset_t nodes)
{
    hwloc_const_nodeset_t all = hwloc_get_root_obj(topo->hwloc)->nodeset;
    hwloc_obj_t at = NULL;
    if (topo->nplaces > 1 && hwloc_bitmap_isincluded(all, nodes)) {
        return TOPO_NONE;
    }
    while ((at = hwloc_get_next_obj_by_type(topo->hwloc, HWLOC_OBJ_NUMANODE, at)) != NULL) {
        if (hwloc_bitmap_isset(nodes, at->os_index)) {
            return at->logical_index;
        }
    }
    return TOPO_NONE;
}

/* While the tree is walked: the object of each device, in the order of topo->devices. */
typedef struct pci_scan {
    topo_t *topo;
    hwloc_obj_t *objects;
    pci_kind_t wanted;
} pci_scan_t;

/* The VGA of a server is most often that of its management controller; of these vendors it computes. */
static bool pci_vga_computes(uint32_t vendor)
{
    return vendor == 0x10de || vendor == 0x1002 || vendor == 0x8086;
}

static pci_kind_t pci_kind(hwloc_obj_t at)
{
    if (at->type != HWLOC_OBJ_PCI_DEVICE) {
        return PCI_OTHER;
    }
    uint32_t class = at->attr->pcidev.class_id;
    if (class >> 8 == CLASS_NETWORK || class == CLASS_INFINIBAND) {
        return PCI_NIC;
    }
    if (class == CLASS_VGA) {
        return pci_vga_computes(at->attr->pcidev.vendor_id) ? PCI_GPU : PCI_OTHER;
    }
    return class >> 8 == CLASS_DISPLAY || class >> 8 == CLASS_ACCELERATOR ? PCI_GPU : PCI_OTHER;
}

static bool pci_is_host_bridge(hwloc_obj_t at)
{
    return at->type == HWLOC_OBJ_BRIDGE && at->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST;
}

static bool pci_leads_to_device(hwloc_obj_t at)
{
    bool found = pci_kind(at) != PCI_OTHER;
    for (hwloc_obj_t child = at->io_first_child; child != NULL && !found;
         child = child->next_sibling) {
        found = pci_leads_to_device(child);
    }
    return found;
}

/* Devices -------------------------------------------------------------------------------------------- */

static void pci_name_address(char *text, size_t bytes, const struct hwloc_pcidev_attr_s *pci)
{
    snprintf(text, bytes, "%04x:%02x:%02x.%x", (unsigned)pci->domain, pci->bus, pci->dev,
             pci->func);
}

/* The data base of PCI names is not everywhere. */
static void pci_name_model(topo_device_t *device, hwloc_obj_t at)
{
    const char *model = hwloc_obj_get_info_by_name(at, "PCIDevice");
    if (model != NULL) {
        snprintf(device->model, sizeof device->model, "%s", model);
    } else {
        snprintf(device->model, sizeof device->model, "%04x:%04x", at->attr->pcidev.vendor_id,
                 at->attr->pcidev.device_id);
    }
}

static void pci_name_system(topo_device_t *device, hwloc_obj_t at)
{
    size_t used = 0, room = sizeof device->system;
    for (hwloc_obj_t child = at->io_first_child; child != NULL; child = child->next_sibling) {
        if (child->type == HWLOC_OBJ_OS_DEVICE && child->name != NULL &&
            used + strlen(child->name) + 2 < room) {
            used += (size_t)snprintf(device->system + used, room - used, "%s%s",
                                     used > 0 ? " " : "", child->name);
        }
    }
}

static void pci_add_device(pci_scan_t *scan, hwloc_obj_t at, uint32_t branch)
{
    topo_t *topo = scan->topo;
    hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topo->hwloc, at);
    const bool gpu = pci_kind(at) == PCI_GPU;
    scan->objects[topo->ndevices] = at;
    topo_device_t *device = &topo->devices[topo->ndevices++];
    *device = (topo_device_t){
        .gpu = gpu,
        .number = gpu ? topo->ngpus : topo->ndevices - 1 - topo->ngpus,
        .branch = branch,
        .place = topo_scan_place(topo, near->nodeset),
        .link = 1e9 * (double)at->attr->pcidev.linkspeed,
    };
    topo->ngpus += gpu;
    if (device->place != TOPO_NONE) {
        hwloc_bitmap_list_snprintf(device->near, sizeof device->near, near->nodeset);
    }
    pci_name_address(device->pci, sizeof device->pci, &at->attr->pcidev);
    pci_name_model(device, at);
    pci_name_system(device, at);
}

/* Branches ------------------------------------------------------------------------------------------- */

static uint32_t pci_add_branch(topo_t *topo, hwloc_obj_t at, uint32_t parent)
{
    topo_branch_t *branch = &topo->branches[topo->nbranches];
    hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topo->hwloc, at);
    branch->parent = parent;
    branch->place = topo_scan_place(topo, near->nodeset);
    if (pci_is_host_bridge(at)) {
        snprintf(branch->name, sizeof branch->name, "host bridge %04x:%02x",
                 (unsigned)at->attr->bridge.downstream.pci.domain,
                 at->attr->bridge.downstream.pci.secondary_bus);
    } else {
        strcpy(branch->name, "bridge ");
        pci_name_address(branch->name + 7, sizeof branch->name - 7, &at->attr->bridge.upstream.pci);
    }
    return topo->nbranches++;
}

/* A bridge with one way on is part of that way. */
static bool pci_parts(hwloc_obj_t at)
{
    uint32_t ways = 0;
    for (hwloc_obj_t child = at->io_first_child; child != NULL; child = child->next_sibling) {
        ways += pci_leads_to_device(child);
    }
    return at->type == HWLOC_OBJ_BRIDGE && (pci_is_host_bridge(at) || ways > 1);
}

/* Walked three times in the same order: for all branches, which are counted again afterwards, then for
 * the devices of each kind. */
static void pci_walk(pci_scan_t *scan, hwloc_obj_t at, uint32_t *next_p, uint32_t branch)
{
    if (!pci_leads_to_device(at)) {
        return;
    }
    if (pci_parts(at)) {
        branch = scan->wanted == PCI_OTHER ? pci_add_branch(scan->topo, at, branch) : (*next_p)++;
    }
    if (scan->wanted != PCI_OTHER && pci_kind(at) == scan->wanted) {
        pci_add_device(scan, at, branch);
    }
    for (hwloc_obj_t child = at->io_first_child; child != NULL; child = child->next_sibling) {
        pci_walk(scan, child, next_p, branch);
    }
}

static void pci_walk_machine(pci_scan_t *scan, hwloc_obj_t at, uint32_t *next_p)
{
    for (hwloc_obj_t io = at->io_first_child; io != NULL; io = io->next_sibling) {
        pci_walk(scan, io, next_p, TOPO_NONE);
    }
    for (hwloc_obj_t child = at->first_child; child != NULL; child = child->next_sibling) {
        pci_walk_machine(scan, child, next_p);
    }
}

/* Paths ---------------------------------------------------------------------------------------------- */

static hwloc_obj_t pci_common_ancestor(hwloc_obj_t a, hwloc_obj_t b)
{
    for (; a != NULL; a = a->parent) {
        for (hwloc_obj_t at = b; at != NULL; at = at->parent) {
            if (at == a) {
                return a;
            }
        }
    }
    return NULL;
}

static uint32_t pci_bridges_below(hwloc_obj_t at, hwloc_obj_t top)
{
    uint32_t count = 0;
    for (at = at->parent; at != top; at = at->parent) {
        count += at->type == HWLOC_OBJ_BRIDGE;
    }
    return count;
}

/* A switch shows as one bridge towards the host and one towards each device. */
static topo_path_t pci_path_by_bridges(hwloc_obj_t a, hwloc_obj_t b, hwloc_obj_t top)
{
    if (pci_is_host_bridge(top)) {
        return TOPO_PHB;
    }
    return pci_bridges_below(a, top) <= 1 && pci_bridges_below(b, top) <= 1 ? TOPO_PIX : TOPO_PXB;
}

static topo_path_t pci_path_between(const topo_t *topo, hwloc_obj_t a, hwloc_obj_t b)
{
    hwloc_obj_t top = pci_common_ancestor(a, b);
    if (a == b) {
        return TOPO_SELF;
    }
    if (hwloc_obj_type_is_io(top->type)) {
        return pci_path_by_bridges(a, b, top);
    }
    hwloc_const_nodeset_t near_a = hwloc_get_non_io_ancestor_obj(topo->hwloc, a)->nodeset;
    hwloc_const_nodeset_t near_b = hwloc_get_non_io_ancestor_obj(topo->hwloc, b)->nodeset;
    if (topo_scan_place(topo, near_a) == TOPO_NONE || topo_scan_place(topo, near_b) == TOPO_NONE) {
        return TOPO_UNKNOWN;
    }
    return hwloc_bitmap_intersects(near_a, near_b) ? TOPO_NODE : TOPO_SYS;
}

static uint32_t pci_device_of(const pci_scan_t *scan, hwloc_obj_t at)
{
    for (; at != NULL; at = at->parent) {
        for (uint32_t i = 0; i < scan->topo->ndevices; i++) {
            if (scan->objects[i] == at) {
                return i;
            }
        }
    }
    return TOPO_NONE;
}

/* hwloc has asked NVML on some machines: bandwidths between GPUs that NVLinks join, else 0. */
static void pci_scan_nvlinks(const pci_scan_t *scan)
{
    topo_t *topo = scan->topo;
    struct hwloc_distances_s *links = NULL;
    unsigned count = 1;
    if (hwloc_distances_get_by_name(topo->hwloc, "NVLinkBandwidth", &count, &links, 0) != 0 ||
        count == 0) {
        return;
    }
    for (unsigned i = 0; i < links->nbobjs; i++) {
        for (unsigned j = 0; j < links->nbobjs; j++) {
            uint32_t a = pci_device_of(scan, links->objs[i]),
                     b = pci_device_of(scan, links->objs[j]);
            if (a != b && a < topo->ngpus && b < topo->ngpus &&
                links->values[i * links->nbobjs + j] > 0) {
                topo->paths[a * topo->ndevices + b] = TOPO_NV;
            }
        }
    }
    hwloc_distances_release(topo->hwloc, links);
}

weft_status_t topo_scan_pci(topo_t *topo)
{
    pci_scan_t scan = {.topo = topo};
    hwloc_obj_t root = hwloc_get_root_obj(topo->hwloc);
    static const pci_kind_t order[] = {PCI_OTHER, PCI_GPU, PCI_NIC};
    int count = hwloc_get_nbobjs_by_type(topo->hwloc, HWLOC_OBJ_PCI_DEVICE);
    scan.objects = calloc(count > 0 ? (size_t)count : 1, sizeof(hwloc_obj_t));
    for (size_t i = 0; scan.objects != NULL && i < sizeof order / sizeof order[0]; i++) {
        uint32_t next = 0;
        scan.wanted = order[i];
        pci_walk_machine(&scan, root, &next);
    }
    const size_t n = topo->ndevices;
    topo->paths = calloc(n * n > 0 ? n * n : 1, 1);
    if (scan.objects == NULL || topo->paths == NULL) {
        free(scan.objects);
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for a topology");
    }
    for (size_t i = 0; i < n * n; i++) {
        topo->paths[i] = (uint8_t)pci_path_between(topo, scan.objects[i / n], scan.objects[i % n]);
    }
    pci_scan_nvlinks(&scan);
    free(scan.objects);
    return WEFT_OK;
}
