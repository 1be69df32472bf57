/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See cuda_paths.h. The kernel's device is current in all of it. A try is made by a kernel, as copy
 * engines may take another path than the loads and stores of kernels. */
#include "cuda_paths.h"

#include <string.h>
#include <time.h>

#include "cuda_errors.h"
#include "cuda_memory.h"
#include "cuda_pool.h"
#include "cuda_side.h"
#include "launch.h"

#define MARK_BYTES (CUDA_PATHS_TRIED / 2)
#define WORDS (MARK_BYTES / sizeof(uint64_t))
#define PATIENCE_NS 2000000000u
#define REMEDY                                                                                     \
    "access control of the PCI bus (ACS) or an IOMMU leads it elsewhere; switch that off, or set " \
    "kernel-cuda.share = no"

static void cuda_paths_fill(uint64_t words[WORDS], uint64_t mark)
{
    for (uint32_t i = 0; i < WORDS; i++) {
        words[i] = mark + i * UINT64_C(0x9e3779b97f4a7c15);
    }
}

weft_status_t cuda_paths_mark(weft_kernel_t *kernel, void *memory, uint64_t *mark_p)
{
    uint64_t words[WORDS], mark = 0;
    weft_status_t status = kernel->host->random(kernel->host, &mark, sizeof mark);
    if (status == WEFT_OK) {
        cuda_paths_fill(words, mark);
        status = cuda_device_write(kernel, memory, words, sizeof words);
        *mark_p = mark;
    }
    return status;
}

/* Waits for what the stream has. A kernel whose loads nobody answers never ends. */
static cudaError_t cuda_paths_wait(const weft_kernel_t *kernel, cudaStream_t stream)
{
    const weft_host_t *host = kernel->host;
    const struct timespec nap = {.tv_nsec = 20000};
    const uint64_t begin = host->clock_ns(host);
    cudaError_t error = cudaStreamQuery(stream);
    while (error == cudaErrorNotReady && host->clock_ns(host) - begin < PATIENCE_NS) {
        nanosleep(&nap, NULL);
        error = cudaStreamQuery(stream);
    }
    return error;
}

static cudaError_t cuda_paths_copy(const weft_kernel_t *kernel, cudaStream_t stream, void *to,
                                   const void *from)
{
    const weft_combine_t copy = {
        .src = {from}, .dst = {to}, .count = WORDS, .nsrc = 1, .ndst = 1, .nranks = 1};
    cudaError_t error = cuda_launch_combine(WEFT_UINT64, WEFT_SUM, &copy, 1, stream);
    return error == cudaSuccess ? cuda_paths_wait(kernel, stream) : error;
}

/* Reads, writes and reads. What was read must be the mark: a path that leads elsewhere may well
 * give back what was written over it. */
static cudaError_t cuda_paths_go(const weft_kernel_t *kernel, cudaStream_t stream, uint8_t *there,
                                 uint64_t mark, uint64_t *here, bool *arrives_p)
{
    uint64_t expected[WORDS];
    cuda_paths_fill(expected, mark);
    memset(here, 0, MARK_BYTES);
    cudaError_t error = cuda_paths_copy(kernel, stream, here, there);
    bool arrives = error == cudaSuccess && memcmp(here, expected, MARK_BYTES) == 0;
    if (arrives) {
        cuda_paths_fill(expected, ~mark);
        memcpy(here, expected, MARK_BYTES);
        error = cuda_paths_copy(kernel, stream, there + MARK_BYTES, here);
        memset(here, 0, MARK_BYTES);
        error = error == cudaSuccess ? cuda_paths_copy(kernel, stream, here, there + MARK_BYTES)
                                     : error;
        arrives = error == cudaSuccess && memcmp(here, expected, MARK_BYTES) == 0;
    }
    *arrives_p = arrives;
    return error;
}

static weft_status_t cuda_paths_refuse(const weft_kernel_t *kernel, const char *bus)
{
    return kernel->host->set_error(
        kernel->host, WEFT_ERR_UNSUPPORTED, 0,
        "the driver grants CUDA device %d access to the device at %.16s, but what it reads and "
        "writes there does not arrive: " REMEDY,
        kernel->device, bus);
}

static weft_status_t cuda_paths_try_with(weft_kernel_t *kernel, void *there, uint64_t mark,
                                         bool *arrives_p)
{
    cudaStream_t stream = NULL;
    uint64_t *here = cuda_mapped_alloc(kernel, MARK_BYTES);
    if (here == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    cudaError_t error = cuda_stream_urgent(&stream);
    if (error == cudaSuccess) {
        error = cuda_paths_go(kernel, stream, there, mark, here, arrives_p);
    }
    if (error == cudaErrorNotReady) {
        return WEFT_OK; /* the kernel may end one day: stream and block are left to it */
    }
    cuda_mapped_free(kernel, here);
    cudaError_t ended = stream != NULL ? cudaStreamDestroy(stream) : cudaSuccess;
    (void)ended;
    return error == cudaSuccess ? WEFT_OK
                                : cuda_failed(kernel, error, "trying the path to another device");
}

/* The path to that device, or NULL: it was not tried. */
static cuda_path_t *cuda_paths_find(weft_kernel_t *kernel, const char bus[CUDA_BUS_BYTES])
{
    cuda_path_t *found = NULL;
    pthread_mutex_lock(&kernel->lock);
    for (uint32_t i = 0; i < kernel->paths.n && found == NULL; i++) {
        found = memcmp(kernel->paths.path[i].bus, bus, CUDA_BUS_BYTES) == 0 ? &kernel->paths.path[i]
                                                                            : NULL;
    }
    pthread_mutex_unlock(&kernel->lock);
    return found;
}

static void cuda_paths_note(weft_kernel_t *kernel, const char bus[CUDA_BUS_BYTES], bool arrives)
{
    pthread_mutex_lock(&kernel->lock);
    if (kernel->paths.n < CUDA_PATHS_MOST) {
        cuda_path_t *path = &kernel->paths.path[kernel->paths.n++];
        memcpy(path->bus, bus, CUDA_BUS_BYTES);
        path->arrives = arrives;
    }
    pthread_mutex_unlock(&kernel->lock);
}

weft_status_t cuda_paths_check(weft_kernel_t *kernel, const char bus[CUDA_BUS_BYTES])
{
    const cuda_path_t *path = cuda_paths_find(kernel, bus);
    return path == NULL || path->arrives ? WEFT_OK : cuda_paths_refuse(kernel, bus);
}

weft_status_t cuda_paths_try(weft_kernel_t *kernel, const char bus[CUDA_BUS_BYTES], void *memory,
                             uint64_t mark)
{
    bool arrives = false;
    if (cuda_paths_find(kernel, bus) == NULL) {
        weft_status_t status = cuda_paths_try_with(kernel, memory, mark, &arrives);
        if (status != WEFT_OK) {
            return status;
        }
        cuda_paths_note(kernel, bus, arrives);
        return arrives ? WEFT_OK : cuda_paths_refuse(kernel, bus);
    }
    return cuda_paths_check(kernel, bus);
}
