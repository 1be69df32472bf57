/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NVLinks of this machine, as NVML tells them. */
#ifndef TOPO_HWLOC_NVML_H
#define TOPO_HWLOC_NVML_H

#include "hwloc_instance.h"

typedef struct hwloc_pci_gpu {
    char address[32]; /* "0000:15:00.0" */
    uint32_t index;   /* as the builder counts */
} hwloc_pci_gpu_t;

/* Adds the links between the GPUs, and from them to switches. NVML is looked for with dlopen();
 * where it is not there, or cannot be used, there are no links and no error. */
weft_status_t hwloc_nvml_add_links(const weft_host_t *host, const weft_topo_builder_t *builder,
                                   const hwloc_pci_gpu_t *gpus, uint32_t count);

#endif
