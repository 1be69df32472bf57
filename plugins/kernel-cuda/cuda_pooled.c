/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See cuda_pooled.h. The kernel's device is current in all of it. */
#include "cuda_pooled.h"

#include <cuda.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_driver.h"
#include "cuda_kept.h"
#include "cuda_pool.h"
#include "cuda_segments.h"

#define PRIVATE                                                                                    \
    "its pool was made for one process, as those of the driver are; cudaMemPoolCreate() with "     \
    "cudaMemHandleTypePosixFileDescriptor in handleTypes makes one for others"

/* A driver (580) was seen to crash who imports a longer allocation than 5248 MiB. */
#define POOLED_MOST (UINT64_C(4) << 30)
#define POOLED_LONG                                                                                \
    "an allocation of a pool that is longer than 4 GiB may crash who opens it; use cudaMalloc or " \
    "cuMemCreate"

/* What a parcel of a pool says. */
typedef struct pooled_told {
    uint64_t offset; /* of the range in the allocation */
    uint32_t by_fabric;
    uint32_t zero;
    uint8_t fabric[CUDA_FABRIC_BYTES];
    struct cudaMemPoolPtrExportData pointer;
} pooled_told_t;

_Static_assert(sizeof(pooled_told_t) <= CUDA_PARCEL_BYTES, "fits the parcel");

/* Packing -------------------------------------------------------------------------------------- */

static cudaMemPool_t pooled_pool_of(const void *memory)
{
    void *found = cuda_driver_function("cuPointerGetAttribute", 4000);
    CUresult (*ask)(void *data, CUpointer_attribute which, CUdeviceptr at) = NULL;
    cudaMemPool_t pool = NULL;
    memcpy(&ask, &found, sizeof ask);
    return ask != NULL && ask(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, (uintptr_t)memory) ==
                              CUDA_SUCCESS
               ? pool
               : NULL;
}

bool cuda_pooled_have(const void *memory)
{
    return pooled_pool_of(memory) != NULL;
}

/* False; the caller's next question for the last error is not told of this one. */
static bool pooled_refused(const char *why, const char **why_p)
{
    (void)cudaGetLastError();
    *why_p = why;
    return false;
}

/* A descriptor if the pool has such, else a handle of the fabric. */
static bool pooled_pack_pool(cudaMemPool_t pool, pooled_told_t *told, cuda_parcel_t *parcel)
{
    if (cudaMemPoolExportToShareableHandle(
            &parcel->fd[0], pool, cudaMemHandleTypePosixFileDescriptor, 0) == cudaSuccess) {
        parcel->ndescriptors = 1;
        return true;
    }
    told->by_fabric = 1;
    return cudaMemPoolExportToShareableHandle(
               told->fabric, pool, (enum cudaMemAllocationHandleType)CUDA_FABRIC, 0) == cudaSuccess;
}

bool cuda_pooled_pack(const void *memory, uint64_t bytes, cuda_parcel_t *parcel, const char **why_p)
{
    pooled_told_t told = {.by_fabric = 0};
    void *base = NULL;
    uint64_t all = 0;
    parcel->ndescriptors = parcel->nbytes = 0;
    if (!cuda_driver_range(memory, &base, &all)) {
        return pooled_refused("the driver does not tell where its allocation begins", why_p);
    }
    told.offset = (uintptr_t)memory - (uintptr_t)base;
    if (bytes > all - told.offset) {
        return pooled_refused("it is longer than its allocation", why_p);
    }
    if (all > POOLED_MOST) {
        return pooled_refused(POOLED_LONG, why_p);
    }
    /* In this order: the driver tells of no pointer whose pool has no handle yet. */
    if (!pooled_pack_pool(pooled_pool_of(memory), &told, parcel)) {
        return pooled_refused(PRIVATE, why_p);
    }
    if (cudaMemPoolExportPointer(&told.pointer, base) != cudaSuccess) {
        cuda_parcel_close(parcel);
        return pooled_refused("the driver exports its pool, but not the pointer", why_p);
    }
    parcel->nbytes = sizeof told;
    memcpy(parcel->bytes, &told, sizeof told);
    return true;
}

/* Opening -------------------------------------------------------------------------------------- */

typedef struct pooled_import {
    struct pooled_import *next;
    uint64_t process;                        /* that has it, and … */
    struct cudaMemPoolPtrExportData pointer; /* … what its driver says of it */
    cudaMemPool_t pool;
    void *base;
    uint64_t bytes;
    uint32_t users;
} pooled_import_t;

/* Of the process, beside the registry of decision 33: the driver would give the same address for a
 * second import, and end both with the first. Held in calls of the driver, none of which waits for
 * kernels. */
static struct {
    pthread_mutex_t lock;
    pooled_import_t *first;
} imports = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pooled_import_t *pooled_find(const pooled_told_t *told, uint64_t process)
{
    pooled_import_t *import = imports.first;
    while (import != NULL && (import->process != process || memcmp(&import->pointer, &told->pointer,
                                                                   sizeof told->pointer) != 0)) {
        import = import->next;
    }
    return import;
}

static bool pooled_import_pool(const cuda_parcel_t *parcel, pooled_told_t *told,
                               cudaMemPool_t *pool_p)
{
    const enum cudaMemAllocationHandleType type =
        told->by_fabric != 0 ? (enum cudaMemAllocationHandleType)CUDA_FABRIC
                             : cudaMemHandleTypePosixFileDescriptor;
    void *shared = told->by_fabric != 0 ? told->fabric : (void *)(intptr_t)parcel->fd[0];
    return cudaMemPoolImportFromShareableHandle(pool_p, shared, type, 0) == cudaSuccess;
}

/* A pool of another process may be accessed from its own device only, until somebody says
 * otherwise. */
static bool pooled_grant(const weft_kernel_t *kernel, cudaMemPool_t pool)
{
    struct cudaMemAccessDesc mine = {.flags = cudaMemAccessFlagsProtReadWrite};
    mine.location.type = cudaMemLocationTypeDevice;
    mine.location.id = kernel->device;
    return cudaMemPoolSetAccess(pool, &mine, 1) == cudaSuccess;
}

/* Under the lock. */
static pooled_import_t *pooled_import(const weft_kernel_t *kernel, const cuda_parcel_t *parcel,
                                      pooled_told_t *told, uint64_t process, const char **why_p)
{
    pooled_import_t *import = calloc(1, sizeof *import);
    void *base = NULL;
    if (import == NULL || !pooled_import_pool(parcel, told, &import->pool)) {
        free(import);
        (void)pooled_refused("the driver opens no pool by its handle", why_p);
        return NULL;
    }
    import->process = process;
    import->pointer = told->pointer;
    if (cudaMemPoolImportPointer(&import->base, import->pool, &told->pointer) != cudaSuccess ||
        !cuda_driver_range(import->base, &base, &import->bytes)) {
        cuda_kept_put(kernel->device, CUDA_KEPT_IMPORTED_POOL, import->pool, 0);
        free(import);
        (void)pooled_refused("the driver opens its pool, but not the pointer", why_p);
        return NULL;
    }
    import->next = imports.first;
    imports.first = import;
    return import;
}

/* Under the lock: one use less. */
static void pooled_drop(weft_kernel_t *kernel, pooled_import_t *import)
{
    if (--import->users > 0) {
        return;
    }
    pooled_import_t **at = &imports.first;
    while (*at != import) {
        at = &(*at)->next;
    }
    *at = import->next;
    cuda_pool_release(kernel, import->base);
    cuda_kept_put(kernel->device, CUDA_KEPT_IMPORTED_POOL, import->pool, 0);
    free(import);
}

static bool pooled_open(weft_kernel_t *kernel, const cuda_parcel_t *parcel, pooled_told_t *told,
                        uint64_t process, cuda_pooled_t *pooled, const char **why_p)
{
    pooled_import_t *import = pooled_find(told, process);
    import = import != NULL ? import : pooled_import(kernel, parcel, told, process, why_p);
    if (import == NULL) {
        return false;
    }
    import->users++;
    if (!pooled_grant(kernel, import->pool)) {
        pooled_drop(kernel, import);
        return pooled_refused("the driver gives this device no access to its pool", why_p);
    }
    *pooled = (cuda_pooled_t){.base = import->base, .bytes = import->bytes, .offset = told->offset};
    return true;
}

bool cuda_pooled_open(weft_kernel_t *kernel, const cuda_parcel_t *parcel, uint64_t process,
                      cuda_pooled_t *pooled, const char **why_p)
{
    pooled_told_t told;
    if (parcel->nbytes != sizeof told) {
        return pooled_refused("what came is no pool", why_p);
    }
    memcpy(&told, parcel->bytes, sizeof told);
    if (parcel->ndescriptors != (told.by_fabric == 0)) {
        return pooled_refused("what came is no pool", why_p);
    }
    pthread_mutex_lock(&imports.lock);
    const bool opened = pooled_open(kernel, parcel, &told, process, pooled, why_p);
    pthread_mutex_unlock(&imports.lock);
    return opened;
}

void cuda_pooled_close(weft_kernel_t *kernel, void *base)
{
    pthread_mutex_lock(&imports.lock);
    pooled_import_t *import = imports.first;
    while (import != NULL && import->base != base) {
        import = import->next;
    }
    if (import != NULL) {
        pooled_drop(kernel, import);
    }
    pthread_mutex_unlock(&imports.lock);
}
