/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See cuda_segments.h. The functions are the driver's, asked for by name; the kernel's device is
 * current. */
#include "cuda_segments.h"

#include <cuda.h>
#include <string.h>

#include "cuda_driver.h"

#define PRIVATE                                                                                    \
    "it was made for one process; cuMemCreate() with CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR in " \
    "requestedHandleTypes makes it for others"

/* What a parcel of segments says. */
typedef struct segments_told {
    uint32_t n;
    uint32_t zero;
    uint64_t offset;    /* of the range in the first */
    uint64_t by_fabric; /* bit i: segment i has a fabric handle; else the next descriptor */
    uint64_t bytes[CUDA_PARCEL_DESCRIPTORS];
    uint8_t fabric[CUDA_PARCEL_DESCRIPTORS][CUDA_FABRIC_BYTES];
} segments_told_t;

_Static_assert(sizeof(segments_told_t) <= CUDA_PARCEL_BYTES, "fits the parcel");

typedef struct vmm_driver {
    CUresult (*retain)(CUmemGenericAllocationHandle *handle, void *at);
    CUresult (*release)(CUmemGenericAllocationHandle handle);
    CUresult (*range)(CUdeviceptr *base, size_t *bytes, CUdeviceptr at);
    CUresult (*props)(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle);
    CUresult (*give)(void *shared, CUmemGenericAllocationHandle handle,
                     CUmemAllocationHandleType type, unsigned long long flags);
    CUresult (*take)(CUmemGenericAllocationHandle *handle, void *shared,
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

/* Version 2 of the range, with sizes of 64 bits; the driver gives the one for the version asked
 * for. */
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

/* Packing -------------------------------------------------------------------------------------- */

/* A descriptor if there may be one: fabric handles need a daemon and its channels besides. NULL, or
 * what is wrong with the segment. */
static const char *segments_pack_handle(const vmm_driver_t *vmm, uint32_t types,
                                        CUmemGenericAllocationHandle handle, segments_told_t *told,
                                        cuda_parcel_t *parcel)
{
    if ((types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0) {
        if (vmm->give(&parcel->fd[parcel->ndescriptors], handle,
                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) != CUDA_SUCCESS) {
            return "the driver gives no descriptor of it";
        }
        parcel->ndescriptors++;
        return NULL;
    }
    if ((types & CUDA_FABRIC) == 0) {
        return PRIVATE;
    }
    told->by_fabric |= UINT64_C(1) << told->n;
    return vmm->give(told->fabric[told->n], handle, (CUmemAllocationHandleType)CUDA_FABRIC, 0) ==
                   CUDA_SUCCESS
               ? NULL
               : "it was made for the fabric, of which the driver gives no handle; is there an "
                 "IMEX channel?";
}

static const char *segments_pack_one(const vmm_driver_t *vmm, int device,
                                     CUmemGenericAllocationHandle handle, segments_told_t *told,
                                     cuda_parcel_t *parcel)
{
    CUmemAllocationProp prop;
    memset(&prop, 0, sizeof prop);
    if (vmm->props(&prop, handle) != CUDA_SUCCESS ||
        prop.location.type != CU_MEM_LOCATION_TYPE_DEVICE || prop.location.id != device) {
        return "part of it is not of this device";
    }
    return segments_pack_handle(vmm, (uint32_t)prop.requestedHandleTypes, handle, told, parcel);
}

/* Adds the segment with that address, which is the next one; moves the address behind it. */
static const char *segments_add(const vmm_driver_t *vmm, int device, CUdeviceptr *at,
                                segments_told_t *told, cuda_parcel_t *parcel)
{
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr base = 0;
    size_t all = 0;
    if (told->n == CUDA_PARCEL_DESCRIPTORS) {
        return "it is made of too many segments";
    }
    if (vmm->range(&base, &all, *at) != CUDA_SUCCESS ||
        vmm->retain(&handle, (void *)(uintptr_t)*at) != CUDA_SUCCESS) {
        return "it ends earlier";
    }
    const char *why = segments_pack_one(vmm, device, handle, told, parcel);
    vmm->release(handle);
    if (why == NULL) {
        told->offset = told->n == 0 ? *at - base : told->offset;
        told->bytes[told->n++] = all;
        *at = base + all;
    }
    return why;
}

bool cuda_segments_pack(const weft_kernel_t *kernel, const void *memory, uint64_t bytes,
                        cuda_parcel_t *parcel, const char **why_p)
{
    vmm_driver_t vmm;
    segments_told_t told = {.n = 0};
    CUdeviceptr at = (uintptr_t)memory;
    const CUdeviceptr end = at + bytes;
    const char *why = vmm_driver_find(&vmm) ? NULL : "the driver has no functions for it";
    parcel->ndescriptors = parcel->nbytes = 0;
    while (why == NULL && at < end) {
        why = segments_add(&vmm, kernel->device, &at, &told, parcel);
    }
    if (why != NULL) {
        cuda_parcel_close(parcel);
        *why_p = why;
        return false;
    }
    parcel->nbytes = sizeof told;
    memcpy(parcel->bytes, &told, sizeof told);
    return true;
}

/* Mapping -------------------------------------------------------------------------------------- */

/* What another process says of its segments: whether that and the descriptors agree. */
static bool segments_read(const cuda_parcel_t *parcel, segments_told_t *told, uint64_t *all_p)
{
    uint32_t descriptors = 0;
    *all_p = 0;
    if (parcel->nbytes != sizeof *told) {
        return false;
    }
    memcpy(told, parcel->bytes, sizeof *told);
    if (told->n == 0 || told->n > CUDA_PARCEL_DESCRIPTORS) {
        return false;
    }
    for (uint32_t i = 0; i < told->n; i++) {
        *all_p += told->bytes[i];
        descriptors += (told->by_fabric >> i & 1) == 0;
    }
    return descriptors == parcel->ndescriptors;
}

/* Maps segments from `at` on. Returns the bytes that are mapped; fewer than all: the driver
 * refused. */
static uint64_t segments_map_all(const vmm_driver_t *vmm, const cuda_parcel_t *parcel,
                                 segments_told_t *told, CUdeviceptr at)
{
    uint64_t mapped = 0;
    uint32_t next = 0;
    for (uint32_t i = 0; i < told->n; i++) {
        CUmemGenericAllocationHandle handle = 0;
        const bool fabric = (told->by_fabric >> i & 1) != 0;
        void *shared = fabric ? told->fabric[i] : (void *)(intptr_t)parcel->fd[next++];
        if (vmm->take(&handle, shared,
                      fabric ? (CUmemAllocationHandleType)CUDA_FABRIC
                             : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != CUDA_SUCCESS) {
            break;
        }
        const CUresult result = vmm->map(at + mapped, told->bytes[i], 0, handle, 0);
        vmm->release(handle); /* the mapping keeps it */
        if (result != CUDA_SUCCESS) {
            break;
        }
        mapped += told->bytes[i];
    }
    return mapped;
}

static bool segments_map(const vmm_driver_t *vmm, const cuda_parcel_t *parcel,
                         segments_told_t *told, int device, cuda_segments_t *segments)
{
    CUmemAccessDesc mine = {.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    const uint64_t all = segments->bytes;
    CUdeviceptr at = 0;
    mine.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    mine.location.id = device;
    if (all == 0 || vmm->reserve(&at, all, 0, 0, 0) != CUDA_SUCCESS) {
        return false;
    }
    const uint64_t mapped = segments_map_all(vmm, parcel, told, at);
    if (mapped == all && vmm->access(at, all, &mine, 1) == CUDA_SUCCESS) {
        segments->base = (void *)(uintptr_t)at;
        segments->offset = told->offset;
        return true;
    }
    if (mapped > 0) {
        vmm->unmap(at, mapped);
    }
    vmm->unreserve(at, all);
    return false;
}

bool cuda_segments_map(const weft_kernel_t *kernel, const cuda_parcel_t *parcel,
                       cuda_segments_t *segments)
{
    vmm_driver_t vmm;
    segments_told_t told;
    return segments_read(parcel, &told, &segments->bytes) && vmm_driver_find(&vmm) &&
           segments_map(&vmm, parcel, &told, kernel->device, segments);
}

cudaError_t cuda_segments_unmap(void *base, uint64_t bytes)
{
    vmm_driver_t vmm;
    return vmm_driver_find(&vmm) && vmm.unmap((uintptr_t)base, bytes) == CUDA_SUCCESS &&
                   vmm.unreserve((uintptr_t)base, bytes) == CUDA_SUCCESS
               ? cudaSuccess
               : cudaErrorUnknown;
}
