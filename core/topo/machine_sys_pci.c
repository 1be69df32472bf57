/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The PCI tree. /sys/bus/pci/devices has a link for each function, and the folder behind it names
 * the way: …/pci0000:14/0000:14:01.0/0000:15:00.0. The ways of all GPUs and NICs make a tree of
 * spots; those where ways part become branches. */
#include "core/topo/machine_sys_pci.h"

#include <stdio.h>
#include <string.h>

#include <weft/sdk/pci_class.h>

#include "core/base/error.h"
#include "core/config/number.h"
#include "core/os/os.h"
#include "core/os/os_path.h"
#include "core/topo/sys_file.h"

#define FUNCTIONS_MAX 8192u /* of all kinds, with virtual ones */
#define SPOTS_MAX 4096u
#define DEPTH_MAX 32u
#define NONE WEFT_MACHINE_NONE

/* A host bridge, a bridge, a GPU or a NIC. */
typedef struct sys_spot {
    char name[32];
    uint32_t parent; /* a spot that stands before it; NONE: a host bridge */
    uint32_t ways;   /* spots right below */
    uint32_t branch; /* NONE: no branch */
    double link;     /* bandwidth of its link, 0: not known */
    weft_pci_kind_t kind;
    int64_t
        node; /* as the system counts; of a host bridge, that of any device below; -1: not known */
    char *folder; /* of a device */
} sys_spot_t;

struct weft_sys_pci {
    weft_machine_t *machine;
    const char *root;
    sys_spot_t *spots;
    uint32_t nspots;
};

/* Links ---------------------------------------------------------------------------------------- */

/* Bytes per second that a lane carries: transfers less what the coding takes. */
static double sys_pci_lane(double transfers)
{
    return transfers / 8 * (transfers <= 5e9 ? 0.8 : transfers <= 32e9 ? 128.0 / 130 : 242.0 / 256);
}

/* Idle devices lower their speed, not their width, so the speed is what both ends can do at most.
 * The other end is a spot of its own and has its say there. */
static double sys_pci_link(const char *folder)
{
    weft_sys_path_t path;
    char text[64];
    const char *rest;
    double speed = 0;
    int64_t width = 0;
    weft_sys_path(path, "%s/max_link_speed", folder);
    if (!weft_sys_line(path, text, sizeof text) ||
        weft_number_real(text, &speed, &rest) != WEFT_NUMBER_OK || !(speed > 0 && speed <= 1024) ||
        !weft_sys_number(weft_sys_path(path, "%s/current_link_width", folder), &width) ||
        width < 1 || width > 32) {
        return 0;
    }
    return (double)width * sys_pci_lane(speed * 1e9);
}

static double sys_pci_least(double a, double b)
{
    return a > 0 && (b == 0 || a < b) ? a : b;
}

/* Spots ---------------------------------------------------------------------------------------- */

static bool sys_pci_is_host_bridge(const char *name, size_t length)
{
    unsigned domain, bus;
    int end = 0;
    return sscanf(name, "pci%x:%x%n", &domain, &bus, &end) == 2 && (size_t)end == length;
}

static bool sys_pci_is_function(const char *name, size_t length)
{
    unsigned domain, bus, device, function;
    int end = 0;
    return sscanf(name, "%x:%x:%x.%x%n", &domain, &bus, &device, &function, &end) == 4 &&
           (size_t)end == length;
}

static uint32_t sys_pci_find_spot(const weft_sys_pci_t *pci, uint32_t parent, const char *name)
{
    for (uint32_t i = 0; i < pci->nspots; i++) {
        if (pci->spots[i].parent == parent && strcmp(pci->spots[i].name, name) == 0) {
            return i;
        }
    }
    return NONE;
}

/* `folder` ends behind the spot's name. NONE: there are too many. */
static uint32_t sys_pci_add_spot(weft_sys_pci_t *pci, uint32_t parent, const char *name,
                                 const char *folder)
{
    uint32_t at = sys_pci_find_spot(pci, parent, name);
    if (at != NONE || pci->nspots == SPOTS_MAX) {
        return at;
    }
    sys_spot_t *spot = &pci->spots[pci->nspots];
    *spot = (sys_spot_t){.parent = parent, .branch = NONE, .node = -1};
    snprintf(spot->name, sizeof spot->name, "%s", name);
    spot->link = parent != NONE ? sys_pci_link(folder) : 0;
    if (parent != NONE) {
        pci->spots[parent].ways++;
    }
    return pci->nspots++;
}

/* Adds the spots of a way and returns the last. NONE: the folder is no way of PCI, or is too deep,
 * or there are too many. */
static uint32_t sys_pci_add_way(weft_sys_pci_t *pci, const char *folder)
{
    char part[WEFT_OS_PATH_MAX], name[32];
    uint32_t spot = NONE, depth = 0;
    for (const char *at = folder; *at != '\0' && depth < DEPTH_MAX;) {
        at += strspn(at, "/");
        const size_t length = strcspn(at, "/");
        const bool host = sys_pci_is_host_bridge(at, length);
        if (length < sizeof name && (host || (spot != NONE && sys_pci_is_function(at, length)))) {
            snprintf(name, sizeof name, "%.*s", (int)length, at);
            snprintf(part, sizeof part, "%.*s", (int)(at + length - folder), folder);
            spot = sys_pci_add_spot(pci, host ? NONE : spot, name, part);
            depth++;
            if (spot == NONE) {
                return NONE;
            }
        }
        at += length;
    }
    return depth > 1 && depth < DEPTH_MAX ? spot : NONE;
}

/* Functions ------------------------------------------------------------------------------------ */

static uint32_t sys_pci_hexadecimal(const char *folder, const char *file)
{
    weft_sys_path_t path;
    int64_t number = 0;
    return weft_sys_number(weft_sys_path(path, "%s/%s", folder, file), &number) ? (uint32_t)number
                                                                                : 0;
}

static weft_status_t sys_pci_take(weft_sys_pci_t *pci, const char *name)
{
    weft_sys_path_t path;
    char folder[WEFT_OS_PATH_MAX];
    weft_sys_path(path, "%s/sys/bus/pci/devices/%s", pci->root, name);
    const weft_pci_kind_t kind =
        weft_pci_kind(sys_pci_hexadecimal(path, "class") >> 8, sys_pci_hexadecimal(path, "vendor"));
    if (kind == WEFT_PCI_OTHER || !weft_os_resolve(path, folder)) {
        return WEFT_OK;
    }
    uint32_t at = sys_pci_add_way(pci, folder);
    if (at == NONE || pci->spots[at].kind != WEFT_PCI_OTHER) {
        return WEFT_OK;
    }
    sys_spot_t *spot = &pci->spots[at];
    spot->kind = kind;
    if (!weft_sys_number(weft_sys_path(path, "%s/numa_node", folder), &spot->node)) {
        spot->node = -1;
    }
    spot->folder = weft_os_alloc(strlen(folder) + 1, 0);
    if (spot->folder == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for a topology");
    }
    strcpy(spot->folder, folder);
    return WEFT_OK;
}

static weft_status_t sys_pci_take_all(weft_sys_pci_t *pci)
{
    weft_sys_path_t path;
    weft_status_t status = WEFT_OK;
    weft_sys_name_t *names = weft_os_alloc(FUNCTIONS_MAX * sizeof *names, 0);
    if (names == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for a topology");
    }
    uint32_t count = weft_sys_names(weft_sys_path(path, "%s/sys/bus/pci/devices", pci->root), names,
                                    FUNCTIONS_MAX);
    for (uint32_t i = 0; i < count && status == WEFT_OK; i++) {
        status = sys_pci_take(pci, names[i]);
    }
    weft_os_free(names);
    return status;
}

/* Branches and devices ------------------------------------------------------------------------- */

static uint32_t sys_pci_top(const weft_sys_pci_t *pci, uint32_t at)
{
    while (pci->spots[at].parent != NONE) {
        at = pci->spots[at].parent;
    }
    return at;
}

/* Index of the NUMA node of all that is below one host bridge. */
static uint32_t sys_pci_node(const weft_sys_pci_t *pci, uint32_t at)
{
    const weft_machine_t *machine = pci->machine;
    const int64_t node = pci->spots[sys_pci_top(pci, at)].node;
    if (machine->nnodes == 1) {
        return 0;
    }
    for (uint32_t i = 0; i < machine->nnodes; i++) {
        if (machine->nodes[i].index == node) {
            return i;
        }
    }
    return NONE;
}

/* A stretch from a spot up to the next branch. */
typedef struct sys_stretch {
    uint32_t branch, bridges;
    double bandwidth;
} sys_stretch_t;

static sys_stretch_t sys_pci_stretch(const weft_sys_pci_t *pci, uint32_t at)
{
    sys_stretch_t way = {.bandwidth = pci->spots[at].link};
    for (at = pci->spots[at].parent; pci->spots[at].branch == NONE; at = pci->spots[at].parent) {
        way.bandwidth = sys_pci_least(way.bandwidth, pci->spots[at].link);
        way.bridges++;
    }
    way.branch = pci->spots[at].branch;
    return way;
}

static weft_status_t sys_pci_add_branch(weft_sys_pci_t *pci, uint32_t at)
{
    sys_spot_t *spot = &pci->spots[at];
    weft_machine_branch_t branch = {.parent = NONE, .node = sys_pci_node(pci, at)};
    if (spot->parent == NONE) {
        snprintf(branch.name, sizeof branch.name, "host bridge %.16s", spot->name + 3);
    } else {
        const sys_stretch_t way = sys_pci_stretch(pci, at);
        branch.parent = way.branch;
        branch.bridges = way.bridges;
        branch.bandwidth = way.bandwidth;
        snprintf(branch.name, sizeof branch.name, "bridge %.24s", spot->name);
    }
    spot->branch = pci->machine->nbranches;
    return weft_machine_add_branch(pci->machine, &branch);
}

static weft_status_t sys_pci_add_branches(weft_sys_pci_t *pci)
{
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; i < pci->nspots; i++) {
        sys_spot_t *top = &pci->spots[sys_pci_top(pci, i)];
        top->node = top->node < 0 ? pci->spots[i].node : top->node;
    }
    for (uint32_t i = 0; i < pci->nspots && status == WEFT_OK; i++) {
        const sys_spot_t *spot = &pci->spots[i];
        if (spot->kind == WEFT_PCI_OTHER && (spot->parent == NONE || spot->ways > 1)) {
            status = sys_pci_add_branch(pci, i);
        }
    }
    return status;
}

/* The driver of NVIDIA knows the name; else numbers have to do. */
static void sys_pci_name_model(const weft_sys_pci_t *pci, const sys_spot_t *spot, char model[128])
{
    weft_sys_path_t path;
    weft_sys_path(path, "%s/proc/driver/nvidia/gpus/%s/information", pci->root, spot->name);
    if (!weft_sys_entry(path, "Model", model, 128)) {
        snprintf(model, 128, "%04x:%04x", sys_pci_hexadecimal(spot->folder, "vendor"),
                 sys_pci_hexadecimal(spot->folder, "device"));
    }
}

static void sys_pci_describe(const weft_sys_pci_t *pci, uint32_t at, weft_machine_device_t *device)
{
    const sys_spot_t *spot = &pci->spots[at];
    const sys_stretch_t way = sys_pci_stretch(pci, at);
    *device = (weft_machine_device_t){
        .kind = spot->kind == WEFT_PCI_GPU ? WEFT_DEVICE_GPU : WEFT_DEVICE_NIC,
        .branch = way.branch,
        .node = sys_pci_node(pci, at),
        .rail = NONE,
        .bridges = way.bridges,
        .pci = way.bandwidth,
    };
    snprintf(device->address, sizeof device->address, "%s", spot->name);
    sys_pci_name_model(pci, spot, device->model);
}

static weft_status_t sys_pci_add_gpus(weft_sys_pci_t *pci)
{
    weft_machine_device_t device;
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; i < pci->nspots && status == WEFT_OK; i++) {
        if (pci->spots[i].kind == WEFT_PCI_GPU) {
            sys_pci_describe(pci, i, &device);
            status = weft_machine_add_device(pci->machine, &device);
        }
    }
    return status;
}

bool weft_sys_pci_find_nic(const weft_sys_pci_t *pci, const char *folder,
                           weft_machine_device_t *device_p)
{
    for (uint32_t i = 0; i < pci->nspots; i++) {
        const sys_spot_t *spot = &pci->spots[i];
        const size_t length = spot->folder != NULL ? strlen(spot->folder) : 0;
        if (spot->kind == WEFT_PCI_NIC && strncmp(spot->folder, folder, length) == 0 &&
            folder[length] == '/') {
            sys_pci_describe(pci, i, device_p);
            return true;
        }
    }
    return false;
}

weft_status_t weft_sys_pci_open(weft_machine_t *machine, const char *root, weft_sys_pci_t **pci_p)
{
    weft_sys_pci_t *pci = weft_os_alloc(sizeof *pci, 0);
    sys_spot_t *spots = weft_os_alloc(SPOTS_MAX * sizeof *spots, 0);
    if (pci == NULL || spots == NULL) {
        weft_os_free(pci);
        weft_os_free(spots);
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for a topology");
    }
    *pci = (weft_sys_pci_t){.machine = machine, .root = root, .spots = spots};
    weft_status_t status = sys_pci_take_all(pci);
    status = status == WEFT_OK ? sys_pci_add_branches(pci) : status;
    status = status == WEFT_OK ? sys_pci_add_gpus(pci) : status;
    if (status != WEFT_OK) {
        weft_sys_pci_close(pci);
        return status;
    }
    *pci_p = pci;
    return WEFT_OK;
}

void weft_sys_pci_close(weft_sys_pci_t *pci)
{
    for (uint32_t i = 0; pci != NULL && i < pci->nspots; i++) {
        weft_os_free(pci->spots[i].folder);
    }
    if (pci != NULL) {
        weft_os_free(pci->spots);
    }
    weft_os_free(pci);
}
