/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams, events and graphs for programs that know weft only. */
#ifndef KERNEL_CUDA_STREAMS_H
#define KERNEL_CUDA_STREAMS_H

#include <weft/plugin/stream.h>

extern const weft_kernel_stream_t cuda_streams;

#endif
