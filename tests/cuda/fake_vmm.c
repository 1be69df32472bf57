/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The driver's virtual memory: allocations without an address (cuMemCreate), addresses without
 * memory (cuMemAddressReserve), and mappings of the one at the other, which no device may access
 * before cuMemSetAccess(). An allocation is a file whose name has the device; its descriptor is the
 * handle for other processes, if it was made for them. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cuda/fake.h"

enum { VMM_GRANULE = 2 << 20, NAME = 64 };

static CUresult vmm_answer(const char *name)
{
    return fake_answer(name) == cudaSuccess ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

static fake_allocation_t *vmm_of(CUmemGenericAllocationHandle handle)
{
    return (fake_allocation_t *)(uintptr_t)handle;
}

static CUmemGenericAllocationHandle vmm_handle(fake_allocation_t *allocation)
{
    return (uintptr_t)allocation;
}

static fake_allocation_t *vmm_new(int fd, uint64_t bytes, int device, uint32_t types)
{
    fake_allocation_t *a = calloc(1, sizeof *a);
    *a =
        (fake_allocation_t){.users = 1, .fd = fd, .bytes = bytes, .device = device, .types = types};
    atomic_fetch_add(&fake_cuda.allocated, 1);
    return a;
}

fake_allocation_t *fake_allocation_share(fake_allocation_t *a)
{
    __atomic_add_fetch(&a->users, 1, __ATOMIC_RELAXED);
    return a;
}

void fake_allocation_drop(fake_allocation_t *a)
{
    if (__atomic_sub_fetch(&a->users, 1, __ATOMIC_ACQ_REL) == 0) {
        close(a->fd);
        free(a);
        atomic_fetch_sub(&fake_cuda.allocated, 1);
    }
}

static CUresult vmm_create(CUmemGenericAllocationHandle *handle, size_t bytes,
                           const CUmemAllocationProp *prop, unsigned long long flags)
{
    char name[NAME];
    if (flags != 0 || bytes == 0 || bytes % VMM_GRANULE != 0 ||
        prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    snprintf(name, sizeof name, "vmm-of-device-%d", prop->location.id);
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *handle =
        vmm_handle(vmm_new(fd, bytes, prop->location.id, (uint32_t)prop->requestedHandleTypes));
    return vmm_answer("cuMemCreate");
}

static CUresult vmm_release(CUmemGenericAllocationHandle handle)
{
    fake_allocation_drop(vmm_of(handle));
    return CUDA_SUCCESS;
}

static CUresult vmm_retain(CUmemGenericAllocationHandle *handle, void *at)
{
    fake_allocation_t *a = fake_memory_allocation(at);
    *handle = a != NULL ? vmm_handle(fake_allocation_share(a)) : 0;
    return a != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult vmm_props(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
    memset(prop, 0, sizeof *prop);
    prop->type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop->location.id = vmm_of(handle)->device;
    prop->requestedHandleTypes = (CUmemAllocationHandleType)vmm_of(handle)->types;
    return CUDA_SUCCESS;
}

static CUresult vmm_export(void *fd_p, CUmemGenericAllocationHandle handle,
                           CUmemAllocationHandleType type, unsigned long long flags)
{
    const fake_allocation_t *a = vmm_of(handle);
    if (flags != 0 || (a->types & (uint32_t)type) == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return fake_fabric_export(fd_p, a->fd, (uint32_t)type)
               ? vmm_answer("cuMemExportToShareableHandle")
               : CUDA_ERROR_NOT_PERMITTED;
}

/* Files of anything else are refused. */
static CUresult vmm_import(CUmemGenericAllocationHandle *handle, void *os_handle,
                           CUmemAllocationHandleType type)
{
    char link[NAME], name[NAME] = "";
    struct stat file;
    int device = -1;
    const int fd = fake_fabric_import(os_handle, (uint32_t)type);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (fd < 0 || readlink(link, name, sizeof name - 1) < 0 ||
        sscanf(name, "/memfd:vmm-of-device-%d", &device) != 1 || fstat(fd, &file) != 0) {
        close(fd);
        return CUDA_ERROR_INVALID_VALUE;
    }
    *handle = vmm_handle(vmm_new(fd, (uint64_t)file.st_size, device, (uint32_t)type));
    return vmm_answer("cuMemImportFromShareableHandle");
}

/* Addresses, and where their bytes will be, as close together. */
typedef struct reservation {
    struct reservation *next;
    CUdeviceptr at;
    uint64_t bytes;
    uint8_t *real;
} reservation_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static reservation_t *reservations;

static CUresult vmm_reserve(CUdeviceptr *at, size_t bytes, size_t alignment, CUdeviceptr wish,
                            unsigned long long flags)
{
    if (flags != 0 || wish != 0 || alignment != 0 || bytes == 0 || bytes % VMM_GRANULE != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    reservation_t *r = calloc(1, sizeof *r);
    void *real = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *r = (reservation_t){.at = (uintptr_t)fake_memory_reserve(bytes), .bytes = bytes, .real = real};
    if (r->at == 0 || real == MAP_FAILED) {
        free(r);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&lock);
    r->next = reservations;
    reservations = r;
    pthread_mutex_unlock(&lock);
    *at = r->at;
    atomic_fetch_add(&fake_cuda.reserved, 1);
    return CUDA_SUCCESS;
}

static CUresult vmm_unreserve(CUdeviceptr at, size_t bytes)
{
    pthread_mutex_lock(&lock);
    reservation_t **place = &reservations, *r;
    while ((r = *place) != NULL && (r->at != at || r->bytes != bytes)) {
        place = &r->next;
    }
    if (r != NULL) {
        *place = r->next;
    }
    pthread_mutex_unlock(&lock);
    if (r == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    fake_memory_unreserve((void *)(uintptr_t)at, bytes);
    munmap(r->real, r->bytes);
    free(r);
    atomic_fetch_sub(&fake_cuda.reserved, 1);
    return CUDA_SUCCESS;
}

/* Where the bytes of so many addresses are, NULL: they are not reserved. */
static uint8_t *vmm_real(CUdeviceptr at, size_t bytes)
{
    pthread_mutex_lock(&lock);
    const reservation_t *r = reservations;
    while (r != NULL && (at < r->at || at + bytes > r->at + r->bytes)) {
        r = r->next;
    }
    uint8_t *real = r != NULL ? r->real + (at - r->at) : NULL;
    pthread_mutex_unlock(&lock);
    return real;
}

static CUresult vmm_map(CUdeviceptr at, size_t bytes, size_t offset,
                        CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    fake_allocation_t *a = vmm_of(handle);
    uint8_t *real = vmm_real(at, bytes);
    if (flags != 0 || offset != 0 || bytes != a->bytes || real == NULL ||
        !fake_memory_map_allocation((void *)(uintptr_t)at, real, a)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return vmm_answer("cuMemMap");
}

/* Whole mappings; what runs may use them. */
static CUresult vmm_unmap(CUdeviceptr at, size_t bytes)
{
    uintptr_t base = 0;
    uint64_t all = 0;
    fake_context_wait(FAKE_WAITS_FREE, "cuMemUnmap");
    for (CUdeviceptr end = at + bytes; at < end; at += all) {
        if (!fake_memory_range((void *)(uintptr_t)at, &base, &all) || base != at ||
            !fake_memory_unmap((void *)(uintptr_t)at)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    return CUDA_SUCCESS;
}

static CUresult vmm_set_access(CUdeviceptr at, size_t bytes, const CUmemAccessDesc *who, size_t n)
{
    uintptr_t base = 0;
    uint64_t all = 0;
    for (CUdeviceptr end = at + bytes; at < end; at += all) {
        for (size_t i = 0; i < n; i++) {
            fake_memory_grant((void *)(uintptr_t)at, who[i].location.id);
        }
        if (!fake_memory_range((void *)(uintptr_t)at, &base, &all)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    return vmm_answer("cuMemSetAccess");
}

/* Of the current device, as since CUDA 11.1. */
static CUresult vmm_pointer(void *data, CUpointer_attribute which, CUdeviceptr at)
{
    if (which == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE) {
        cudaMemPool_t pool = fake_memory_pool((void *)(uintptr_t)at);
        memcpy(data, &pool, sizeof pool);
        return CUDA_SUCCESS;
    }
    if (which != CU_POINTER_ATTRIBUTE_ACCESS_FLAGS) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *(int *)data = fake_memory_granted((void *)(uintptr_t)at, fake_device())
                       ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE
                       : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
    return CUDA_SUCCESS;
}

/* The function of that name, if the interface has it. ISO C has no cast to a pointer to data. */
#define VMM_FUNCTIONS(X)                                                                           \
    X("cuMemCreate", vmm_create)                                                                   \
    X("cuMemRelease", vmm_release)                                                                 \
    X("cuMemRetainAllocationHandle", vmm_retain)                                                   \
    X("cuMemGetAllocationPropertiesFromHandle", vmm_props)                                         \
    X("cuMemExportToShareableHandle", vmm_export)                                                  \
    X("cuMemImportFromShareableHandle", vmm_import)                                                \
    X("cuMemAddressReserve", vmm_reserve)                                                          \
    X("cuMemAddressFree", vmm_unreserve)                                                           \
    X("cuMemMap", vmm_map)                                                                         \
    X("cuMemUnmap", vmm_unmap)                                                                     \
    X("cuMemSetAccess", vmm_set_access)                                                            \
    X("cuPointerGetAttribute", vmm_pointer)
#define VMM_FUNCTION(text, function)                                                               \
    if (strcmp(name, text) == 0) {                                                                 \
        __typeof__(&(function)) pointer = function;                                                \
        memcpy(function_p, &pointer, sizeof *function_p);                                          \
        return true;                                                                               \
    }

bool fake_vmm_function(const char *name, void **function_p)
{
    VMM_FUNCTIONS(VMM_FUNCTION)
    return false;
}
