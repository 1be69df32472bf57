/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prepared programs: their memory and their release. */
#ifndef KERNEL_CUDA_LANES_HANDLE_H
#define KERNEL_CUDA_LANES_HANDLE_H

#include <weft/plugin/draft/lanes.h>

weft_status_t lanes_prepare(weft_kernel_t *kernel, const weft_lanes_program_t *program,
                            weft_lanes_handle_t **handle_p);
void lanes_release(weft_lanes_handle_t *handle);

#endif
