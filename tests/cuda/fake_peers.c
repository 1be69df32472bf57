/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Devices among each other, and memory that one process opens of another. A handle names the file
 * of an allocation by the process that has it open. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cuda/fake.h"

typedef struct handle {
    int pid, fd, device;
    uint64_t offset, bytes;
} handle_t;

_Static_assert(sizeof(handle_t) <= sizeof(cudaIpcMemHandle_t), "fits");

/* Memory of other processes that is open here: once for each handle, however often it was
 * opened. */
typedef struct import {
    struct import *next;
    handle_t handle;
    void *at;
    uint32_t times;
} import_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static import_t *imports;

cudaError_t cudaDeviceGetPCIBusId(char *text, int bytes, int device)
{
    if (device < 0 || device >= fake_cuda.devices || bytes < 13) {
        return cudaErrorInvalidValue;
    }
    snprintf(text, (size_t)bytes, "0001:%02x:00.0", (unsigned)(0x3b + device));
    return fake_answer(__func__);
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *text)
{
    unsigned bus = 0;
    char rest;
    if (sscanf(text, "0001:%2x:00.%c", &bus, &rest) != 2 || rest != '0' || bus < 0x3b ||
        bus >= 0x3bu + (unsigned)fake_cuda.devices || (fake_cuda.hidden >> (bus - 0x3b) & 1) != 0) {
        return cudaErrorInvalidDevice;
    }
    *device = (int)bus - 0x3b;
    return fake_answer(__func__);
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = device != peer && !fake_cuda.no_peers;
    return fake_answer(__func__);
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    if (flags != 0 || peer == fake_device()) {
        return cudaErrorInvalidValue;
    }
    return fake_answer(__func__);
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *at)
{
    handle_t mine = {.pid = getpid()};
    struct cudaPointerAttributes where;
    if (fake_memory_pool(at) != NULL || !fake_memory_fd(at, &mine.fd, &mine.offset, &mine.bytes)) {
        return cudaErrorInvalidValue;
    }
    cudaPointerGetAttributes(&where, at);
    mine.device = where.device;
    atomic_fetch_add(&fake_cuda.handles, 1);
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &mine, sizeof mine);
    return fake_answer(__func__);
}

/* Under the lock. */
static import_t *import_open(const handle_t *handle)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", handle->pid, handle->fd);
    import_t *import = calloc(1, sizeof *import);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    import->at =
        fd >= 0 ? fake_memory_map(fd, handle->offset, handle->bytes, handle->device) : NULL;
    if (import->at == NULL) {
        free(import);
        return NULL;
    }
    import->handle = *handle;
    import->next = imports;
    imports = import;
    atomic_fetch_add(&fake_cuda.imported, 1);
    return import;
}

cudaError_t cudaIpcOpenMemHandle(void **at, cudaIpcMemHandle_t bytes, unsigned flags)
{
    handle_t handle;
    memcpy(&handle, &bytes, sizeof handle);
    cudaError_t error = fake_answer(__func__);
    if (error != cudaSuccess || flags != cudaIpcMemLazyEnablePeerAccess || handle.pid == getpid()) {
        return error == cudaSuccess ? cudaErrorInvalidResourceHandle : error;
    }
    pthread_mutex_lock(&lock);
    import_t *import = imports;
    while (import != NULL && memcmp(&import->handle, &handle, sizeof handle) != 0) {
        import = import->next;
    }
    import = import == NULL ? import_open(&handle) : import;
    if (import != NULL) {
        import->times++;
        *at = import->at;
    }
    pthread_mutex_unlock(&lock);
    return import != NULL ? cudaSuccess : cudaErrorMapBufferObjectFailed;
}

cudaError_t cudaIpcCloseMemHandle(void *at)
{
    fake_context_wait(FAKE_WAITS_FREE, __func__);
    pthread_mutex_lock(&lock);
    import_t **link = &imports, *import;
    while ((import = *link) != NULL && import->at != at) {
        link = &import->next;
    }
    const bool last = import != NULL && --import->times == 0;
    if (last) {
        *link = import->next;
        fake_memory_unmap(at);
        atomic_fetch_sub(&fake_cuda.imported, 1);
        free(import);
    }
    pthread_mutex_unlock(&lock);
    return import != NULL ? cudaSuccess : cudaErrorInvalidValue;
}
