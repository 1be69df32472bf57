/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Paths to memory of other devices, tried before they are used: the driver grants peer access also
 * where access control of the PCI bus (ACS) or an IOMMU leads it elsewhere, as in many virtual
 * machines. */
#ifndef KERNEL_CUDA_CUDA_PATHS_H
#define KERNEL_CUDA_CUDA_PATHS_H

#include <weft/plugin/draft/ipc.h>

#include "cuda_instance.h"

#define CUDA_PATHS_TRIED WEFT_IPC_TRIED_BYTES /* of a try: the mark, and as many that are written */

/* Writes what a try expects into memory of the own device, and the number that tells it from
 * others. Errors: ERR_SYSTEM, ERR_RESOURCE. Blocking: briefly. */
weft_status_t cuda_paths_mark(weft_kernel_t *kernel, void *memory, uint64_t *mark_p);

/* Tells whether this device reaches memory of the device at that PCI address: it reads the mark
 * there, writes another one and reads that. Each path is tried once; later answers are those of the
 * first. Errors: ERR_UNSUPPORTED with the reason recorded, ERR_SYSTEM. Blocking: briefly, two
 * seconds where the path swallows the try. */
weft_status_t cuda_paths_try(weft_kernel_t *kernel, const char bus[CUDA_BUS_BYTES], void *memory,
                             uint64_t mark);

/* Refuses a path that was tried and leads elsewhere. Errors: ERR_UNSUPPORTED with the reason
 * recorded. */
weft_status_t cuda_paths_check(weft_kernel_t *kernel, const char bus[CUDA_BUS_BYTES]);

#endif
