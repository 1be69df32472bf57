/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Protocols of ports between two devices: how long a payload may be to travel in flagged words (NCCL: LL) or in
 * flagged lines (NCCL: LL128). Longer ones go through slots, behind fences (NCCL: Simple). The sender's
 * side chooses; each header tells. */
#ifndef KERNEL_CUDA_LANES_PROTOCOL_H
#define KERNEL_CUDA_LANES_PROTOCOL_H

#include "cuda_instance.h"
#include "device/run.h"

/* Sets how an end that sends does it. The device is current. */
void lanes_protocol_choose(weft_kernel_t *kernel, lanes_port_t *port);

#endif
