/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Side streams: what the host copies and computes on a device, often while a stream of the application waits for
 * it. Whoever takes one has it alone, so nobody else's work is waited for. They have the highest priority:
 * cudaStreamPerThread shares the hardware queues of the application's streams, and may stand behind the
 * one that waits. */
#ifndef KERNEL_CUDA_CUDA_SIDE_H
#define KERNEL_CUDA_CUDA_SIDE_H

#include <stdbool.h>

#include "cuda_instance.h"

/* Makes a stream of the highest priority for the plugin's own work: the device keeps it apart from
 * streams of the application, whose kernels may wait for what it does. */
cudaError_t cuda_stream_urgent(cudaStream_t *stream);

/* Around the life of an instance. Side streams are destroyed with the last one of their device. */
void cuda_side_open(cuda_side_user_t *user, int device);
void cuda_side_close(cuda_side_user_t *user);

typedef struct cuda_side {
    struct cuda_side *next; /* of all */
    int device;
    bool taken;
    cudaStream_t stream;
} cuda_side_t;

/* Makes one for the device, which is current, unless it has as many as instances: while a stream waits the driver may
 * not make streams. */
cudaError_t cuda_side_prepare(int device);

/* Takes a side stream of the device, which is current, or makes one. */
cudaError_t cuda_side_take(int device, cuda_side_t **side_p);

/* Gives it back; all its work has ended. NULL is allowed. */
void cuda_side_put(cuda_side_t *side);

/* Waits for a side stream, at most CUDA_SIDE_LATE_NS, and gives it back: in front of it in its hardware queue may be
 * a kernel that waits. The work of one that is late goes on. `error` is that of putting the work there, after which
 * `side` may be NULL, and `what` says what it is. Under cuda_guard_enter(). Errors: ERR_TIMEOUT, those of
 * cuda_failed(). */
#define CUDA_SIDE_LATE_NS UINT64_C(10000000000)
weft_status_t cuda_side_settle(const weft_kernel_t *kernel, cuda_side_t *side, cudaError_t error,
                               const char *what);

#endif
