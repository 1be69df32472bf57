/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams, events and graphs for programs that use weft only: extension
 * draft.weft.kernel.stream/0. */
#ifndef KERNEL_CUDA_CUDA_STREAMS_H
#define KERNEL_CUDA_CUDA_STREAMS_H

#include <weft/plugin/draft/stream.h>

extern const weft_kernel_stream_t cuda_streams;

#endif
