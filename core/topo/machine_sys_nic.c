/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ports of NICs: RDMA devices first, then network interfaces, which join the port of an RDMA device
 * where they are the same. */
#include "core/topo/machine_sys_nic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/config/number.h"
#include "core/os/os.h"
#include "core/os/os_path.h"
#include "core/topo/sys_file.h"

#define NAMES_MAX 1024u
#define PORTS_MAX 16u

typedef struct sys_nic {
    weft_machine_t *machine;
    const char *root;
    const weft_sys_pci_t *pci;
    uint32_t left_out;
    /* Of each device of the machine: the port of its hardware, from 1; 0: any. */
    uint32_t port[WEFT_MACHINE_DEVICES_MAX];
} sys_nic_t;

/* Adds a NIC, unless the machine is full. */
static weft_status_t sys_nic_add(sys_nic_t *sys, const weft_machine_device_t *device, uint32_t port)
{
    if (sys->machine->ndevices == WEFT_MACHINE_DEVICES_MAX) {
        sys->left_out++;
        return WEFT_OK;
    }
    sys->port[sys->machine->ndevices] = port;
    return weft_machine_add_device(sys->machine, device);
}

static void sys_nic_add_name(weft_machine_device_t *device, const char *name)
{
    const size_t used = strlen(device->system), room = sizeof device->system - used;
    if (strlen(name) + 2 <= room) {
        snprintf(device->system + used, room, "%s%s", used > 0 ? " " : "", name);
    }
}

/* What has no PCI function of its own: a device of a hypervisor's bus, a way out of a container. */
static weft_machine_device_t sys_nic_elsewhere(const sys_nic_t *sys, const char *model)
{
    weft_machine_device_t device = {.kind = WEFT_DEVICE_NIC,
                                    .branch = WEFT_MACHINE_NONE,
                                    .node = sys->machine->nnodes == 1 ? 0 : WEFT_MACHINE_NONE,
                                    .rail = WEFT_MACHINE_NONE};
    snprintf(device.model, sizeof device.model, "%s", model);
    return device;
}

/* RDMA devices --------------------------------------------------------------------------------- */

/* "400 Gb/sec (4X NDR)" in bytes per second. */
static double sys_nic_rate(const char *folder, uint32_t port)
{
    weft_sys_path_t path;
    char text[64];
    const char *end;
    double rate = 0;
    weft_sys_path(path, "%s/ports/%u/rate", folder, port);
    if (!weft_sys_line(path, text, sizeof text) ||
        weft_number_real(text, &rate, &end) != WEFT_NUMBER_OK) {
        return 0;
    }
    return strncmp(end, " Gb/sec", 7) == 0 && rate > 0 && rate < 1e6 ? rate * 1e9 / 8 : 0;
}

static weft_status_t sys_nic_take_rdma(sys_nic_t *sys, const char *name)
{
    weft_sys_path_t path;
    char folder[WEFT_OS_PATH_MAX], port_name[48];
    weft_sys_name_t ports[PORTS_MAX];
    weft_machine_device_t device;
    weft_status_t status = WEFT_OK;
    weft_sys_path(path, "%s/sys/class/infiniband/%s", sys->root, name);
    /* RDMA in software has no hardware; its interface counts. */
    if (!weft_os_resolve(path, folder) || !weft_sys_pci_find_nic(sys->pci, folder, &device)) {
        return WEFT_OK;
    }
    const uint32_t count =
        weft_sys_names(weft_sys_path(path, "%s/ports", folder), ports, PORTS_MAX);
    for (uint32_t i = 0; i < count && status == WEFT_OK; i++) {
        const uint32_t port = (uint32_t)strtoul(ports[i], NULL, 10);
        snprintf(port_name, sizeof port_name, count > 1 ? "%s:%u" : "%s", name, port);
        device.system[0] = '\0';
        sys_nic_add_name(&device, port_name);
        device.speed = sys_nic_rate(folder, port);
        status = sys_nic_add(sys, &device, count > 1 ? port : 0);
    }
    return status;
}

/* Network interfaces --------------------------------------------------------------------------- */

/* An interface that is down, or that cannot tell, says -1 or nothing. */
static double sys_nic_speed(const char *folder)
{
    weft_sys_path_t path;
    int64_t megabits = 0;
    weft_sys_path(path, "%s/speed", folder);
    return weft_sys_number(path, &megabits) && megabits > 0 && megabits < 100000000
               ? (double)megabits * 1e6 / 8
               : 0;
}

static int64_t sys_nic_number(const char *folder, const char *file)
{
    weft_sys_path_t path;
    int64_t number;
    return weft_sys_number(weft_sys_path(path, "%s/%s", folder, file), &number) ? number : 0;
}

/* The device that has this port already. */
static weft_machine_device_t *sys_nic_find(const sys_nic_t *sys, const char *address, uint32_t port)
{
    for (uint32_t i = 0; i < sys->machine->ndevices; i++) {
        weft_machine_device_t *device = &sys->machine->devices[i];
        if (device->kind == WEFT_DEVICE_NIC && strcmp(device->address, address) == 0 &&
            (sys->port[i] == 0 || sys->port[i] == port)) {
            return device;
        }
    }
    return NULL;
}

static weft_status_t sys_nic_take_port(sys_nic_t *sys, const char *name, const char *folder,
                                       weft_machine_device_t *device)
{
    const uint32_t port = (uint32_t)sys_nic_number(folder, "dev_port") + 1;
    weft_machine_device_t *known = sys_nic_find(sys, device->address, port);
    if (known != NULL) {
        sys_nic_add_name(known, name);
        known->speed = known->speed > 0 ? known->speed : sys_nic_speed(folder);
        return WEFT_OK;
    }
    sys_nic_add_name(device, name);
    device->speed = sys_nic_speed(folder);
    return sys_nic_add(sys, device, port);
}

static void sys_nic_note_stacked(void *arg, const char *name)
{
    bool *stacked = arg;
    if (strncmp(name, "upper_", 6) == 0 || strncmp(name, "lower_", 6) == 0 ||
        strcmp(name, "master") == 0) {
        *stacked = true;
    }
}

/* An interface of the other namespace stands behind it: veth, as containers have. */
static bool sys_nic_is_way_out(const char *folder)
{
    bool stacked = false;
    const int64_t own = sys_nic_number(folder, "ifindex"), other = sys_nic_number(folder, "iflink");
    return own > 0 && other > 0 && own != other &&
           weft_os_folder_each(folder, sys_nic_note_stacked, &stacked) && !stacked;
}

static weft_status_t sys_nic_take_interface(sys_nic_t *sys, const char *name)
{
    weft_sys_path_t path;
    char folder[WEFT_OS_PATH_MAX];
    weft_machine_device_t device;
    weft_sys_path(path, "%s/sys/class/net/%s", sys->root, name);
    if (!weft_os_resolve(path, folder)) {
        return WEFT_OK;
    }
    if (weft_sys_pci_find_nic(sys->pci, folder, &device)) {
        return sys_nic_take_port(sys, name, folder, &device);
    }
    const bool hardware = weft_os_file(weft_sys_path(path, "%s/device", folder)).exists;
    if (!hardware && !sys_nic_is_way_out(folder)) {
        return WEFT_OK;
    }
    device = sys_nic_elsewhere(sys, hardware ? "not on PCI" : "virtual");
    device.speed = hardware ? sys_nic_speed(folder) : 0;
    sys_nic_add_name(&device, name);
    return sys_nic_add(sys, &device, 0);
}

static weft_status_t sys_nic_take_each(sys_nic_t *sys, const char *folder,
                                       weft_status_t (*take)(sys_nic_t *sys, const char *name))
{
    weft_sys_path_t path;
    weft_status_t status = WEFT_OK;
    weft_sys_name_t *names = weft_os_alloc(NAMES_MAX * sizeof *names, 0);
    if (names == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for a topology");
    }
    uint32_t count =
        weft_sys_names(weft_sys_path(path, "%s/%s", sys->root, folder), names, NAMES_MAX);
    for (uint32_t i = 0; i < count && status == WEFT_OK; i++) {
        status = take(sys, names[i]);
    }
    weft_os_free(names);
    return status;
}

weft_status_t weft_sys_read_nics(weft_machine_t *machine, const char *root,
                                 const weft_sys_pci_t *pci)
{
    sys_nic_t sys = {.machine = machine, .root = root, .pci = pci};
    weft_status_t status = sys_nic_take_each(&sys, "sys/class/infiniband", sys_nic_take_rdma);
    status = status == WEFT_OK ? sys_nic_take_each(&sys, "sys/class/net", sys_nic_take_interface)
                               : status;
    if (status == WEFT_OK && sys.left_out > 0) {
        weft_log(WEFT_LOG_WARN, "topo", "this machine has %u NICs more than a description holds",
                 sys.left_out);
    }
    return status;
}
