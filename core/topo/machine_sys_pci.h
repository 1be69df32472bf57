/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GPUs and NICs on PCI, and the bridges above them, from /sys/bus/pci. */
#ifndef WEFT_TOPO_MACHINE_SYS_PCI_H
#define WEFT_TOPO_MACHINE_SYS_PCI_H

#include <stdbool.h>

#include "core/topo/machine.h"

typedef struct weft_sys_pci weft_sys_pci_t;

/* Adds branches and GPUs to the machine, whose nodes are there. NICs wait for their ports: see
 * machine_sys_nic.h. */
weft_status_t weft_sys_pci_open(weft_machine_t *machine, const char *root, weft_sys_pci_t **pci_p);
void weft_sys_pci_close(weft_sys_pci_t *pci);

/* Finds the NIC that `folder`, an absolute path without links, is part of, and fills a device with
 * all but its names, speed and rail. Returns false if it is part of none. */
bool weft_sys_pci_find_nic(const weft_sys_pci_t *pci, const char *folder,
                           weft_machine_device_t *device_p);

#endif
