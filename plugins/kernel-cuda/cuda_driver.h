/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Functions of the driver that the runtime lacks. The plugin does not link the driver's library,
 * because machines without a device do not have it. */
#ifndef KERNEL_CUDA_CUDA_DRIVER_H
#define KERNEL_CUDA_CUDA_DRIVER_H

#include <stdbool.h>

/* Returns the function as of that CUDA version (12000 for 12.0), or NULL if the driver is older. */
void *cuda_driver_function(const char *name, unsigned version);

/* Whether launches return when their kernels have ended (CUDA_LAUNCH_BLOCKING). */
bool cuda_driver_blocks_launches(void);

#endif
