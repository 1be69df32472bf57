/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See cuda_kept.h. */
#include "cuda_kept.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "cuda_flight.h"
#include "cuda_segments.h"

#define CUDA_KEPT_MUCH (UINT64_C(4) << 30)

typedef struct cuda_kept {
    struct cuda_kept *next;
    cuda_kept_kind_t kind;
    int device;
    void *memory;
    uint64_t bytes;
} cuda_kept_t;

/* Of the process: what an instance leaves behind outlives it (decision 76). */
static struct {
    pthread_mutex_t lock;
    cuda_kept_t *first;
    uint64_t bytes;
    bool told;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

void cuda_kept_put(int device, cuda_kept_kind_t kind, void *memory, uint64_t bytes)
{
    cuda_kept_t *entry = calloc(1, sizeof *entry); /* it may outlive the kernel and its host */
    if (entry == NULL) {
        return; /* the driver has it until the process ends */
    }
    *entry = (cuda_kept_t){.kind = kind, .device = device, .memory = memory, .bytes = bytes};
    pthread_mutex_lock(&kept.lock);
    entry->next = kept.first;
    kept.first = entry;
    kept.bytes += bytes;
    pthread_mutex_unlock(&kept.lock);
}

static bool cuda_kept_serves(const cuda_kept_t *entry, int device, cuda_kept_kind_t kind,
                             uint64_t bytes)
{
    return entry->kind == kind && entry->device == device && entry->bytes >= bytes &&
           entry->bytes / 2 <= bytes;
}

void *cuda_kept_take(int device, cuda_kept_kind_t kind, uint64_t *bytes_p)
{
    void *memory = NULL;
    pthread_mutex_lock(&kept.lock);
    cuda_kept_t **best = NULL;
    for (cuda_kept_t **at = &kept.first; *at != NULL; at = &(*at)->next) {
        if (cuda_kept_serves(*at, device, kind, *bytes_p) &&
            (best == NULL || (*at)->bytes < (*best)->bytes)) {
            best = at;
        }
    }
    cuda_kept_t *entry = best != NULL ? *best : NULL;
    if (entry != NULL) {
        *best = entry->next;
        kept.bytes -= entry->bytes;
        memory = entry->memory;
        *bytes_p = entry->bytes;
    }
    pthread_mutex_unlock(&kept.lock);
    free(entry);
    return memory;
}

static cudaError_t cuda_kept_give_back(const cuda_kept_t *entry)
{
    cudaError_t error = cudaSuccess;
    switch (entry->kind) {
    case CUDA_KEPT_DEVICE:
    case CUDA_KEPT_EXPORT:
        return cudaFree(entry->memory);
    case CUDA_KEPT_HOST:
        return cudaFreeHost(entry->memory);
    case CUDA_KEPT_IMPORT:
        return cudaIpcCloseMemHandle(entry->memory);
    case CUDA_KEPT_MAPPING:
        return cuda_segments_unmap(entry->memory, entry->bytes);
    case CUDA_KEPT_POOL:
    case CUDA_KEPT_IMPORTED_POOL:
        return cudaMemPoolDestroy(entry->memory);
    case CUDA_KEPT_ALIAS:
        error = cudaHostUnregister(entry->memory);
        if (error == cudaSuccess) {
            munmap(entry->memory, entry->bytes);
        }
        break;
    }
    return error;
}

static void cuda_kept_end_one(weft_kernel_t *kernel, cuda_kept_t *entry)
{
    cuda_context_t saved;
    cudaError_t error = cuda_context_enter(&kernel->contexts, entry->device, &saved);
    if (error == cudaSuccess) {
        error = cuda_kept_give_back(entry);
        cuda_context_leave(&saved);
    }
    if (error != cudaSuccess) {
        kernel->host->log(kernel->host, WEFT_LOG_DEBUG,
                          "the driver keeps %llu bytes at %p until the process ends: %s",
                          (unsigned long long)entry->bytes, entry->memory, cudaGetErrorName(error));
    }
    free(entry);
}

/* Returns whether there is anything; tells of much, once. */
static bool cuda_kept_look(weft_kernel_t *kernel, bool stays)
{
    pthread_mutex_lock(&kept.lock);
    const uint64_t bytes = kept.bytes;
    const bool tells = stays && bytes > CUDA_KEPT_MUCH && !kept.told;
    const bool some = kept.first != NULL;
    kept.told = kept.told || tells;
    pthread_mutex_unlock(&kept.lock);
    if (tells) {
        kernel->host->log(
            kernel->host, WEFT_LOG_WARN,
            "%llu MiB that this process does not use any more stay with the driver until no rank "
            "of it runs a plan; let its threads end their communicators at about the same time",
            (unsigned long long)(bytes >> 20));
    }
    return some;
}

static cuda_kept_t *cuda_kept_take_all(void)
{
    pthread_mutex_lock(&kept.lock);
    cuda_kept_t *all = kept.first;
    kept.first = NULL;
    kept.bytes = 0;
    pthread_mutex_unlock(&kept.lock);
    return all;
}

bool cuda_kept_end(weft_kernel_t *kernel)
{
    if (!cuda_kept_look(kernel, false)) {
        return false;
    }
    if (!cuda_flight_pause(&kernel->contexts)) {
        cuda_kept_look(kernel, true);
        return false;
    }
    cuda_kept_t *entry = cuda_kept_take_all();
    const bool some = entry != NULL;
    while (entry != NULL) {
        cuda_kept_t *next = entry->next;
        cuda_kept_end_one(kernel, entry);
        entry = next;
    }
    cuda_flight_resume();
    return some;
}
