/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The choice of the device, and the guard of calls to it: the device is current inside, and the
 * caller's choice is restored. */
#ifndef KERNEL_CUDA_CUDA_DEVICE_H
#define KERNEL_CUDA_CUDA_DEVICE_H

#include "cuda_instance.h"

/* Chooses the device and fills in its properties.
 * Errors: ERR_UNSUPPORTED (the text says what is missing and what helps), ERR_CONFIG (the option is
 * no number, or there is no such device). */
weft_status_t cuda_device_open(weft_kernel_t *kernel, const cuda_config_t *config);

/* Ends what cuda_device_open() has begun. */
void cuda_device_close(const weft_kernel_t *kernel);

/* So many ranks of the job use the device: unless the user named a number, it sets the channels so
 * that they use all of it; else it lowers that number so that all have room.
 * Errors: ERR_UNSUPPORTED (there is none). */
weft_status_t cuda_device_share(weft_kernel_t *kernel, uint32_t ranks);

/* The most blocks that a rank may have in a launch: those of all ranks that share the device, of
 * the job or of this process, whichever are more, must be resident at once, as they wait for each
 * other, and leave room for kernels that set memory or wait for the host. *sharers_p: how many they
 * are. */
uint32_t cuda_device_blocks(const weft_kernel_t *kernel, uint32_t *sharers_p);

/* Whether the device reaches all memory of the host where it lies. Where pages move to the device
 * that touches them (HMM), the host would fetch them back again: such memory counts as the host's
 * alone. */
bool cuda_device_shares_pages(int device);

/* As cuda_context_enter(), for the device of the instance. */
typedef cuda_context_t cuda_guard_t;

/* Errors: ERR_SYSTEM. */
weft_status_t cuda_guard_enter(const weft_kernel_t *kernel, cuda_guard_t *guard);
void cuda_guard_leave(const cuda_guard_t *guard);

#endif
