/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See cuda_segments.h. The functions are the driver's, asked for by name; the kernel's device is current. */
#include "cuda_segments.h"

#include <cuda.h>
#include <string.h>
#include <unistd.h>

#include "cuda_driver.h"

#define PRIVATE                                                                                    \
    "it was made for one process; cuMemCreate() with CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR in " \
    "requestedHandleTypes makes it for others"

typedef struct vmm_driver {
    CUresult (*retain)(CUmemGenericAllocationHandle *handle, void *at);
    CUresult (*release)(CUmemGenericAllocationHandle handle);
    CUresult (*range)(CUdeviceptr *base, size_t *bytes, CUdeviceptr at);
    CUresult (*props)(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle);
    CUresult (*give)(void *fd, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                     unsigned long long flags);
    CUresult (*take)(CUmemGenericAllocationHandle *handle, void *fd,
                     CUmemAllocationHandleType type);
    CUresult (*reserve)(CUdeviceptr *at, size_t bytes, size_t alignment, CUdeviceptr wish,
                        unsigned long long flags);
    CUresult (*unreserve)(CUdeviceptr at, size_t bytes);
    CUresult (*map)(CUdeviceptr at, size_t bytes, size_t offset,
                    CUmemGenericAllocationHandle handle, unsigned long long flags);
    CUresult (*unmap)(CUdeviceptr at, size_t bytes);
    CUresult (*access)(CUdeviceptr at, size_t bytes, const CUmemAccessDesc *who, size_t n);
} vmm_driver_t;

/* Puts the function into the pointer; ISO C has no cast between them. */
static bool vmm_find(const char *name, unsigned version, void *pointer)
{
    void *function = cuda_driver_function(name, version);
    memcpy(pointer, &function, sizeof function);
    return function != NULL;
}

/* Version 2 of the range, with sizes of 64 bits; the driver gives the one for the version asked for. */
static bool vmm_driver_find(vmm_driver_t *vmm)
{
    return vmm_find("cuMemRetainAllocationHandle", 11000, &vmm->retain) &&
           vmm_find("cuMemRelease", 10020, &vmm->release) &&
           vmm_find("cuMemGetAddressRange", 3020, &vmm->range) &&
           vmm_find("cuMemGetAllocationPropertiesFromHandle", 10020, &vmm->props) &&
           vmm_find("cuMemExportToShareableHandle", 10020, &vmm->give) &&
           vmm_find("cuMemImportFromShareableHandle", 10020, &vmm->take) &&
           vmm_find("cuMemAddressReserve", 10020, &vmm->reserve) &&
           vmm_find("cuMemAddressFree", 10020, &vmm->unreserve) &&
           vmm_find("cuMemMap", 10020, &vmm->map) && vmm_find("cuMemUnmap", 10020, &vmm->unmap) &&
           vmm_find("cuMemSetAccess", 10020, &vmm->access);
}

bool cuda_segments_have(const void *memory)
{
    vmm_driver_t vmm;
    CUmemGenericAllocationHandle handle = 0;
    const bool have =
        vmm_driver_find(&vmm) && vmm.retain(&handle, (void *)(uintptr_t)memory) == CUDA_SUCCESS;
    if (have) {
        vmm.release(handle);
    }
    return have;
}

void cuda_segments_close(cuda_segments_t *segments)
{
    for (uint32_t i = 0; i < segments->n; i++) {
        close(segments->fd[i]);
    }
    segments->n = 0;
}

/* NULL, or what is wrong with the segment. */
static const char *segments_open_one(const vmm_driver_t *vmm, int device,
                                     CUmemGenericAllocationHandle handle, int *fd_p)
{
    CUmemAllocationProp prop;
    memset(&prop, 0, sizeof prop);
    if (vmm->props(&prop, handle) != CUDA_SUCCESS ||
        prop.location.type != CU_MEM_LOCATION_TYPE_DEVICE || prop.location.id != device) {
        return "part of it is not of this device";
    }
    if ((prop.requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == 0) {
        return PRIVATE;
    }
    return vmm->give(fd_p, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) == CUDA_SUCCESS
               ? NULL
               : "the driver gives no descriptor of it";
}

/* Adds the segment with that address, which is the next one; moves the address behind it. */
static const char *segments_add(const vmm_driver_t *vmm, int device, CUdeviceptr *at,
                                cuda_segments_t *segments)
{
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr base = 0;
    size_t all = 0;
    if (segments->n == CUDA_SEGMENTS_MOST) {
        return "it is made of too many segments";
    }
    if (vmm->range(&base, &all, *at) != CUDA_SUCCESS ||
        vmm->retain(&handle, (void *)(uintptr_t)*at) != CUDA_SUCCESS) {
        return "it ends earlier";
    }
    const char *why = segments_open_one(vmm, device, handle, &segments->fd[segments->n]);
    vmm->release(handle);
    if (why == NULL) {
        segments->offset = segments->n == 0 ? *at - base : segments->offset;
        segments->bytes[segments->n++] = all;
        *at = base + all;
    }
    return why;
}

bool cuda_segments_open(const weft_kernel_t *kernel, const void *memory, uint64_t bytes,
                        cuda_segments_t *segments, const char **why_p)
{
    vmm_driver_t vmm;
    CUdeviceptr at = (uintptr_t)memory;
    const CUdeviceptr end = at + bytes;
    const char *why = vmm_driver_find(&vmm) ? NULL : "the driver has no functions for it";
    segments->n = 0;
    while (why == NULL && at < end) {
        why = segments_add(&vmm, kernel->device, &at, segments);
    }
    if (why != NULL) {
        cuda_segments_close(segments);
        *why_p = why;
    }
    return why == NULL;
}

/* Maps segments from `at` on. Returns the bytes that are mapped; fewer than all: the driver refused. */
static uint64_t segments_map_all(const vmm_driver_t *vmm, const cuda_segments_t *segments,
                                 CUdeviceptr at)
{
    uint64_t mapped = 0;
    for (uint32_t i = 0; i < segments->n; i++) {
        CUmemGenericAllocationHandle handle = 0;
        if (vmm->take(&handle, (void *)(intptr_t)segments->fd[i],
                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != CUDA_SUCCESS) {
            break;
        }
        const CUresult result = vmm->map(at + mapped, segments->bytes[i], 0, handle, 0);
        vmm->release(handle); /* the mapping keeps it */
        if (result != CUDA_SUCCESS) {
            break;
        }
        mapped += segments->bytes[i];
    }
    return mapped;
}

static uint64_t segments_bytes(const cuda_segments_t *segments)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < segments->n; i++) {
        all += segments->bytes[i];
    }
    return all;
}

static bool segments_map(const vmm_driver_t *vmm, const cuda_segments_t *segments, int device,
                         CUdeviceptr *at_p)
{
    CUmemAccessDesc mine = {.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    const uint64_t all = segments_bytes(segments);
    CUdeviceptr at = 0;
    mine.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    mine.location.id = device;
    if (all == 0 || vmm->reserve(&at, all, 0, 0, 0) != CUDA_SUCCESS) {
        return false;
    }
    const uint64_t mapped = segments_map_all(vmm, segments, at);
    if (mapped == all && vmm->access(at, all, &mine, 1) == CUDA_SUCCESS) {
        *at_p = at;
        return true;
    }
    if (mapped > 0) {
        vmm->unmap(at, mapped);
    }
    vmm->unreserve(at, all);
    return false;
}

bool cuda_segments_map(const weft_kernel_t *kernel, cuda_segments_t *segments, void **base_p,
                       uint64_t *bytes_p)
{
    vmm_driver_t vmm;
    CUdeviceptr at = 0;
    const uint64_t all = segments_bytes(segments);
    const bool mapped = vmm_driver_find(&vmm) && segments_map(&vmm, segments, kernel->device, &at);
    cuda_segments_close(segments);
    if (mapped) {
        *base_p = (void *)(uintptr_t)at;
        *bytes_p = all;
    }
    return mapped;
}

cudaError_t cuda_segments_unmap(void *base, uint64_t bytes)
{
    vmm_driver_t vmm;
    return vmm_driver_find(&vmm) && vmm.unmap((uintptr_t)base, bytes) == CUDA_SUCCESS &&
                   vmm.unreserve((uintptr_t)base, bytes) == CUDA_SUCCESS
               ? cudaSuccess
               : cudaErrorUnknown;
}
