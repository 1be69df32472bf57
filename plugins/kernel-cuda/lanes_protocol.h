/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Protocols of ports between two devices: how long a payload may be to travel in flagged words
 * (NCCL: LL) or in flagged lines (NCCL: LL128). Longer ones go through slots, behind fences (NCCL:
 * Simple). The program says which is worth it, by the core's figures; each header tells. */
#ifndef KERNEL_CUDA_LANES_PROTOCOL_H
#define KERNEL_CUDA_LANES_PROTOCOL_H

#include "cuda_instance.h"
#include "device/run.h"

/* Sets what an end that sends has room and a path for. The device is current. */
void lanes_protocol_choose(weft_kernel_t *kernel, lanes_port_t *port);

/* Leaves of that what is worth it for slices of the program. */
void lanes_protocol_limit(const weft_lanes_program_t *program, lanes_flagged_t *flagged);

#endif
