/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See cuda_ipc.h. Within a process a pointer is enough, once peer access between the devices is
 * enabled. Between processes the driver's IPC handles import whole allocations, so each export is
 * an allocation. The driver knows whether two devices have a path to each other over NVLink or
 * PCIe.
 *
 * A freed export is kept for the next one: cudaFree() waits for every kernel of the device, and
 * kernels of this plugin wait for other ranks. It is left to the process when the instance is
 * destroyed. */
#include "cuda_ipc.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weft/sdk/host_identity.h>

#include "cuda_device.h"
#include "cuda_errors.h"
#include "cuda_ipc_handle.h"
#include "cuda_kept.h"
#include "cuda_access.h"
#include "cuda_paths.h"
#include "cuda_pool.h"

/* The driver exports pages of this size. A smaller export would expose its neighbours to the
 * peer. */
#define GRANULE (UINT64_C(2) << 20)

/* The location of a device. Processes are told apart by a random number, because their ids repeat
 * between containers. The PCI address of a device is the same in all processes of a host. */
typedef struct cuda_ipc_location {
    uint8_t host[WEFT_HOST_IDENTITY_BYTES];
    uint64_t process;
    char bus[CUDA_BUS_BYTES];
    uint8_t zero[16];
} cuda_ipc_location_t;

_Static_assert(sizeof(cuda_ipc_location_t) == WEFT_IPC_LOCATION_BYTES, "fills the location");

/* An allocation that serves one export at a time, or a range that the application allocated. */
typedef struct cuda_export {
    struct cuda_export *next;
    const weft_kernel_t *owner; /* NULL: it has ended */
    void *memory;
    uint64_t bytes;
    int device;
    uint32_t importers; /* instances of this process that have it imported */
    bool used;
    bool foreign; /* the application allocated it */
    cuda_ipc_handle_t handle;
} cuda_export_t;

/* An import of another process. */
typedef struct cuda_ipc_import {
    struct cuda_ipc_import *next;
    cuda_ipc_mapping_t mapping;
} cuda_ipc_import_t;

/* The exports of this process. A handle names memory of another instance, so instances have to find
 * each other: this is the only state of the plugin at file scope (decision 33). The lock is not
 * held where the driver may wait for device kernels. */
static struct ipc_registry {
    pthread_mutex_t lock;
    cuda_export_t *exports;
    cuda_ipc_import_t *imports;
    uint64_t process_number; /* tells this process from others; 0: none drawn yet */
    pid_t process_id;        /* process of the number: a forked child draws another */
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t cuda_ipc_this_process(const weft_kernel_t *kernel)
{
    pthread_mutex_lock(&registry.lock);
    if (registry.process_id != getpid() &&
        kernel->host->random(kernel->host, &registry.process_number,
                             sizeof registry.process_number) == WEFT_OK) {
        registry.process_id = getpid();
    }
    uint64_t number = registry.process_id == getpid() ? registry.process_number : 0;
    pthread_mutex_unlock(&registry.lock);
    return number;
}

/* Locations ------------------------------------------------------------------------------------ */

static void ipc_location(weft_kernel_t *kernel, uint8_t location[WEFT_IPC_LOCATION_BYTES])
{
    cuda_ipc_location_t mine = {.process = cuda_ipc_this_process(kernel)};
    if (!weft_host_identity_read(mine.host) ||
        cudaDeviceGetPCIBusId(mine.bus, sizeof mine.bus, kernel->device) != cudaSuccess) {
        mine = (cuda_ipc_location_t){.process = 0}; /* nobody reaches it */
    }
    memcpy(location, &mine, sizeof mine);
}

/* The device at an address on the bus, or −1. The address is a peer's word. */
static int cuda_ipc_device_at(const char bus[CUDA_BUS_BYTES])
{
    char text[CUDA_BUS_BYTES + 1] = "";
    int device = -1;
    memcpy(text, bus, CUDA_BUS_BYTES);
    if (cudaDeviceGetByPCIBusId(&device, text) != cudaSuccess) {
        cudaGetLastError(); /* else the caller's next call of it would tell of this */
        return -1;
    }
    return device;
}

/* Whether it is an address on the bus at all: hexadecimal digits, "0000:3b:00.0". */
static bool cuda_ipc_is_bus(const char bus[CUDA_BUS_BYTES])
{
    unsigned domain = 0, number = 0, device = 0, function = 0;
    char text[CUDA_BUS_BYTES + 1] = "", rest = 0;
    memcpy(text, bus, CUDA_BUS_BYTES);
    return strspn(text, "0123456789abcdefABCDEF:.") == strlen(text) &&
           sscanf(text, "%4x:%2x:%2x.%1x%c", &domain, &number, &device, &function, &rest) == 4;
}

/* Two processes on a device take turns, unless MPS runs: said once. Drivers that do not know
 * whether it does are believed to. */
static void cuda_ipc_check_turns(weft_kernel_t *kernel, const cuda_ipc_location_t *there,
                                 const cuda_ipc_location_t *here)
{
    int mps = 1;
    if (there->process == here->process || memcmp(there->bus, here->bus, CUDA_BUS_BYTES) != 0 ||
        cudaDeviceGetAttribute(&mps, cudaDevAttrMpsEnabled, kernel->device) != cudaSuccess ||
        mps != 0 || atomic_exchange(&kernel->told_turns, true)) {
        return;
    }
    kernel->host->log(
        kernel->host, WEFT_LOG_WARN,
        "several processes share CUDA device %d without MPS: their kernels wait for "
        "each other and take turns of milliseconds; start nvidia-cuda-mps-control -d, "
        "or give each process a device of its own",
        kernel->device);
}

static weft_status_t ipc_can_access(weft_kernel_t *kernel,
                                    const uint8_t location[WEFT_IPC_LOCATION_BYTES])
{
    static const uint8_t nowhere[WEFT_HOST_IDENTITY_BYTES];
    cuda_ipc_location_t there, here;
    int can = 0;
    memcpy(&there, location, sizeof there);
    ipc_location(kernel, (uint8_t *)&here);
    if (memcmp(there.host, nowhere, WEFT_HOST_IDENTITY_BYTES) == 0 ||
        memcmp(there.host, here.host, WEFT_HOST_IDENTITY_BYTES) != 0) {
        return cuda_ipc_handle_refuse(kernel,
                                      "it is on another host, or either host does not tell");
    }
    if (!cuda_ipc_is_bus(there.bus)) {
        return cuda_ipc_handle_refuse(kernel, "what the receiver says is no address on the bus");
    }
    cuda_ipc_check_turns(kernel, &there, &here);
    int device = cuda_ipc_device_at(there.bus);
    if (device < 0 && there.process == here.process) {
        return cuda_ipc_handle_refuse(kernel, CUDA_UNSEEN);
    }
    if (device < 0) {
        return WEFT_OK; /* one visible device for each process: only the import can tell */
    }
    if (device != kernel->device &&
        (cudaDeviceCanAccessPeer(&can, kernel->device, device) != cudaSuccess || can == 0)) {
        return cuda_ipc_handle_refuse(kernel, "the driver knows no way from device to device");
    }
    return WEFT_OK;
}

/* Exports -------------------------------------------------------------------------------------- */

/* Memory that waits for a next use, or NULL. */
static cuda_export_t *cuda_ipc_export_reuse(const weft_kernel_t *kernel, uint64_t bytes)
{
    cuda_export_t *found = NULL;
    pthread_mutex_lock(&registry.lock);
    for (cuda_export_t *e = registry.exports; e != NULL && found == NULL; e = e->next) {
        if (e->owner == kernel && !e->used && !e->foreign && e->importers == 0 &&
            e->bytes >= bytes) {
            found = e;
            e->used = true;
        }
    }
    pthread_mutex_unlock(&registry.lock);
    return found;
}

static cuda_export_t *cuda_ipc_export_add(const weft_kernel_t *kernel, uint64_t bytes)
{
    cuda_export_t *e = calloc(1, sizeof *e); /* it may outlive the kernel and its host */
    if (e == NULL) {
        (void)cuda_failed(kernel, cudaErrorMemoryAllocation, "exporting memory");
        return NULL;
    }
    e->bytes = (bytes + GRANULE - 1) / GRANULE * GRANULE;
    cudaError_t error = cudaMalloc(&e->memory, e->bytes);
    if (error != cudaSuccess) {
        free(e);
        (void)cuda_failed(kernel, error, "allocating memory for slots");
        return NULL;
    }
    e->owner = kernel;
    e->device = kernel->device;
    e->used = true;
    pthread_mutex_lock(&registry.lock);
    e->next = registry.exports;
    registry.exports = e;
    pthread_mutex_unlock(&registry.lock);
    return e;
}

static void ipc_export_free(weft_kernel_t *kernel, void *memory)
{
    pthread_mutex_lock(&registry.lock);
    for (cuda_export_t *e = registry.exports; e != NULL; e = e->next) {
        e->used = e->used && (e->owner != kernel || e->memory != memory);
    }
    pthread_mutex_unlock(&registry.lock);
}

static weft_status_t cuda_ipc_export_fill(weft_kernel_t *kernel, const cuda_export_t *e,
                                          uint64_t bytes, uint64_t zeros, uint64_t *mark_p)
{
    weft_status_t status = cuda_paths_mark(kernel, e->memory, mark_p);
    return status == WEFT_OK && zeros > 0
               ? cuda_device_zero(kernel, (uint8_t *)e->memory + bytes - zeros, zeros)
               : status;
}

static weft_status_t ipc_export_alloc(weft_kernel_t *kernel, uint64_t bytes, uint64_t zeros,
                                      void **memory_p, uint8_t handle[WEFT_IPC_HANDLE_BYTES])
{
    cuda_ipc_handle_t mine = {.process = cuda_ipc_this_process(kernel)};
    cuda_guard_t guard;
    weft_status_t status = cuda_guard_enter(kernel, &guard);
    if (status != WEFT_OK) {
        return status;
    }
    cuda_export_t *e = cuda_ipc_export_reuse(kernel, bytes);
    e = e == NULL ? cuda_ipc_export_add(kernel, bytes) : e;
    if (e != NULL) {
        status = cuda_ipc_export_fill(kernel, e, bytes, zeros, &mine.mark);
        mine.is_marked = 1;
        mine.at = (uintptr_t)e->memory;
        cuda_ipc_handle_fill(kernel, e->memory, e->bytes, &mine);
        memcpy(handle, &mine, sizeof mine);
        if (status == WEFT_OK) {
            *memory_p = e->memory;
        } else {
            ipc_export_free(kernel, e->memory);
        }
    }
    cuda_guard_leave(&guard);
    return e != NULL ? status : WEFT_ERR_RESOURCE;
}

/* Leaves the memory of exports that nobody has any more to the process. */
static void cuda_ipc_exports_leave(cuda_export_t *list)
{
    while (list != NULL) {
        cuda_export_t *e = list;
        list = e->next;
        cuda_ipc_handle_end(&e->handle);
        if (!e->foreign) {
            cuda_kept_put(e->device, CUDA_KEPT_EXPORT, e->memory, e->bytes);
        }
        free(e);
    }
}

/* Takes what has neither owner nor importer off the list of the process. */
static cuda_export_t *cuda_ipc_exports_sweep(void)
{
    cuda_export_t *taken = NULL;
    pthread_mutex_lock(&registry.lock);
    for (cuda_export_t **at = &registry.exports; *at != NULL;) {
        cuda_export_t *e = *at;
        if (e->owner != NULL || e->importers > 0) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        e->next = taken;
        taken = e;
    }
    pthread_mutex_unlock(&registry.lock);
    return taken;
}

void cuda_ipc_close(weft_kernel_t *kernel)
{
    pthread_mutex_lock(&registry.lock);
    for (cuda_export_t *e = registry.exports; e != NULL; e = e->next) {
        e->owner = e->owner == kernel ? NULL : e->owner;
    }
    pthread_mutex_unlock(&registry.lock);
    cuda_ipc_exports_leave(cuda_ipc_exports_sweep());
}

/* Exported ranges ------------------------------------------------------------------------------ */

static weft_status_t ipc_export_add_foreign(weft_kernel_t *kernel, void *memory, uint64_t bytes,
                                            const cuda_ipc_handle_t *handle)
{
    cuda_export_t *e = calloc(1, sizeof *e);
    if (e == NULL) {
        return cuda_failed(kernel, cudaErrorMemoryAllocation, "exporting memory");
    }
    *e = (cuda_export_t){.owner = kernel,
                         .memory = memory,
                         .bytes = bytes,
                         .device = kernel->device,
                         .used = true,
                         .foreign = true,
                         .handle = *handle};
    pthread_mutex_lock(&registry.lock);
    e->next = registry.exports;
    registry.exports = e;
    pthread_mutex_unlock(&registry.lock);
    return WEFT_OK;
}

static weft_status_t ipc_export_foreign(weft_kernel_t *kernel, void *memory, uint64_t bytes,
                                        uint8_t handle[WEFT_IPC_HANDLE_BYTES])
{
    cuda_ipc_handle_t mine = {.process = cuda_ipc_this_process(kernel), .at = (uintptr_t)memory};
    if (!cuda_ipc_handle_fill(kernel, memory, bytes, &mine)) {
        return kernel->host->set_error(kernel->host, WEFT_ERR_UNSUPPORTED, 0,
                                       "%p is no memory of CUDA device %d, or ends before %llu "
                                       "bytes; use weft_mem_alloc_device or cudaMalloc",
                                       memory, kernel->device, (unsigned long long)bytes);
    }
    weft_status_t status = ipc_export_add_foreign(kernel, memory, bytes, &mine);
    if (status == WEFT_OK) {
        memcpy(handle, &mine, sizeof mine);
    } else {
        cuda_ipc_handle_end(&mine);
    }
    return status;
}

static weft_status_t ipc_export_range(weft_kernel_t *kernel, void *memory, uint64_t bytes,
                                      uint8_t handle[WEFT_IPC_HANDLE_BYTES])
{
    cuda_guard_t guard;
    weft_status_t status = cuda_guard_enter(kernel, &guard);
    if (status == WEFT_OK) {
        status = ipc_export_foreign(kernel, memory, bytes, handle);
        cuda_guard_leave(&guard);
    }
    return status;
}

static void ipc_unexport_range(weft_kernel_t *kernel, void *memory)
{
    bool found = false;
    pthread_mutex_lock(&registry.lock);
    for (cuda_export_t *e = registry.exports; e != NULL && !found; e = e->next) {
        found = e->foreign && e->owner == kernel && e->memory == memory;
        e->owner = found ? NULL : e->owner;
    }
    pthread_mutex_unlock(&registry.lock);
    cuda_ipc_exports_leave(cuda_ipc_exports_sweep());
}

/* Imports -------------------------------------------------------------------------------------- */

/* The export of this process that is open at `at`, taken once more or once less. */
static cuda_export_t *cuda_ipc_export_count(uint64_t at, uint64_t bytes, bool takes)
{
    pthread_mutex_lock(&registry.lock);
    cuda_export_t *e = registry.exports;
    while (e != NULL && ((uintptr_t)e->memory != at || e->bytes < bytes ||
                         (takes ? !e->used || e->owner == NULL : e->importers == 0))) {
        e = e->next;
    }
    if (e != NULL) {
        e->importers += takes ? 1 : -1u;
    }
    pthread_mutex_unlock(&registry.lock);
    return e;
}

static bool cuda_ipc_import_add(const cuda_ipc_mapping_t *mapping)
{
    cuda_ipc_import_t *import = calloc(1, sizeof *import);
    if (import != NULL) {
        import->mapping = *mapping;
        pthread_mutex_lock(&registry.lock);
        import->next = registry.imports;
        registry.imports = import;
        pthread_mutex_unlock(&registry.lock);
    }
    return import != NULL;
}

int cuda_ipc_device_of(const void *memory)
{
    int device = -1;
    pthread_mutex_lock(&registry.lock);
    for (const cuda_export_t *e = registry.exports; e != NULL; e = e->next) {
        device = e->memory == memory ? e->device : device;
    }
    for (const cuda_ipc_import_t *i = registry.imports; i != NULL; i = i->next) {
        device = i->mapping.memory == memory ? i->mapping.device : device;
    }
    pthread_mutex_unlock(&registry.lock);
    return device;
}

static cuda_ipc_mapping_t cuda_ipc_import_remove(const void *memory)
{
    cuda_ipc_mapping_t mapping = {.base = NULL};
    pthread_mutex_lock(&registry.lock);
    cuda_ipc_import_t **place = &registry.imports, *import;
    while ((import = *place) != NULL && import->mapping.memory != memory) {
        place = &import->next;
    }
    if (import != NULL) {
        mapping = import->mapping;
        *place = import->next;
    }
    pthread_mutex_unlock(&registry.lock);
    free(import);
    return mapping;
}

static void ipc_unimport(weft_kernel_t *kernel, void *memory)
{
    cuda_guard_t guard;
    if (cuda_guard_enter(kernel, &guard) != WEFT_OK) {
        return;
    }
    if (cuda_ipc_export_count((uintptr_t)memory, 0, false) == NULL) {
        const cuda_ipc_mapping_t mapping = cuda_ipc_import_remove(memory);
        cuda_ipc_mapping_leave(kernel, &mapping);
    } else {
        cuda_ipc_exports_leave(cuda_ipc_exports_sweep());
    }
    cuda_kept_end(kernel); /* now if it can be: who exported memory may free it soon */
    cuda_guard_leave(&guard);
}

/* Memory of another device: slots, which begin with a mark, are tried; windows may be in use, and
 * are refused if slots were tried in vain. */
static weft_status_t cuda_ipc_try(weft_kernel_t *kernel, const cuda_ipc_handle_t *handle,
                                  void *memory, uint64_t bytes)
{
    return handle->is_marked == 1 && bytes >= CUDA_PATHS_TRIED
               ? cuda_paths_try(kernel, handle->bus, memory, handle->mark)
               : cuda_paths_check(kernel, handle->bus);
}

/* Another kernel of this process exported it: the address is looked up before anybody believes
 * it. */
static weft_status_t cuda_ipc_import_here(weft_kernel_t *kernel, const cuda_ipc_handle_t *handle,
                                          uint64_t bytes, void **memory_p)
{
    bool can = true;
    const cuda_export_t *e = cuda_ipc_export_count(handle->at, bytes, true);
    if (e == NULL) {
        return cuda_ipc_handle_refuse(kernel, "its handle names no memory of this process");
    }
    weft_status_t status =
        e->device == kernel->device ? WEFT_OK : cuda_peer_enable(kernel, e->device, &can);
    if (status == WEFT_OK && !can) {
        status = cuda_ipc_handle_refuse(kernel, "the driver knows no way from device to device");
    }
    if (status == WEFT_OK && e->device != kernel->device) {
        status = cuda_ipc_handle_grants(e->memory)
                     ? cuda_ipc_try(kernel, handle, e->memory, bytes)
                     : cuda_ipc_handle_refuse(kernel, CUDA_NOT_GRANTED);
    }
    if (status != WEFT_OK) {
        ipc_unimport(kernel, e->memory);
        return status;
    }
    *memory_p = e->memory;
    return WEFT_OK;
}

static weft_status_t cuda_ipc_import_there(weft_kernel_t *kernel, const cuda_ipc_handle_t *handle,
                                           uint64_t bytes, void **memory_p)
{
    cuda_ipc_mapping_t mapping;
    bool can = true;
    int device = cuda_ipc_device_at(handle->bus);
    weft_status_t status =
        device < 0 || device == kernel->device ? WEFT_OK : cuda_peer_enable(kernel, device, &can);
    if (status == WEFT_OK && !can) {
        status = cuda_ipc_handle_refuse(kernel, "the driver knows no way from device to device");
    }
    status = status == WEFT_OK ? cuda_ipc_handle_open(kernel, handle, bytes, device >= 0, &mapping)
                               : status;
    if (status != WEFT_OK) {
        return status;
    }
    mapping.device = device;
    if (!cuda_ipc_import_add(&mapping)) {
        cuda_ipc_mapping_leave(kernel, &mapping);
        return cuda_failed(kernel, cudaErrorMemoryAllocation, "opening memory of another process");
    }
    status =
        device != kernel->device ? cuda_ipc_try(kernel, handle, mapping.memory, bytes) : WEFT_OK;
    if (status != WEFT_OK) {
        ipc_unimport(kernel, mapping.memory);
        return status;
    }
    *memory_p = mapping.memory;
    return WEFT_OK;
}

static weft_status_t ipc_import(weft_kernel_t *kernel,
                                const uint8_t bytes_of[WEFT_IPC_HANDLE_BYTES], uint64_t bytes,
                                void **memory_p)
{
    cuda_ipc_handle_t handle;
    cuda_guard_t guard;
    memcpy(&handle, bytes_of, sizeof handle);
    weft_status_t status = cuda_guard_enter(kernel, &guard);
    if (status == WEFT_OK) {
        status = handle.process == cuda_ipc_this_process(kernel)
                     ? cuda_ipc_import_here(kernel, &handle, bytes, memory_p)
                     : cuda_ipc_import_there(kernel, &handle, bytes, memory_p);
        cuda_guard_leave(&guard);
    }
    return status;
}

static weft_status_t ipc_read(weft_kernel_t *kernel, void *to, const void *memory, uint64_t bytes)
{
    cuda_guard_t guard;
    weft_status_t status = cuda_guard_enter(kernel, &guard);
    if (status == WEFT_OK) {
        status = cuda_device_read(kernel, to, memory, bytes);
        cuda_guard_leave(&guard);
    }
    return status;
}

const weft_kernel_ipc_t cuda_ipc = {
    .size = sizeof(weft_kernel_ipc_t),
    .location = ipc_location,
    .can_access = ipc_can_access,
    .export_alloc = ipc_export_alloc,
    .export_free = ipc_export_free,
    .import = ipc_import,
    .unimport = ipc_unimport,
    .export_range = ipc_export_range,
    .unexport_range = ipc_unexport_range,
    .read = ipc_read,
};
