/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OS seam: NUMA nodes and the CPUs that belong to them. */
#ifndef WEFT_OS_NUMA_H
#define WEFT_OS_NUMA_H

#include "core/os/os.h"

#define WEFT_OS_NODE_NONE UINT32_MAX

/* What the system tells of its nodes and of the calling thread. */
typedef struct weft_os_numa {
    uint32_t nodes; /* 0: the system does not tell */
    uint32_t node;  /* of all CPUs in the set; WEFT_OS_NODE_NONE: of several, or not known */
} weft_os_numa_t;

/* Finds the node of the CPUs that the calling thread may use. */
weft_os_numa_t weft_os_numa_here(void);

/* The part of it that reads: from a folder like /sys/devices/system/node, for any set of CPUs. */
weft_os_numa_t weft_os_numa_of(const char *folder, const weft_os_cpu_set_t *set);

#endif
