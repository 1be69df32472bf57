/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams of the application: their device, and whether they capture. */
#ifndef KERNEL_CUDA_LANES_STREAM_H
#define KERNEL_CUDA_LANES_STREAM_H

#include "lanes_types.h"

/* A stream of the application, or the queue's own. */
typedef struct lanes_stream {
    cudaStream_t stream;
    /* Of the stream, among those of its capture or among those that do not capture; 0: the queue's
     * own, which waits for no other. */
    unsigned long long number;
    unsigned long long capture; /* id of the capture; 0: the stream does not capture */
} lanes_stream_t;

/* Looks up a stream of the application; NULL is the queue's own.
 * Errors: ERR_ARG, ERR_STATE, ERR_SYSTEM. */
weft_status_t lanes_stream_resolve(const weft_lanes_queue_t *queue, void *const *stream,
                                   lanes_stream_t *target);

/* Records an error of a call that names a stream; see cuda_failed(). */
weft_status_t lanes_stream_failed(const weft_lanes_queue_t *queue, cudaError_t error,
                                  const char *what);

weft_status_t lanes_is_capturing(weft_lanes_queue_t *queue, void *const *stream, bool *capturing_p);

#endif
