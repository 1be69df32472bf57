/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Functions that the runtime does not have. The driver's library is never linked to: it is not everywhere. */
#ifndef KERNEL_CUDA_DRIVER_H
#define KERNEL_CUDA_DRIVER_H

/* The function as it was in that version of CUDA (12000 for 12.0); NULL: the driver is older. */
void *cuda_driver_function(const char *name, unsigned version);

#endif
