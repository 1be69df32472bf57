/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packages, NUMA nodes, cores and caches from /sys. */
#ifndef WEFT_TOPO_MACHINE_SYS_CPU_H
#define WEFT_TOPO_MACHINE_SYS_CPU_H

#include "core/topo/cpu_list.h"
#include "core/topo/machine.h"

weft_status_t weft_sys_read_cpus(weft_machine_t *machine, const char *root,
                                 const weft_cpu_list_t *usable);

#endif
