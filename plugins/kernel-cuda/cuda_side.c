/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See cuda_side.h. */
#include "cuda_side.h"

#include <sched.h>
#include <stdlib.h>

#include "cuda_errors.h"

/* Of the process: combinations do not know their instance. */
static struct {
    pthread_mutex_t lock; /* never held while the driver is called */
    cuda_side_t *idle;
    uint32_t instances, made;
} sides = {.lock = PTHREAD_MUTEX_INITIALIZER};

cudaError_t cuda_stream_urgent(cudaStream_t *stream)
{
    int least = 0, greatest = 0;
    cudaError_t error = cudaDeviceGetStreamPriorityRange(&least, &greatest);
    return error == cudaSuccess
               ? cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, greatest)
               : error;
}

void cuda_side_open(void)
{
    pthread_mutex_lock(&sides.lock);
    sides.instances++;
    pthread_mutex_unlock(&sides.lock);
}

static void cuda_side_free(cuda_side_t *side)
{
    cudaError_t error = cudaStreamDestroy(side->stream);
    (void)error;
    free(side);
    pthread_mutex_lock(&sides.lock);
    sides.made--;
    pthread_mutex_unlock(&sides.lock);
}

void cuda_side_close(void)
{
    cuda_side_t *left = NULL;
    pthread_mutex_lock(&sides.lock);
    if (--sides.instances == 0) {
        left = sides.idle;
        sides.idle = NULL;
    }
    pthread_mutex_unlock(&sides.lock);
    while (left != NULL) {
        cuda_side_t *gone = left;
        left = gone->next;
        cuda_side_free(gone);
    }
}

static cuda_side_t *cuda_side_idle(int device)
{
    pthread_mutex_lock(&sides.lock);
    cuda_side_t **at = &sides.idle;
    while (*at != NULL && (*at)->device != device) {
        at = &(*at)->next;
    }
    cuda_side_t *idle = *at;
    if (idle != NULL) {
        *at = idle->next;
    }
    pthread_mutex_unlock(&sides.lock);
    return idle;
}

static cudaError_t cuda_side_make(int device, cuda_side_t **side_p)
{
    cuda_side_t *made = malloc(sizeof *made); /* it may outlive the instance and its host */
    if (made == NULL) {
        return cudaErrorMemoryAllocation;
    }
    *made = (cuda_side_t){.device = device};
    cudaError_t error = cuda_stream_urgent(&made->stream);
    if (error != cudaSuccess) {
        free(made);
        return error;
    }
    pthread_mutex_lock(&sides.lock);
    sides.made++;
    pthread_mutex_unlock(&sides.lock);
    *side_p = made;
    return cudaSuccess;
}

cudaError_t cuda_side_prepare(int device)
{
    cuda_side_t *side = NULL;
    pthread_mutex_lock(&sides.lock);
    const bool enough = sides.made >= sides.instances;
    pthread_mutex_unlock(&sides.lock);
    cudaError_t error = enough ? cudaSuccess : cuda_side_make(device, &side);
    cuda_side_put(side);
    return error;
}

cudaError_t cuda_side_take(int device, cuda_side_t **side_p)
{
    *side_p = cuda_side_idle(device);
    return *side_p != NULL ? cudaSuccess : cuda_side_make(device, side_p);
}

void cuda_side_put(cuda_side_t *side)
{
    if (side != NULL) {
        pthread_mutex_lock(&sides.lock);
        side->next = sides.idle;
        sides.idle = side;
        pthread_mutex_unlock(&sides.lock);
    }
}

weft_status_t cuda_side_settle(const weft_kernel_t *kernel, cuda_side_t *side, cudaError_t error,
                               const char *what)
{
    const weft_host_t *host = kernel->host;
    const uint64_t begin = host->clock_ns(host);
    error = error == cudaSuccess ? cudaStreamQuery(side->stream) : error;
    while (error == cudaErrorNotReady && host->clock_ns(host) - begin < CUDA_SIDE_LATE_NS) {
        sched_yield();
        error = cudaStreamQuery(side->stream);
    }
    if (error == cudaErrorNotReady) {
        cuda_side_free(side); /* the driver ends its work first */
        return host->set_error(
            host, WEFT_ERR_TIMEOUT, 0,
            "%s on CUDA device %d is not done after %u s: a kernel that waits may be in front of "
            "it in its hardware queue; set CUDA_DEVICE_MAX_CONNECTIONS=32 before CUDA starts",
            what, kernel->device, (unsigned)(CUDA_SIDE_LATE_NS / 1000000000));
    }
    cuda_side_put(side);
    return error == cudaSuccess ? WEFT_OK : cuda_failed(kernel, error, what);
}
