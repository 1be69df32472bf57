/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ports of NICs from /sys/class/infiniband and /sys/class/net. */
#ifndef WEFT_TOPO_MACHINE_SYS_NIC_H
#define WEFT_TOPO_MACHINE_SYS_NIC_H

#include "core/topo/machine_sys_pci.h"

/* Adds a NIC for each port of hardware, and for each way out of a container: an interface whose
 * other end lies in another network namespace. Interfaces that are made of others are none, nor are
 * PCI functions without an interface. More than a machine can have are left out with a warning. */
weft_status_t weft_sys_read_nics(weft_machine_t *machine, const char *root,
                                 const weft_sys_pci_t *pci);

#endif
