/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See cuda_ipc_handle.h. The kernel's device is current in all of it. */
#include "cuda_ipc_handle.h"

#include <cuda.h>
#include <string.h>

#include "cuda_driver.h"
#include "cuda_errors.h"
#include "cuda_kept.h"

weft_status_t cuda_ipc_handle_refuse(const weft_kernel_t *kernel, const char *why)
{
    return kernel->host->set_error(kernel->host, WEFT_ERR_UNSUPPORTED, 0,
                                   "CUDA device %d cannot reach memory of another rank: %s",
                                   kernel->device, why);
}

/* What the driver knows -------------------------------------------------------------------------------- */

/* The runtime does not tell where an allocation begins; the driver does. */
typedef CUresult (*range_fn_t)(CUdeviceptr *base, size_t *bytes, CUdeviceptr at);
typedef CUresult (*pointer_fn_t)(void *data, CUpointer_attribute which, CUdeviceptr at);

static range_fn_t ipc_driver_range(void)
{
    void *found = cuda_driver_function("cuMemGetAddressRange", 3020);
    range_fn_t range = NULL;
    memcpy(&range, &found, sizeof range);
    return range;
}

/* The allocation of the driver's in which all of that memory is. */
static bool ipc_allocation_of(const void *memory, uint64_t bytes, void **base_p)
{
    CUdeviceptr base = 0;
    size_t all = 0;
    range_fn_t range = ipc_driver_range();
    if (range == NULL || range(&base, &all, (uintptr_t)memory) != CUDA_SUCCESS) {
        return false;
    }
    const uint64_t offset = (uintptr_t)memory - base;
    *base_p = (void *)(uintptr_t)base;
    return offset <= all && bytes <= all - offset;
}

/* A driver that cannot tell has neither memory pools nor virtual memory. */
bool cuda_ipc_handle_grants(const void *memory)
{
    void *found = cuda_driver_function("cuPointerGetAttribute", 4000);
    pointer_fn_t ask = NULL;
    int access = 0;
    memcpy(&ask, &found, sizeof ask);
    return ask == NULL ||
           ask(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, (uintptr_t)memory) != CUDA_SUCCESS ||
           access != CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
}

static bool ipc_is_of_device(const weft_kernel_t *kernel, const void *memory)
{
    struct cudaPointerAttributes where;
    return cudaPointerGetAttributes(&where, memory) == cudaSuccess &&
           where.type == cudaMemoryTypeDevice && where.device == kernel->device;
}

/* Making them ---------------------------------------------------------------------------------------- */

static void ipc_handle_private(const weft_kernel_t *kernel, const void *memory, const char *why,
                               cuda_ipc_handle_t *handle)
{
    handle->way = CUDA_IPC_PRIVATE;
    kernel->host->log(kernel->host, WEFT_LOG_INFO,
                      "other processes cannot open the memory of CUDA device %d at %p: %s",
                      kernel->device, memory, why);
}

static bool ipc_handle_fill_segments(const weft_kernel_t *kernel, const void *memory,
                                     uint64_t bytes, cuda_ipc_handle_t *handle)
{
    cuda_segments_t segments;
    const char *why = NULL;
    if (!cuda_segments_open(kernel, memory, bytes, &segments, &why)) {
        ipc_handle_private(kernel, memory, why, handle);
        return ipc_is_of_device(kernel, (const uint8_t *)memory + bytes - 1);
    }
    if (cuda_offers_add(kernel, &segments, &handle->offer) == WEFT_OK) {
        handle->way = CUDA_IPC_OFFER;
    } else {
        cuda_segments_close(&segments);
        ipc_handle_private(kernel, memory, "its descriptors cannot be offered", handle);
    }
    return true;
}

bool cuda_ipc_handle_fill(const weft_kernel_t *kernel, const void *memory, uint64_t bytes,
                          cuda_ipc_handle_t *handle)
{
    void *base = NULL;
    if (!ipc_is_of_device(kernel, memory)) {
        return false;
    }
    cudaDeviceGetPCIBusId(handle->bus, sizeof handle->bus, kernel->device);
    if (cuda_segments_have(memory)) {
        return ipc_handle_fill_segments(kernel, memory, bytes, handle);
    }
    if (!ipc_allocation_of(memory, bytes, &base)) {
        return false;
    }
    /* Ranks of this process need no handle, and some memory has none. */
    handle->offset = (uintptr_t)memory - (uintptr_t)base;
    handle->way =
        cudaIpcGetMemHandle(&handle->legacy, base) == cudaSuccess ? CUDA_IPC_LEGACY : CUDA_IPC_NO;
    return true;
}

void cuda_ipc_handle_end(const cuda_ipc_handle_t *handle)
{
    if (handle->way == CUDA_IPC_OFFER) {
        cuda_offers_remove(&handle->offer);
    }
}

/* Opening them ----------------------------------------------------------------------------------------- */

/* Returns whether the imported memory is as long as the handle says. If the driver knows no length, the byte at the
 * end must be memory of a device too. */
static bool ipc_reaches_to(const void *memory, uint64_t bytes)
{
    struct cudaPointerAttributes at;
    void *base = NULL;
    return ipc_driver_range() != NULL
               ? ipc_allocation_of(memory, bytes, &base)
               : cudaPointerGetAttributes(&at, (const uint8_t *)memory + bytes - 1) ==
                         cudaSuccess &&
                     at.type == cudaMemoryTypeDevice;
}

static weft_status_t ipc_handle_open_legacy(weft_kernel_t *kernel, const cuda_ipc_handle_t *handle,
                                            uint64_t bytes, bool seen, cuda_ipc_mapping_t *mapping)
{
    void *memory = NULL;
    cudaError_t error =
        cudaIpcOpenMemHandle(&memory, handle->legacy, cudaIpcMemLazyEnablePeerAccess);
    if (error != cudaSuccess) {
        return seen ? cuda_failed(kernel, error, "opening memory of another process")
                    : cuda_ipc_handle_refuse(kernel, CUDA_UNSEEN);
    }
    *mapping = (cuda_ipc_mapping_t){.memory = (uint8_t *)((uintptr_t)memory + handle->offset),
                                    .base = memory};
    if (handle->offset > INT64_MAX || !ipc_reaches_to(memory, handle->offset + bytes)) {
        cuda_ipc_mapping_leave(kernel, mapping);
        cuda_kept_end(kernel);
        return cuda_ipc_handle_refuse(kernel, "its memory is shorter than it says");
    }
    return WEFT_OK;
}

static weft_status_t ipc_handle_open_offer(weft_kernel_t *kernel, const cuda_ipc_handle_t *handle,
                                           uint64_t bytes, cuda_ipc_mapping_t *mapping)
{
    cuda_segments_t segments;
    uint64_t offset = 0;
    weft_status_t status = cuda_offers_fetch(kernel, &handle->offer, &segments);
    if (status != WEFT_OK) {
        return status;
    }
    offset = segments.offset;
    mapping->base = NULL;
    if (!cuda_segments_map(kernel, &segments, &mapping->base, &mapping->bytes)) {
        return cuda_ipc_handle_refuse(kernel, "the driver maps no memory of its descriptors");
    }
    mapping->memory = (uint8_t *)((uintptr_t)mapping->base + offset);
    if (offset > mapping->bytes || bytes > mapping->bytes - offset) {
        cuda_ipc_mapping_leave(kernel, mapping);
        cuda_kept_end(kernel);
        return cuda_ipc_handle_refuse(kernel, "its memory is shorter than it says");
    }
    return WEFT_OK;
}

weft_status_t cuda_ipc_handle_open(weft_kernel_t *kernel, const cuda_ipc_handle_t *handle,
                                   uint64_t bytes, bool seen, cuda_ipc_mapping_t *mapping)
{
    switch (handle->way) {
    case CUDA_IPC_LEGACY:
        return ipc_handle_open_legacy(kernel, handle, bytes, seen, mapping);
    case CUDA_IPC_OFFER:
        return ipc_handle_open_offer(kernel, handle, bytes, mapping);
    case CUDA_IPC_PRIVATE:
        return cuda_ipc_handle_refuse(kernel, "it was made for one process");
    default:
        return cuda_ipc_handle_refuse(kernel, "its driver gives no handles to other processes");
    }
}

void cuda_ipc_mapping_leave(const weft_kernel_t *kernel, const cuda_ipc_mapping_t *mapping)
{
    cuda_kept_put(kernel->device, mapping->bytes == 0 ? CUDA_KEPT_IMPORT : CUDA_KEPT_MAPPING,
                  mapping->base, mapping->bytes);
}
