/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The work that all instances of this process have on devices, to tell when none is there: only
 * then a call of the driver that waits for the context cannot wait for a rank. Ranks that are
 * threads share a context, and the kernel of one may wait for the rank that makes such a call. */
#ifndef KERNEL_CUDA_CUDA_FLIGHT_H
#define KERNEL_CUDA_CUDA_FLIGHT_H

#include "cuda_context.h"

/* What one queue of a communicator has put into streams. Its fields change in a launch only. */
typedef struct cuda_flight {
    struct cuda_flight *next;
    int device;
    cudaStream_t own;
    cudaEvent_t last; /* behind its last work in streams of the application … */
    bool recorded;    /* … if there was any */
    bool captured;    /* graphs have some, which may be launched at any time */
} cuda_flight_t;

/* From the first call until the second, cuda_flight_pause() knows of it. Any thread. */
void cuda_flight_add(cuda_flight_t *flight);
void cuda_flight_remove(cuda_flight_t *flight);

/* Around everything that puts kernels into streams which may wait for a rank. Threads launch beside
 * each other. Blocking: while a pause lasts. Any thread. */
void cuda_flight_launch_begin(void);
void cuda_flight_launch_end(void);

/* Keeps all threads from launching and returns true, if no kernel of the process that may wait for
 * a rank is on a device or on its way there; false: one is, or a thread is launching. Blocking:
 * while another thread has a pause. */
bool cuda_flight_pause(const cuda_context_driver_t *driver);
void cuda_flight_resume(void);

#endif
