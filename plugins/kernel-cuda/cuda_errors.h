/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The conversion of CUDA errors into errors of weft. */
#ifndef KERNEL_CUDA_CUDA_ERRORS_H
#define KERNEL_CUDA_CUDA_ERRORS_H

#include "cuda_instance.h"

/* Records an error of the CUDA runtime; the text names its cause and what helps. `what` says what
 * was tried. Returns ERR_RESOURCE (no memory), ERR_STATE (not possible while a graph is captured),
 * ERR_ARG (no such stream), ERR_UNSUPPORTED (refused by the device or its owner), else
 * ERR_SYSTEM. */
weft_status_t cuda_failed(const weft_kernel_t *kernel, cudaError_t error, const char *what);

#endif
