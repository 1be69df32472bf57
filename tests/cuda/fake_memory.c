/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that the runtime knows, and copies between all sorts of it. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/cuda/fake.h"

/* Memory that was allocated or registered. */
typedef struct area {
    struct area *next;
    uintptr_t begin, end;
    enum cudaMemoryType type;
    int device;
    bool registered;
    int fd; /* of the file that is the memory, or −1 */
} area_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static area_t *areas;

/* Areas -------------------------------------------------------------------------------------------- */

/* Under the lock: one with a byte of the span, or NULL. */
static area_t *area_in(uintptr_t begin, uintptr_t end)
{
    area_t *area = areas;
    while (area != NULL && (area->begin >= end || begin >= area->end)) {
        area = area->next;
    }
    return area;
}

static area_t *area_add(void *at, size_t bytes, enum cudaMemoryType type, bool registered)
{
    area_t *area = malloc(sizeof *area);
    *area = (area_t){.next = areas,
                     .begin = (uintptr_t)at,
                     .end = (uintptr_t)at + bytes,
                     .type = type,
                     .device = fake_device(),
                     .registered = registered,
                     .fd = -1};
    areas = area;
    return area;
}

/* False: no such area begins there. */
static bool area_take_away(const void *at, enum cudaMemoryType type, bool registered)
{
    pthread_mutex_lock(&lock);
    area_t **link = &areas, *area;
    while ((area = *link) != NULL &&
           (area->begin != (uintptr_t)at || area->type != type || area->registered != registered)) {
        link = &area->next;
    }
    if (area != NULL) {
        *link = area->next;
    }
    pthread_mutex_unlock(&lock);
    free(area);
    return area != NULL;
}

static void place_of(struct cudaPointerAttributes *at, const void *pointer)
{
    memset(at, 0, sizeof *at);
    at->type = cudaMemoryTypeUnregistered;
    for (size_t i = 0; i < sizeof fake_cuda.place / sizeof fake_cuda.place[0]; i++) {
        const fake_place_t *place = &fake_cuda.place[i];
        if ((uintptr_t)pointer - (uintptr_t)place->at < place->bytes) {
            at->type = place->type;
            at->device = place->device;
        }
    }
    pthread_mutex_lock(&lock);
    const area_t *area = area_in((uintptr_t)pointer, (uintptr_t)pointer + 1);
    if (at->type == cudaMemoryTypeUnregistered && area != NULL) {
        at->type = area->type;
        at->device = area->device;
    }
    pthread_mutex_unlock(&lock);
    if (at->type != cudaMemoryTypeUnregistered) {
        at->devicePointer = (void *)(uintptr_t)pointer;
        at->hostPointer = at->type == cudaMemoryTypeDevice ? NULL : at->devicePointer;
    }
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *at, const void *pointer)
{
    place_of(at, pointer);
    return fake_answer(__func__);
}

/* For calls that disturb captures. */
static cudaError_t unsafe(const char *name)
{
    pthread_mutex_lock(&fake_lock);
    cudaError_t error = fake_capture_unsafe();
    pthread_mutex_unlock(&fake_lock);
    return error == cudaSuccess ? fake_answer(name) : error;
}

static bool captured(cudaStream_t handle)
{
    pthread_mutex_lock(&fake_lock);
    cudaStream_t stream = fake_stream_of(handle);
    const bool is = stream != NULL && stream->capture != NULL;
    pthread_mutex_unlock(&fake_lock);
    return is;
}

/* Of the host -------------------------------------------------------------------------------------- */

cudaError_t cudaHostRegister(void *at, size_t bytes, unsigned flags)
{
    cudaError_t error = unsafe(__func__);
    (void)flags;
    pthread_mutex_lock(&lock);
    if (error == cudaSuccess && area_in((uintptr_t)at, (uintptr_t)at + bytes) != NULL) {
        error = cudaErrorHostMemoryAlreadyRegistered;
    }
    if (error == cudaSuccess) {
        area_add(at, bytes, cudaMemoryTypeHost, true);
        atomic_fetch_add(&fake_cuda.registered, 1);
        atomic_fetch_add(&fake_cuda.registrations, 1);
    }
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t cudaHostUnregister(void *at)
{
    cudaError_t error = unsafe(__func__);
    if (error != cudaSuccess) {
        return error;
    }
    if (!area_take_away(at, cudaMemoryTypeHost, true)) {
        return cudaErrorHostMemoryNotRegistered;
    }
    atomic_fetch_sub(&fake_cuda.registered, 1);
    return cudaSuccess;
}

static cudaError_t allocate(const char *name, void **at, size_t bytes, enum cudaMemoryType type)
{
    cudaError_t error = unsafe(name);
    *at = error == cudaSuccess ? aligned_alloc(256, (bytes + 256) / 256 * 256) : NULL;
    if (*at == NULL) {
        return error == cudaSuccess ? cudaErrorMemoryAllocation : error;
    }
    memset(*at, 0xd5, bytes); /* nobody may count on zeros */
    pthread_mutex_lock(&lock);
    area_add(*at, bytes, type, false);
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(type == cudaMemoryTypeHost ? &fake_cuda.visible : &fake_cuda.allocated, 1);
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **at, size_t bytes, unsigned flags)
{
    (void)flags;
    return allocate(__func__, at, bytes, cudaMemoryTypeHost);
}

cudaError_t cudaFreeHost(void *at)
{
    cudaError_t error = unsafe(__func__);
    if (error != cudaSuccess) {
        return error;
    }
    if (!area_take_away(at, cudaMemoryTypeHost, false)) {
        return cudaErrorInvalidValue;
    }
    free(at);
    atomic_fetch_sub(&fake_cuda.visible, 1);
    return cudaSuccess;
}

/* Of a device -------------------------------------------------------------------------------------- */

void *fake_memory_map(int fd, uint64_t offset, uint64_t bytes, int device)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    if (at == MAP_FAILED) {
        return NULL;
    }
    pthread_mutex_lock(&lock);
    area_t *area = area_add(at, bytes, cudaMemoryTypeDevice, false);
    area->fd = fd;
    area->device = device;
    pthread_mutex_unlock(&lock);
    return at;
}

bool fake_memory_fd(const void *at, int *fd, uint64_t *offset, uint64_t *bytes)
{
    pthread_mutex_lock(&lock);
    const area_t *area = area_in((uintptr_t)at, (uintptr_t)at + 1);
    bool found = area != NULL && area->begin == (uintptr_t)at && area->fd >= 0;
    if (found) {
        *fd = area->fd;
        *offset = 0;
        *bytes = area->end - area->begin;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

bool fake_memory_unmap(void *at)
{
    int fd;
    uint64_t offset, bytes;
    if (!fake_memory_fd(at, &fd, &offset, &bytes)) {
        return false;
    }
    area_take_away(at, cudaMemoryTypeDevice, false);
    munmap(at, bytes);
    close(fd);
    return true;
}

/* A file, so that other processes can map it. */
cudaError_t cudaMalloc(void **at, size_t bytes)
{
    cudaError_t error = fake_answer(__func__);
    int fd = error == cudaSuccess ? memfd_create("device", MFD_CLOEXEC) : -1;
    *at = NULL;
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0) {
        *at = fake_memory_map(fd, 0, bytes, fake_device());
    }
    if (*at == NULL) {
        return error == cudaSuccess ? cudaErrorMemoryAllocation : error;
    }
    memset(*at, 0xd5, bytes); /* nobody may count on zeros */
    atomic_fetch_add(&fake_cuda.allocated, 1);
    return cudaSuccess;
}

/* Waits for everything on the device, as CUDA does: what is freed may be in use. */
cudaError_t cudaFree(void *at)
{
    cudaError_t error = at != NULL ? cudaDeviceSynchronize() : cudaSuccess;
    if (at == NULL || error != cudaSuccess) {
        return error;
    }
    if (!fake_memory_unmap(at)) {
        return cudaErrorInvalidValue;
    }
    atomic_fetch_sub(&fake_cuda.allocated, 1);
    return cudaSuccess;
}

/* Allocations in graphs are not modelled. At once: earlier than a device would, which nobody sees who keeps the order of the stream. */
cudaError_t cudaMallocAsync(void **at, size_t bytes, cudaStream_t stream)
{
    return captured(stream) ? cudaErrorNotSupported
                            : allocate(__func__, at, bytes, cudaMemoryTypeDevice);
}

static void free_work(const void *arg)
{
    void *const *at = arg;
    free(*at);
}

cudaError_t cudaFreeAsync(void *at, cudaStream_t stream)
{
    if (captured(stream)) {
        return cudaErrorNotSupported;
    }
    if (!area_take_away(at, cudaMemoryTypeDevice, false)) {
        return cudaErrorInvalidValue;
    }
    atomic_fetch_sub(&fake_cuda.allocated, 1);
    return fake_put(stream, free_work, &at, sizeof at);
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *most)
{
    *free_bytes = fake_cuda.free_bytes;
    *most = fake_cuda.all_bytes;
    return fake_answer(__func__);
}

/* Copies ------------------------------------------------------------------------------------------- */

typedef struct copy {
    void *to;
    const void *from; /* NULL: the bytes follow */
    size_t bytes;
    uint8_t taken[];
} copy_t;

static void copy_work(const void *arg)
{
    const copy_t *copy = arg;
    memmove(copy->to, copy->from != NULL ? copy->from : copy->taken, copy->bytes);
}

static bool pageable(const void *at)
{
    struct cudaPointerAttributes where;
    place_of(&where, at);
    return where.type == cudaMemoryTypeUnregistered;
}

/* Bytes of pageable memory are taken at once, and have come there on return; not in a capture, whose
 * replays read and write what is there then. */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    const bool now = !captured(stream), take = now && pageable(from);
    cudaError_t error = fake_answer(__func__);
    copy_t *copy = malloc(sizeof *copy + (take ? bytes : 0));
    (void)kind;
    *copy = (copy_t){.to = to, .from = take ? NULL : from, .bytes = bytes};
    if (take) {
        memcpy(copy->taken, from, bytes);
    }
    if (error == cudaSuccess) {
        error = fake_put(stream, copy_work, copy, sizeof *copy + (take ? bytes : 0));
    }
    free(copy);
    if (error == cudaSuccess && now && pageable(to)) {
        error = fake_stream_settle(stream);
    }
    return error;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, cudaStreamLegacy);
    return error == cudaSuccess ? fake_stream_settle(cudaStreamLegacy) : error;
}

typedef struct fill {
    void *to;
    int value;
    size_t bytes;
} fill_t;

static void fill_work(const void *arg)
{
    const fill_t *fill = arg;
    memset(fill->to, fill->value, fill->bytes);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    const fill_t fill = {.to = to, .value = value, .bytes = bytes};
    cudaError_t error = fake_answer(__func__);
    return error == cudaSuccess ? fake_put(stream, fill_work, &fill, sizeof fill) : error;
}
