/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Side streams: what the host copies and computes on a device, often while a stream of the
 * application waits for it. Whoever takes one has it alone, so nobody else's work is waited for.
 * They have the highest priority: cudaStreamPerThread shares the hardware queues of the
 * application's streams, and may stand behind the one that waits. */
#ifndef KERNEL_CUDA_CUDA_SIDE_H
#define KERNEL_CUDA_CUDA_SIDE_H

#include <stdbool.h>

#include "cuda_instance.h"

/* Makes a stream of the highest priority for the plugin's own work: the device keeps it apart from
 * streams of the application, whose kernels may wait for what it does. */
cudaError_t cuda_stream_urgent(cudaStream_t *stream);

/* Around the life of an instance. Side streams of a device without instances are destroyed when one
 * ends. */
void cuda_side_open(cuda_side_user_t *user, int device);
void cuda_side_close(cuda_side_user_t *user, const cuda_context_driver_t *driver);

/* The device of some instance of the process, which has a context there; 0: there is none. */
int cuda_side_some_device(void);

#define CUDA_SIDE_ROOM UINT64_C(65536)

typedef struct cuda_side {
    struct cuda_side *next; /* of all */
    int device;
    bool taken;
    bool late; /* its work was not done in time: it is nobody's until that has ended */
    cudaStream_t stream;
    uint8_t *room; /* CUDA_SIDE_ROOM bytes, page-locked; also its own while it is late */
} cuda_side_t;

/* Makes as many for the device, which is current, as it has instances, and two at least: one for
 * the thread of the communicator, and one for the application's. Beside a stream that waits the
 * driver may not make streams, nor page-lock memory. */
cudaError_t cuda_side_prepare(int device);

#define CUDA_SIDE_LATE_NS UINT64_C(10000000000)

/* Takes a side stream of the device, which is current. Waits for one where all are in use, at most
 * CUDA_SIDE_LATE_NS of the host's clock, NULL: the machine's; then returns cudaErrorNotReady. Makes
 * the first one of a device. */
cudaError_t cuda_side_take(int device, const weft_host_t *host, cuda_side_t **side_p);

/* Gives it back; all its work has ended. NULL is allowed. */
void cuda_side_put(cuda_side_t *side);

/* Waits for all work of a stream of the plugin, at most CUDA_SIDE_LATE_NS of that clock. Returns
 * cudaErrorNotReady if it is late: in front of it in its hardware queue may be a kernel that
 * waits. */
cudaError_t cuda_stream_settle(cudaStream_t stream, const weft_host_t *host);

/* Gives it back after its work ended with `error`, which cuda_stream_settle() returned, or what put
 * the work there. The work of one that is late goes on, without anybody. NULL is allowed. */
void cuda_side_end(cuda_side_t *side, cudaError_t error);

/* Records that error; `what` says what the work was. Under cuda_guard_enter(). Returns ERR_TIMEOUT
 * if it is late, else as cuda_failed(). */
weft_status_t cuda_side_failed(const weft_kernel_t *kernel, cudaError_t error, const char *what);

/* Waits and ends, after work was put there with `error`. Returns as cuda_side_failed(), or OK. */
weft_status_t cuda_side_settle(const weft_kernel_t *kernel, cuda_side_t *side, cudaError_t error,
                               const char *what);

#endif
