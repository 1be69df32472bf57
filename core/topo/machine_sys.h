/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A machine as the kernel tells it in /sys and /proc: NUMA nodes, caches, the PCI tree with GPUs
 * and NICs, speeds of ports. No library is asked; so links past PCIe are not known here. What the
 * kernel does not tell is not known, and the machine has one NUMA node at least. */
#ifndef WEFT_TOPO_MACHINE_SYS_H
#define WEFT_TOPO_MACHINE_SYS_H

#include "core/topo/cpu_list.h"
#include "core/topo/machine.h"

/* Fills the machine, which is all zero, from /sys; `usable` of its nodes are the CPUs of the
 * calling thread. ERR_ARG: a limit of machine.h is reached, ERR_RESOURCE; then nothing is left. */
weft_status_t weft_machine_read_sys(weft_machine_t *machine);

/* The same of the tree below a folder that has sys and proc, for a process on these CPUs. */
weft_status_t weft_machine_read_sys_tree(weft_machine_t *machine, const char *root,
                                         const weft_cpu_list_t *usable);

#endif
