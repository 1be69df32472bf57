/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See share.h. Within a process a pointer is enough, once the devices' way to each other is open. Between
 * processes the driver's IPC handles open whole allocations, so each export is one. Whether there is a way
 * between two devices, over NVLink or PCIe, is what the driver says.
 *
 * Memory that is given back waits for the next export: cudaFree() waits for every kernel of the device,
 * and kernels here wait for other ranks. It is freed when the kernel ends. */
#include "share.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weft/sdk/host_identity.h>
#include "driver.h"
#include "memory.h"

/* The driver shares pages of this size: a smaller export would show its neighbours to the peer. */
#define GRANULE (UINT64_C(2) << 20)
#define BUS_BYTES 16 /* "0000:3b:00.0" */

/* Where a device is. A random number tells processes apart, whose ids repeat between containers; the
 * address on the bus is the same for all of a host. */
typedef struct cuda_place {
    uint8_t host[WEFT_HOST_IDENTITY_BYTES];
    uint64_t process;
    char bus[BUS_BYTES];
    uint8_t zero[16];
} cuda_place_t;

typedef struct cuda_token {
    uint64_t process;
    uint64_t at; /* in that process */
    char bus[BUS_BYTES];
    uint64_t offset; /* in the allocation of the handle */
    uint32_t has_handle;
    uint32_t zero;
    cudaIpcMemHandle_t handle;
} cuda_token_t;

_Static_assert(sizeof(cuda_place_t) == WEFT_SHARE_PLACE, "fills the place");
_Static_assert(sizeof(cuda_token_t) <= WEFT_SHARE_TOKEN, "fits the token");

/* An allocation for one export at a time, or memory that somebody else allocated and lends. */
typedef struct cuda_export {
    struct cuda_export *next;
    const weft_kernel_t *owner; /* NULL: it has ended */
    void *memory;
    uint64_t bytes;
    int device;
    uint32_t importers; /* kernels of this process that have it open */
    bool used;
    bool lent;
} cuda_export_t;

/* Memory of another process that does not begin where its allocation does. */
typedef struct cuda_inside {
    struct cuda_inside *next;
    void *memory, *base;
} cuda_inside_t;

/* All of the process, as tokens name memory of other kernels. The lock is not held where the driver may
 * wait for kernels. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cuda_export_t *exports;
static cuda_inside_t *insides;
static uint64_t process_number;
static pid_t process_id; /* whose number it is: a child that was forked needs another */

static uint64_t this_process(const weft_kernel_t *kernel)
{
    pthread_mutex_lock(&lock);
    if (process_id != getpid() &&
        kernel->host->random(kernel->host, &process_number, sizeof process_number) == WEFT_OK) {
        process_id = getpid();
    }
    uint64_t number = process_id == getpid() ? process_number : 0;
    pthread_mutex_unlock(&lock);
    return number;
}

/* Places ------------------------------------------------------------------------------------------- */

static void share_place(weft_kernel_t *kernel, uint8_t place[WEFT_SHARE_PLACE])
{
    cuda_place_t mine = {.process = this_process(kernel)};
    if (!weft_host_identity_read(mine.host) ||
        cudaDeviceGetPCIBusId(mine.bus, sizeof mine.bus, kernel->device) != cudaSuccess) {
        mine = (cuda_place_t){.process = 0}; /* nobody reaches it */
    }
    memcpy(place, &mine, sizeof mine);
}

static weft_status_t share_refused(const weft_kernel_t *kernel, const char *why)
{
    return kernel->host->set_error(kernel->host, WEFT_ERR_UNSUPPORTED, 0,
                                   "CUDA device %d cannot write to the receiver's: %s",
                                   kernel->device, why);
}

/* The device at an address on the bus, or −1. The address is a peer's word. */
static int device_at(const char bus[BUS_BYTES])
{
    char text[BUS_BYTES + 1] = "";
    int device = -1;
    memcpy(text, bus, BUS_BYTES);
    if (cudaDeviceGetByPCIBusId(&device, text) != cudaSuccess) {
        cudaGetLastError(); /* else the caller's next call of it would tell of this */
        return -1;
    }
    return device;
}

static weft_status_t share_reaches(weft_kernel_t *kernel, const uint8_t place[WEFT_SHARE_PLACE])
{
    static const uint8_t nowhere[WEFT_HOST_IDENTITY_BYTES];
    cuda_place_t there, here;
    int can = 0;
    memcpy(&there, place, sizeof there);
    share_place(kernel, (uint8_t *)&here);
    if (memcmp(there.host, nowhere, WEFT_HOST_IDENTITY_BYTES) == 0 ||
        memcmp(there.host, here.host, WEFT_HOST_IDENTITY_BYTES) != 0) {
        return share_refused(kernel, "it is on another host, or either host does not tell");
    }
    int device = device_at(there.bus);
    if (device < 0) {
        return share_refused(kernel,
                             "this process does not see that device; look at CUDA_VISIBLE_DEVICES");
    }
    if (device != kernel->device &&
        (cudaDeviceCanAccessPeer(&can, kernel->device, device) != cudaSuccess || can == 0)) {
        return share_refused(kernel, "the driver knows no way from device to device");
    }
    return WEFT_OK;
}

/* Exports ------------------------------------------------------------------------------------------- */

/* Memory that waits for a next use, or NULL. */
static cuda_export_t *export_reuse(const weft_kernel_t *kernel, uint64_t bytes)
{
    cuda_export_t *found = NULL;
    pthread_mutex_lock(&lock);
    for (cuda_export_t *e = exports; e != NULL && found == NULL; e = e->next) {
        if (e->owner == kernel && !e->used && !e->lent && e->importers == 0 && e->bytes >= bytes) {
            found = e;
            e->used = true;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static cuda_export_t *export_add(const weft_kernel_t *kernel, uint64_t bytes)
{
    cuda_export_t *e = calloc(1, sizeof *e); /* it may outlive the kernel and its host */
    if (e == NULL) {
        (void)cuda_failed(kernel, cudaErrorMemoryAllocation, "sharing memory");
        return NULL;
    }
    e->bytes = (bytes + GRANULE - 1) / GRANULE * GRANULE;
    cudaError_t error = cudaMalloc(&e->memory, e->bytes);
    if (error != cudaSuccess) {
        free(e);
        cudaGetLastError();
        (void)cuda_failed(kernel, error, "allocating memory for slots");
        return NULL;
    }
    e->owner = kernel;
    e->device = kernel->device;
    e->used = true;
    pthread_mutex_lock(&lock);
    e->next = exports;
    exports = e;
    pthread_mutex_unlock(&lock);
    return e;
}

static weft_status_t share_export(weft_kernel_t *kernel, uint64_t bytes, void **memory_p,
                                  uint8_t token[WEFT_SHARE_TOKEN])
{
    cuda_token_t mine = {.process = this_process(kernel)};
    cuda_visit_t visit;
    weft_status_t status = cuda_visit_begin(kernel, &visit);
    if (status != WEFT_OK) {
        return status;
    }
    cuda_export_t *e = export_reuse(kernel, bytes);
    e = e == NULL ? export_add(kernel, bytes) : e;
    if (e != NULL) {
        mine.at = (uintptr_t)e->memory;
        /* Ranks of this process need no handle, and some systems give none. */
        mine.has_handle = cudaIpcGetMemHandle(&mine.handle, e->memory) == cudaSuccess;
        cudaGetLastError();
        cudaDeviceGetPCIBusId(mine.bus, sizeof mine.bus, kernel->device);
        memcpy(token, &mine, sizeof mine);
        *memory_p = e->memory;
    }
    cuda_visit_end(&visit);
    return e != NULL ? WEFT_OK : WEFT_ERR_RESOURCE;
}

static void share_unexport(weft_kernel_t *kernel, void *memory)
{
    pthread_mutex_lock(&lock);
    for (cuda_export_t *e = exports; e != NULL; e = e->next) {
        e->used = e->used && (e->owner != kernel || e->memory != memory);
    }
    pthread_mutex_unlock(&lock);
}

/* Frees a list of exports that nobody has any more. */
static void exports_free(cuda_export_t *list)
{
    while (list != NULL) {
        cuda_export_t *e = list;
        list = e->next;
        if (!e->lent) {
            cudaFree(e->memory);
        }
        free(e);
    }
}

/* Takes what has neither owner nor importer off the list of the process. */
static cuda_export_t *exports_sweep(void)
{
    cuda_export_t *taken = NULL;
    pthread_mutex_lock(&lock);
    for (cuda_export_t **at = &exports; *at != NULL;) {
        cuda_export_t *e = *at;
        if (e->owner != NULL || e->importers > 0) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        e->next = taken;
        taken = e;
    }
    pthread_mutex_unlock(&lock);
    return taken;
}

void cuda_share_close(weft_kernel_t *kernel)
{
    pthread_mutex_lock(&lock);
    for (cuda_export_t *e = exports; e != NULL; e = e->next) {
        e->owner = e->owner == kernel ? NULL : e->owner;
    }
    pthread_mutex_unlock(&lock);
    exports_free(exports_sweep());
}

/* Lent memory --------------------------------------------------------------------------------------- */

/* The runtime does not tell where an allocation begins; the driver does. */
typedef int (*range_fn_t)(unsigned long long *base, size_t *bytes, unsigned long long at);

static range_fn_t driver_range(void)
{
    void *found = cuda_driver_function("cuMemGetAddressRange", 3020);
    range_fn_t range = NULL;
    memcpy(&range, &found, sizeof range);
    return range;
}

/* The allocation of the driver's in which all of that memory is. */
static bool allocation_of(const void *memory, uint64_t bytes, void **base_p)
{
    unsigned long long base = 0;
    size_t all = 0;
    range_fn_t range = driver_range();
    if (range == NULL || range(&base, &all, (uintptr_t)memory) != 0) {
        return false;
    }
    const uint64_t offset = (uintptr_t)memory - base;
    *base_p = (void *)(uintptr_t)base;
    return offset <= all && bytes <= all - offset;
}

static weft_status_t lend_add(weft_kernel_t *kernel, void *memory, uint64_t bytes)
{
    cuda_export_t *e = calloc(1, sizeof *e);
    if (e == NULL) {
        return cuda_failed(kernel, cudaErrorMemoryAllocation, "lending memory");
    }
    *e = (cuda_export_t){.owner = kernel,
                         .memory = memory,
                         .bytes = bytes,
                         .device = kernel->device,
                         .used = true,
                         .lent = true};
    pthread_mutex_lock(&lock);
    e->next = exports;
    exports = e;
    pthread_mutex_unlock(&lock);
    return WEFT_OK;
}

static weft_status_t lend(weft_kernel_t *kernel, void *memory, uint64_t bytes,
                          uint8_t token[WEFT_SHARE_TOKEN])
{
    cuda_token_t mine = {.process = this_process(kernel), .at = (uintptr_t)memory};
    struct cudaPointerAttributes where;
    void *base = NULL;
    if (cudaPointerGetAttributes(&where, memory) != cudaSuccess ||
        where.type != cudaMemoryTypeDevice || where.device != kernel->device ||
        !allocation_of(memory, bytes, &base)) {
        cudaGetLastError();
        return kernel->host->set_error(kernel->host, WEFT_ERR_UNSUPPORTED, 0,
                                       "%p is no memory of CUDA device %d, or ends before %llu "
                                       "bytes; use weft_mem_alloc_device or cudaMalloc",
                                       memory, kernel->device, (unsigned long long)bytes);
    }
    /* Ranks of this process need no handle, and some memory has none. */
    mine.offset = (uintptr_t)memory - (uintptr_t)base;
    mine.has_handle = cudaIpcGetMemHandle(&mine.handle, base) == cudaSuccess;
    cudaGetLastError();
    cudaDeviceGetPCIBusId(mine.bus, sizeof mine.bus, kernel->device);
    memcpy(token, &mine, sizeof mine);
    return lend_add(kernel, memory, bytes);
}

static weft_status_t share_lend(weft_kernel_t *kernel, void *memory, uint64_t bytes,
                                uint8_t token[WEFT_SHARE_TOKEN])
{
    cuda_visit_t visit;
    weft_status_t status = cuda_visit_begin(kernel, &visit);
    if (status == WEFT_OK) {
        status = lend(kernel, memory, bytes, token);
        cuda_visit_end(&visit);
    }
    return status;
}

static void share_unlend(weft_kernel_t *kernel, void *memory)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (cuda_export_t *e = exports; e != NULL && !found; e = e->next) {
        found = e->lent && e->owner == kernel && e->memory == memory;
        e->owner = found ? NULL : e->owner;
    }
    pthread_mutex_unlock(&lock);
    exports_free(exports_sweep());
}

/* Imports ------------------------------------------------------------------------------------------- */

/* The export of this process that is open at `at`, taken once more or once less. */
static cuda_export_t *export_count(uint64_t at, uint64_t bytes, bool takes)
{
    pthread_mutex_lock(&lock);
    cuda_export_t *e = exports;
    while (e != NULL && ((uintptr_t)e->memory != at || e->bytes < bytes ||
                         (takes ? !e->used || e->owner == NULL : e->importers == 0))) {
        e = e->next;
    }
    if (e != NULL) {
        e->importers += takes ? 1 : -1u;
    }
    pthread_mutex_unlock(&lock);
    return e;
}

static weft_status_t import_failed(const weft_kernel_t *kernel, cudaError_t error)
{
    cudaGetLastError(); /* else the caller's next call of it would tell of this */
    return cuda_failed(kernel, error, "opening memory of another process");
}

/* Notes where the allocation begins. */
static bool inside_put(void *memory, void *base)
{
    cuda_inside_t *inside = memory != base ? calloc(1, sizeof *inside) : NULL;
    if (inside != NULL) {
        *inside = (cuda_inside_t){.memory = memory, .base = base};
        pthread_mutex_lock(&lock);
        inside->next = insides;
        insides = inside;
        pthread_mutex_unlock(&lock);
    }
    return inside != NULL || memory == base;
}

static void *inside_take(void *memory)
{
    void *base = memory;
    pthread_mutex_lock(&lock);
    cuda_inside_t **place = &insides, *inside;
    while ((inside = *place) != NULL && inside->memory != memory) {
        place = &inside->next;
    }
    if (inside != NULL) {
        base = inside->base;
        *place = inside->next;
    }
    pthread_mutex_unlock(&lock);
    free(inside);
    return base;
}

static void share_unimport(weft_kernel_t *kernel, void *memory)
{
    cuda_visit_t visit;
    if (cuda_visit_begin(kernel, &visit) != WEFT_OK) {
        return;
    }
    if (export_count((uintptr_t)memory, 0, false) == NULL) {
        cudaIpcCloseMemHandle(inside_take(memory));
    } else {
        exports_free(exports_sweep());
    }
    cuda_visit_end(&visit);
}

/* Another kernel of this process exported it: the address is looked up before anybody believes it. */
static weft_status_t import_here(weft_kernel_t *kernel, const cuda_token_t *token, uint64_t bytes,
                                 void **memory_p)
{
    bool can = true;
    const cuda_export_t *e = export_count(token->at, bytes, true);
    if (e == NULL) {
        return share_refused(kernel, "its token names no memory of this process");
    }
    weft_status_t status =
        e->device == kernel->device ? WEFT_OK : cuda_peer_open(kernel, e->device, &can);
    if (status == WEFT_OK && !can) {
        status = share_refused(kernel, "the driver knows no way from device to device");
    }
    if (status != WEFT_OK) {
        share_unimport(kernel, e->memory);
        return status;
    }
    *memory_p = e->memory;
    return WEFT_OK;
}

/* Whether what was opened is as long as the token says. Where the driver tells no length, what lies at the
 * end must be memory of a device too. */
static bool reaches_to(const void *memory, uint64_t bytes)
{
    struct cudaPointerAttributes at;
    void *base = NULL;
    return driver_range() != NULL
               ? allocation_of(memory, bytes, &base)
               : cudaPointerGetAttributes(&at, (const uint8_t *)memory + bytes - 1) ==
                         cudaSuccess &&
                     at.type == cudaMemoryTypeDevice;
}

static weft_status_t import_there(weft_kernel_t *kernel, const cuda_token_t *token, uint64_t bytes,
                                  void **memory_p)
{
    void *memory = NULL;
    bool can = true;
    int device = device_at(token->bus);
    if (token->has_handle == 0 || device < 0) {
        return share_refused(kernel, device < 0 ? "this process does not see that device"
                                                : "its driver gives no handles to other processes");
    }
    weft_status_t status =
        device == kernel->device ? WEFT_OK : cuda_peer_open(kernel, device, &can);
    if (status != WEFT_OK || !can) {
        return status != WEFT_OK
                   ? status
                   : share_refused(kernel, "the driver knows no way from device to device");
    }
    cudaError_t error =
        cudaIpcOpenMemHandle(&memory, token->handle, cudaIpcMemLazyEnablePeerAccess);
    if (error != cudaSuccess) {
        return import_failed(kernel, error);
    }
    uint8_t *there = (uint8_t *)((uintptr_t)memory + token->offset);
    if (token->offset > INT64_MAX || !reaches_to(memory, token->offset + bytes) ||
        !inside_put(there, memory)) {
        cudaIpcCloseMemHandle(memory);
        return share_refused(kernel, "its memory is shorter than it says");
    }
    *memory_p = there;
    return WEFT_OK;
}

static weft_status_t share_import(weft_kernel_t *kernel, const uint8_t bytes_of[WEFT_SHARE_TOKEN],
                                  uint64_t bytes, void **memory_p)
{
    cuda_token_t token;
    cuda_visit_t visit;
    memcpy(&token, bytes_of, sizeof token);
    weft_status_t status = cuda_visit_begin(kernel, &visit);
    if (status == WEFT_OK) {
        status = token.process == this_process(kernel)
                     ? import_here(kernel, &token, bytes, memory_p)
                     : import_there(kernel, &token, bytes, memory_p);
        cuda_visit_end(&visit);
    }
    return status;
}

const weft_kernel_share_t cuda_share = {
    .size = sizeof(weft_kernel_share_t),
    .place = share_place,
    .reaches = share_reaches,
    .export_memory = share_export,
    .unexport = share_unexport,
    .import = share_import,
    .unimport = share_unimport,
    .lend = share_lend,
    .unlend = share_unlend,
};
