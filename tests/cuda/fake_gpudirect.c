/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of devices that adapters use: dma-bufs, which are the files of allocations, and the flush.
 * The driver's functions are asked for by name, as there is no driver to link to. */
#include <cuda.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "tests/cuda/fake.h"

static CUresult device_attribute(int *value, CUdevice_attribute which, CUdevice device)
{
    if (device < 0 || device >= fake_cuda.devices ||
        which != CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *value = !fake_cuda.no_dmabuf;
    return CUDA_SUCCESS;
}

static CUresult allocation(CUdeviceptr *base, size_t *bytes, CUdeviceptr at)
{
    uintptr_t begin = 0;
    uint64_t all = 0;
    bool found = fake_memory_range((const void *)(uintptr_t)at, &begin, &all);
    *base = begin;
    *bytes = all;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Whole allocations only; the driver takes parts too. */
static CUresult handle_for_range(void *fd_p, CUdeviceptr at, size_t bytes,
                                 CUmemRangeHandleType type, unsigned long long flags)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t offset = 0, all = 0;
    int fd = -1;
    if (fake_answer("cuMemGetHandleForAddressRange") != cudaSuccess) {
        return CUDA_ERROR_UNKNOWN;
    }
    if (type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || flags != 0 || at % page != 0 ||
        bytes % page != 0 || !fake_memory_fd((void *)(uintptr_t)at, &fd, &offset, &all) ||
        bytes > all) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    fd = dup(fd);
    memcpy(fd_p, &fd, sizeof fd);
    atomic_fetch_add(&fake_cuda.dmabufs, 1);
    return fd >= 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult context_current(CUcontext *context)
{
    *context = fake_cuda_context();
    return CUDA_SUCCESS;
}

static CUresult context_set(CUcontext context)
{
    fake_cuda_context_set(context);
    return CUDA_SUCCESS;
}

static cudaError_t entry_point(const char *name, void **function,
                               enum cudaDriverEntryPointQueryResult *found)
{
    CUresult (*ask)(int *, CUdevice_attribute, CUdevice) = device_attribute;
    CUresult (*export)(void *, CUdeviceptr, size_t, CUmemRangeHandleType, unsigned long long) =
        handle_for_range;
    CUresult (*range)(CUdeviceptr *, size_t *, CUdeviceptr) = allocation;
    CUresult (*current)(CUcontext *) = context_current;
    CUresult (*set)(CUcontext) = context_set;
    cudaError_t error = fake_answer("cudaGetDriverEntryPoint");
    *found = cudaDriverEntryPointSuccess;
    *function = NULL;
    if (strcmp(name, "cuDeviceGetAttribute") == 0) {
        memcpy(function, &ask, sizeof *function);
    } else if (strcmp(name, "cuMemGetHandleForAddressRange") == 0) {
        memcpy(function, &export, sizeof *function);
    } else if (strcmp(name, "cuMemGetAddressRange") == 0) {
        memcpy(function, &range, sizeof *function);
    } else if (strcmp(name, "cuCtxGetCurrent") == 0) {
        memcpy(function, &current, sizeof *function);
    } else if (strcmp(name, "cuCtxSetCurrent") == 0) {
        memcpy(function, &set, sizeof *function);
    } else if (!fake_vmm_function(name, function)) {
        *found = cudaDriverEntryPointSymbolNotFound;
    }
    return error;
}

#if CUDART_VERSION >= 12050
cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *found)
{
    (void)version;
    (void)flags;
    return entry_point(name, function, found);
}
#else
cudaError_t cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *found)
{
    (void)flags;
    return entry_point(name, function, found);
}
#endif

cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(enum cudaFlushGPUDirectRDMAWritesTarget target,
                                               enum cudaFlushGPUDirectRDMAWritesScope scope)
{
    if (target != cudaFlushGPUDirectRDMAWritesTargetCurrentDevice ||
        scope != cudaFlushGPUDirectRDMAWritesToOwner) {
        return cudaErrorInvalidValue;
    }
    atomic_fetch_add(&fake_cuda.flushes, 1);
    return fake_answer(__func__);
}
