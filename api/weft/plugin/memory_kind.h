/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kinds of memory that plugins work on. Transports say which kinds they can move, kernels which
 * kind they compute on. */
#ifndef WEFT_PLUGIN_MEMORY_KIND_H
#define WEFT_PLUGIN_MEMORY_KIND_H

#include <stdint.h>

/* Bits of a mask. */
#define WEFT_MEMORY_HOST UINT32_C(1) /* memory that the host loads and stores */
#define WEFT_MEMORY_CUDA UINT32_C(2) /* memory of a CUDA device */

#endif
