/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Functions of the driver that the runtime lacks. The plugin does not link the driver's library,
 * because machines without a device do not have it. */
#ifndef KERNEL_CUDA_CUDA_DRIVER_H
#define KERNEL_CUDA_CUDA_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the function as of that CUDA version (12000 for 12.0), or NULL if the driver is older. */
void *cuda_driver_function(const char *name, unsigned version);

/* Whether launches return when their kernels have ended (CUDA_LAUNCH_BLOCKING). */
bool cuda_driver_blocks_launches(void);

/* The allocation of the driver's in which the memory is; the runtime does not tell. False: it is in
 * none, or this driver cannot tell. */
bool cuda_driver_range(const void *memory, void **base_p, uint64_t *bytes_p);

#endif
