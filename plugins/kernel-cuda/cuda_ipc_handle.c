/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See cuda_ipc_handle.h. The kernel's device is current in all of it. */
#include "cuda_ipc_handle.h"

#include <cuda.h>
#include <string.h>

#include "cuda_driver.h"
#include "cuda_errors.h"
#include "cuda_kept.h"
#include "cuda_pooled.h"
#include "cuda_segments.h"

weft_status_t cuda_ipc_handle_refuse(const weft_kernel_t *kernel, const char *why)
{
    return kernel->host->set_error(kernel->host, WEFT_ERR_UNSUPPORTED, 0,
                                   "CUDA device %d cannot reach memory of another rank: %s",
                                   kernel->device, why);
}

/* What the driver knows ------------------------------------------------------------------------ */

typedef CUresult (*pointer_fn_t)(void *data, CUpointer_attribute which, CUdeviceptr at);

/* The allocation of the driver's in which all of that memory is. */
static bool ipc_allocation_of(const void *memory, uint64_t bytes, void **base_p)
{
    uint64_t all = 0;
    return cuda_driver_range(memory, base_p, &all) &&
           bytes <= all - ((uintptr_t)memory - (uintptr_t)*base_p);
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

/* Making them ---------------------------------------------------------------------------------- */

static void ipc_handle_private(const weft_kernel_t *kernel, const void *memory, const char *why,
                               cuda_ipc_handle_t *handle)
{
    handle->way = CUDA_IPC_PRIVATE;
    kernel->host->log(kernel->host, WEFT_LOG_INFO,
                      "other processes cannot open the memory of CUDA device %d at %p: %s",
                      kernel->device, memory, why);
}

/* False: it is not all memory of the device. */
static bool ipc_handle_offer(const weft_kernel_t *kernel, const void *memory, uint64_t bytes,
                             cuda_ipc_way_t way, cuda_ipc_handle_t *handle)
{
    cuda_parcel_t parcel;
    const char *why = NULL;
    if (way == CUDA_IPC_POOL ? !cuda_pooled_pack(memory, bytes, &parcel, &why)
                             : !cuda_segments_pack(kernel, memory, bytes, &parcel, &why)) {
        ipc_handle_private(kernel, memory, why, handle);
        return ipc_is_of_device(kernel, (const uint8_t *)memory + bytes - 1);
    }
    if (cuda_offers_add(kernel, &parcel, &handle->offer) == WEFT_OK) {
        handle->way = way;
    } else {
        cuda_parcel_close(&parcel);
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
    if (cuda_pooled_have(memory)) {
        return ipc_handle_offer(kernel, memory, bytes, CUDA_IPC_POOL, handle);
    }
    if (cuda_segments_have(memory)) {
        return ipc_handle_offer(kernel, memory, bytes, CUDA_IPC_SEGMENTS, handle);
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
    if (handle->way == CUDA_IPC_SEGMENTS || handle->way == CUDA_IPC_POOL) {
        cuda_offers_remove(&handle->offer);
    }
}

/* Opening them --------------------------------------------------------------------------------- */

/* Returns whether the imported memory is as long as the handle says. If the driver knows no length,
 * the byte at the end must be memory of a device too. */
static bool ipc_reaches_to(const void *memory, uint64_t bytes)
{
    struct cudaPointerAttributes at;
    void *base = NULL;
    return cuda_driver_function("cuMemGetAddressRange", 3020) != NULL
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
    *mapping = (cuda_ipc_mapping_t){.way = CUDA_IPC_LEGACY,
                                    .memory = (uint8_t *)((uintptr_t)memory + handle->offset),
                                    .base = memory};
    if (handle->offset > INT64_MAX || !ipc_reaches_to(memory, handle->offset + bytes)) {
        cuda_ipc_mapping_leave(kernel, mapping);
        cuda_kept_end(kernel);
        return cuda_ipc_handle_refuse(kernel, "its memory is shorter than it says");
    }
    return WEFT_OK;
}

/* What is in the parcel, mapped for this device. */
static weft_status_t ipc_handle_open_parcel(weft_kernel_t *kernel, const cuda_ipc_handle_t *handle,
                                            const cuda_parcel_t *parcel,
                                            cuda_ipc_mapping_t *mapping, uint64_t *offset_p)
{
    cuda_segments_t segments = {.base = NULL};
    cuda_pooled_t pooled = {.base = NULL};
    const char *why = "the driver maps no memory by its handles";
    const bool pool = handle->way == CUDA_IPC_POOL;
    if (pool ? !cuda_pooled_open(kernel, parcel, handle->process, &pooled, &why)
             : !cuda_segments_map(kernel, parcel, &segments)) {
        cuda_kept_end(kernel); /* a pool that gave no pointer */
        return cuda_ipc_handle_refuse(kernel, why);
    }
    mapping->way = (cuda_ipc_way_t)handle->way;
    mapping->base = pool ? pooled.base : segments.base;
    mapping->bytes = pool ? pooled.bytes : segments.bytes;
    *offset_p = pool ? pooled.offset : segments.offset;
    return WEFT_OK;
}

static weft_status_t ipc_handle_open_offer(weft_kernel_t *kernel, const cuda_ipc_handle_t *handle,
                                           uint64_t bytes, cuda_ipc_mapping_t *mapping)
{
    cuda_parcel_t parcel;
    uint64_t offset = 0;
    weft_status_t status = cuda_offers_fetch(kernel, &handle->offer, &parcel);
    if (status != WEFT_OK) {
        return status;
    }
    status = ipc_handle_open_parcel(kernel, handle, &parcel, mapping, &offset);
    cuda_parcel_close(&parcel);
    if (status != WEFT_OK) {
        return status;
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
    case CUDA_IPC_SEGMENTS:
    case CUDA_IPC_POOL:
        return ipc_handle_open_offer(kernel, handle, bytes, mapping);
    case CUDA_IPC_PRIVATE:
        return cuda_ipc_handle_refuse(kernel, "it was made for one process");
    default:
        return cuda_ipc_handle_refuse(kernel, "its driver gives no handles to other processes");
    }
}

void cuda_ipc_mapping_leave(weft_kernel_t *kernel, const cuda_ipc_mapping_t *mapping)
{
    if (mapping->way == CUDA_IPC_POOL) {
        cuda_pooled_close(kernel, mapping->base);
        return;
    }
    cuda_kept_put(kernel->device,
                  mapping->way == CUDA_IPC_LEGACY ? CUDA_KEPT_IMPORT : CUDA_KEPT_MAPPING,
                  mapping->base, mapping->bytes);
}
