/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of the device that other ranks of this host write to: extension
 * draft.weft.kernel.ipc/0. */
#ifndef KERNEL_CUDA_CUDA_IPC_H
#define KERNEL_CUDA_CUDA_IPC_H

#include <weft/plugin/draft/ipc.h>

#include "cuda_instance.h"

extern const weft_kernel_ipc_t cuda_ipc;

/* Frees the exports of the instance. An export that another instance of the process has imported is
 * freed with that import. */
void cuda_ipc_close(weft_kernel_t *kernel);

/* The device whose memory was exported or imported at that address, or −1: this process does not
 * see it, or nothing was. */
int cuda_ipc_device_of(const void *memory);

#endif
