/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that the runtime knows. A device's memory has two addresses: the one that everybody is
 * given is only reserved, so a host that follows it crashes; the other one is for what runs on the
 * device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/cuda/fake.h"
#include "tests/cuda/fake_spans.h"

/* Memory that was allocated or registered. */
typedef struct area {
    uintptr_t begin, end; /* as everybody has it */
    uint8_t *real;        /* where the bytes are */
    enum cudaMemoryType type;
    int device;
    bool registered;
    int fd;                        /* of the file that is the memory, or −1 */
    fake_allocation_t *allocation; /* of virtual memory, or NULL */
    cudaMemPool_t pool;            /* that it is of, or NULL */
    uint32_t access;               /* a bit for each device that may */
    uint8_t *astray;               /* where kernels of other devices get that lose their way */
} area_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static fake_spans_t areas; /* of the host */

static fake_spans_t apart;             /* of devices, by where the bytes are … */
static area_t *area_of[FAKE_GRANULES]; /* … by granule: what has it now */

/* Areas ---------------------------------------------------------------------------------------- */

/* Under the lock: one of the host with a byte of the span, or NULL. */
static area_t *area_in(uintptr_t begin, uintptr_t end)
{
    return fake_spans_in(&areas, begin, end);
}

/* Under the lock: the one of a device with the address, or NULL. */
static area_t *area_apart(uintptr_t address)
{
    const uint32_t granule = fake_addresses_granule(address);
    area_t *area = granule < FAKE_GRANULES ? area_of[granule] : NULL;
    return area != NULL && address < area->end ? area : NULL;
}

/* Memory of the host. Under the lock. */
static void area_add(void *at, size_t bytes, bool registered)
{
    area_t *area = malloc(sizeof *area);
    *area = (area_t){.begin = (uintptr_t)at,
                     .end = (uintptr_t)at + bytes,
                     .real = at,
                     .type = cudaMemoryTypeHost,
                     .registered = registered,
                     .fd = -1};
    fake_spans_add(&areas, area->begin, bytes, area);
}

/* The area has the granules from the one of `at` on. */
static void area_set(const void *at, size_t bytes, area_t *area)
{
    const uint32_t first = fake_addresses_granule((uintptr_t)at);
    for (size_t i = 0; i <= bytes / FAKE_GRANULE; i++) {
        area_of[first + i] = area;
    }
}

void *fake_memory_apart(void *real, size_t bytes, int device, int fd)
{
    area_t *area = malloc(sizeof *area);
    pthread_mutex_lock(&lock);
    void *at = fake_addresses_take(bytes);
    if (at != NULL) {
        *area = (area_t){.begin = (uintptr_t)at,
                         .end = (uintptr_t)at + bytes,
                         .real = real,
                         .type = cudaMemoryTypeDevice,
                         .device = device,
                         .access = fd >= 0 ? UINT32_MAX : 1u << device, /* of pools: its own */
                         .fd = fd};
        area_set(at, bytes, area);
        fake_spans_add(&apart, (uintptr_t)real, bytes, area);
    }
    pthread_mutex_unlock(&lock);
    if (at == NULL) {
        free(area);
    }
    return at;
}

static void area_free(area_t *area)
{
    free(area->astray);
    if (area->pool != NULL) {
        fake_pool_drop(area->pool);
    }
    if (area->allocation != NULL) {
        mmap(area->real, area->end - area->begin, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        fake_allocation_drop(area->allocation);
        free(area);
        return;
    }
    if (area->fd >= 0) {
        munmap(area->real, area->end - area->begin);
        close(area->fd);
    } else if (!area->registered) {
        free(area->real);
    }
    free(area);
}

/* The area of the host that begins there, which the runtime knows no more; NULL: none does. */
static area_t *area_take_away(const void *at, bool registered)
{
    pthread_mutex_lock(&lock);
    area_t *area = NULL;
    for (size_t i = fake_spans_from(&areas, (uintptr_t)at);
         i < areas.count && areas.span[i].begin == (uintptr_t)at && area == NULL; i++) {
        area_t *here = areas.span[i].of;
        area = here->registered == registered ? here : NULL;
    }
    if (area != NULL) {
        fake_spans_take_out(&areas, area->begin, area);
    }
    pthread_mutex_unlock(&lock);
    return area;
}

/* Under the lock. */
static uintptr_t real_of(uintptr_t address)
{
    const area_t *area = area_apart(address);
    return area != NULL ? (uintptr_t)area->real + (address - area->begin) : address;
}

/* Under the lock: the device whose memory has the byte there, as kernels have it, or −1. */
static int device_of(uintptr_t real)
{
    const area_t *area = fake_spans_in(&apart, real, real + 1);
    return area != NULL ? area->device : -1;
}

/* What the test has said of the address, or NULL. */
static const fake_place_t *said_of(uintptr_t address)
{
    const fake_place_t *said = NULL;
    for (size_t i = 0; i < sizeof fake_cuda.place / sizeof fake_cuda.place[0]; i++) {
        const fake_place_t *place = &fake_cuda.place[i];
        said = address - (uintptr_t)place->at < place->bytes ? place : said;
    }
    return said;
}

/* Under the lock: whether a word that a kernel is given is memory of the host which no device
 * behind a bus reaches. Addresses of a program are so high that no two short numbers in a word look
 * like one. */
static bool is_out_of_reach(uintptr_t word)
{
    const uintptr_t least = UINT64_C(0x500000000000), end = UINT64_C(1) << 48;
    return fake_cuda.not_pageable && !fake_cuda.misroutes && word >= least && word < end &&
           area_in(word, word + 1) == NULL && said_of(word) == NULL && device_of(word) < 0 &&
           fake_pages_are_mapped(word, 1);
}

/* Under the lock, for a kernel: as real_of(), but where the bus leads it. */
static uintptr_t real_for_kernel(uintptr_t address)
{
    area_t *area = area_apart(address);
    if (area != NULL && (area->access >> fake_blocks_device_now() & 1) == 0) {
        fprintf(stderr, "fake_cuda: a kernel of device %d may not access %p of device %d\n",
                fake_blocks_device_now(), (void *)address, area->device);
        abort();
    }
    if (area == NULL && is_out_of_reach(address)) {
        fprintf(stderr,
                "fake_cuda: a kernel of device %d is given %p, memory of the host that is not "
                "registered\n",
                fake_blocks_device_now(), (void *)address);
        abort();
    }
    if (area == NULL || !fake_cuda.misroutes || area->device == fake_blocks_device_now()) {
        return real_of(address);
    }
    if (area->astray == NULL) {
        area->astray = calloc(1, area->end - area->begin);
    }
    return (uintptr_t)area->astray + (address - area->begin);
}

void *fake_memory_real(const void *at)
{
    pthread_mutex_lock(&lock);
    const uintptr_t real = real_of((uintptr_t)at);
    pthread_mutex_unlock(&lock);
    return (void *)real;
}

void fake_memory_aim(void *words, size_t bytes)
{
    uintptr_t *word = words;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < bytes / sizeof *word; i++) {
        word[i] = real_for_kernel(word[i]);
    }
    pthread_mutex_unlock(&lock);
}

bool fake_memory_is_apart(const void *word)
{
    pthread_mutex_lock(&lock);
    const int device = device_of((uintptr_t)word);
    pthread_mutex_unlock(&lock);
    return device >= 0 && device != fake_blocks_device_now();
}

void fake_memory_count(int what, const void *word)
{
    if (!fake_cuda.counts) {
        return;
    }
    if (what != FAKE_READ) {
        atomic_fetch_add(what == FAKE_GLANCE    ? &fake_cuda.glances
                         : what == FAKE_NOTE    ? &fake_cuda.notes
                         : what == FAKE_HOLD    ? &fake_cuda.holds
                         : what == FAKE_STEPPED ? &fake_cuda.stepped
                         : what == FAKE_SEEK    ? &fake_cuda.seeks
                                                : &fake_cuda.tells,
                         1);
        return;
    }
    pthread_mutex_lock(&lock);
    const int device = device_of((uintptr_t)word);
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(device < 0                           ? &fake_cuda.reads_host
                     : device == fake_blocks_device_now() ? &fake_cuda.reads_own
                                                          : &fake_cuda.reads_apart,
                     1);
}

static void place_of(struct cudaPointerAttributes *at, const void *pointer)
{
    memset(at, 0, sizeof *at);
    at->type = cudaMemoryTypeUnregistered;
    const fake_place_t *said = said_of((uintptr_t)pointer);
    if (said != NULL) {
        at->type = said->type;
        at->device = said->device;
    }
    pthread_mutex_lock(&lock);
    const area_t *area = area_apart((uintptr_t)pointer);
    area = area != NULL ? area : area_in((uintptr_t)pointer, (uintptr_t)pointer + 1);
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

enum cudaMemoryType fake_memory_type(const void *at)
{
    struct cudaPointerAttributes where;
    place_of(&where, at);
    return where.type;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *at, const void *pointer)
{
    (void)fake_device();
    place_of(at, pointer);
    return fake_answer(__func__);
}

cudaError_t fake_memory_unsafe(const char *name)
{
    pthread_mutex_lock(&fake_lock);
    cudaError_t error = fake_capture_unsafe();
    pthread_mutex_unlock(&fake_lock);
    return error == cudaSuccess ? fake_answer(name) : error;
}

bool fake_stream_captured(cudaStream_t handle)
{
    pthread_mutex_lock(&fake_lock);
    cudaStream_t stream = fake_stream_of(handle);
    const bool is = stream != NULL && stream->capture != NULL;
    pthread_mutex_unlock(&fake_lock);
    return is;
}

/* Of the host ---------------------------------------------------------------------------------- */

cudaError_t cudaHostRegister(void *at, size_t bytes, unsigned flags)
{
    cudaError_t error = fake_memory_unsafe(__func__);
    (void)flags;
    fake_context_wait(FAKE_WAITS_ALLOC, __func__);
    if (error == cudaSuccess && !fake_pages_pin((uintptr_t)at, bytes)) {
        return fake_told(cudaErrorInvalidValue);
    }
    pthread_mutex_lock(&lock);
    if (error == cudaSuccess && area_in((uintptr_t)at, (uintptr_t)at + bytes) != NULL) {
        error = fake_told(cudaErrorHostMemoryAlreadyRegistered);
    }
    if (error == cudaSuccess) {
        area_add(at, bytes, true);
        atomic_fetch_add(&fake_cuda.registered, 1);
        atomic_fetch_add(&fake_cuda.registrations, 1);
    }
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t cudaHostUnregister(void *at)
{
    cudaError_t error = fake_memory_unsafe(__func__);
    if (error != cudaSuccess) {
        return error;
    }
    fake_context_wait(FAKE_WAITS_FREE, __func__);
    area_t *area = area_take_away(at, true);
    if (area == NULL) {
        return cudaErrorHostMemoryNotRegistered;
    }
    if (!fake_pages_are_mapped(area->begin, area->end - area->begin)) {
        fprintf(stderr, "fake_cuda: memory at %p was unmapped while it was registered\n", at);
        abort();
    }
    area_free(area);
    atomic_fetch_sub(&fake_cuda.registered, 1);
    return cudaSuccess;
}

void *fake_memory_private(size_t bytes)
{
    void *at = aligned_alloc(256, (bytes + 256) / 256 * 256);
    return at != NULL ? memset(at, 0xd5, bytes) : NULL;
}

cudaError_t cudaHostAlloc(void **at, size_t bytes, unsigned flags)
{
    cudaError_t error = fake_memory_unsafe(__func__);
    (void)flags;
    fake_context_wait(FAKE_WAITS_ALLOC, __func__);
    *at = error == cudaSuccess ? fake_memory_private(bytes) : NULL;
    if (*at == NULL) {
        return error == cudaSuccess ? cudaErrorMemoryAllocation : error;
    }
    pthread_mutex_lock(&lock);
    area_add(*at, bytes, false);
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&fake_cuda.visible, 1);
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *at)
{
    cudaError_t error = fake_memory_unsafe(__func__);
    fake_context_wait(FAKE_WAITS_FREE, __func__);
    area_t *area = error == cudaSuccess ? area_take_away(at, false) : NULL;
    if (area == NULL) {
        return error == cudaSuccess ? cudaErrorInvalidValue : error;
    }
    area_free(area);
    atomic_fetch_sub(&fake_cuda.visible, 1);
    return cudaSuccess;
}

/* Of a device ---------------------------------------------------------------------------------- */

void *fake_memory_map(int fd, uint64_t offset, uint64_t bytes, int device)
{
    void *real = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    void *at = real != MAP_FAILED ? fake_memory_apart(real, bytes, device, fd) : NULL;
    if (at == NULL && real != MAP_FAILED) {
        munmap(real, bytes);
    }
    return at;
}

bool fake_memory_fd(const void *at, int *fd, uint64_t *offset, uint64_t *bytes)
{
    pthread_mutex_lock(&lock);
    const area_t *area = area_apart((uintptr_t)at);
    bool found = area != NULL && area->begin == (uintptr_t)at && area->fd >= 0;
    if (found) {
        *fd = area->fd;
        *offset = 0;
        *bytes = area->end - area->begin;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

bool fake_memory_range(const void *at, uintptr_t *base, uint64_t *bytes)
{
    pthread_mutex_lock(&lock);
    const area_t *area = area_apart((uintptr_t)at);
    const bool found = area != NULL;
    if (found) {
        *base = area->begin;
        *bytes = area->end - area->begin;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

fake_allocation_t *fake_memory_allocation(const void *at)
{
    pthread_mutex_lock(&lock);
    const area_t *area = area_apart((uintptr_t)at);
    fake_allocation_t *allocation = area != NULL ? area->allocation : NULL;
    pthread_mutex_unlock(&lock);
    return allocation;
}

void *fake_memory_reserve(uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    void *at = fake_addresses_take(bytes);
    pthread_mutex_unlock(&lock);
    return at;
}

void fake_memory_unreserve(void *at, uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    fake_addresses_give_back(at, bytes);
    pthread_mutex_unlock(&lock);
}

/* The granule at the end is left: the next mapping may begin there. */
bool fake_memory_map_allocation(void *at, uint8_t *real, fake_allocation_t *a)
{
    const int how = MAP_SHARED | MAP_FIXED;
    area_t *area = malloc(sizeof *area);
    pthread_mutex_lock(&lock);
    const bool maps = area_apart((uintptr_t)at) == NULL &&
                      mmap(real, a->bytes, PROT_READ | PROT_WRITE, how, a->fd, 0) != MAP_FAILED;
    if (maps) {
        *area = (area_t){.begin = (uintptr_t)at,
                         .end = (uintptr_t)at + a->bytes,
                         .real = real,
                         .type = cudaMemoryTypeDevice,
                         .device = a->device,
                         .allocation = fake_allocation_share(a),
                         .fd = -1};
        area_set(at, a->bytes - 1, area);
        fake_spans_add(&apart, (uintptr_t)real, a->bytes, area);
    }
    pthread_mutex_unlock(&lock);
    if (!maps) {
        free(area);
    }
    return maps;
}

void fake_memory_pool_set(const void *at, cudaMemPool_t pool, uint32_t access)
{
    pthread_mutex_lock(&lock);
    area_t *area = area_apart((uintptr_t)at);
    area->pool = pool;
    area->access = access;
    pthread_mutex_unlock(&lock);
}

cudaMemPool_t fake_memory_pool(const void *at)
{
    pthread_mutex_lock(&lock);
    const area_t *area = area_apart((uintptr_t)at);
    cudaMemPool_t pool = area != NULL ? area->pool : NULL;
    pthread_mutex_unlock(&lock);
    return pool;
}

void fake_memory_pool_grant(cudaMemPool_t pool, int device)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < apart.count; i++) {
        area_t *area = apart.span[i].of;
        if (area->pool == pool) {
            area->access |= 1u << device;
        }
    }
    pthread_mutex_unlock(&lock);
}

void fake_memory_grant(const void *at, int device)
{
    pthread_mutex_lock(&lock);
    area_t *area = area_apart((uintptr_t)at);
    if (area != NULL) {
        area->access |= 1u << device;
    }
    pthread_mutex_unlock(&lock);
}

bool fake_memory_granted(const void *at, int device)
{
    pthread_mutex_lock(&lock);
    const area_t *area = area_apart((uintptr_t)at);
    const bool granted = area == NULL || (area->access >> device & 1) != 0;
    pthread_mutex_unlock(&lock);
    return granted;
}

bool fake_memory_unmap(void *at)
{
    pthread_mutex_lock(&lock);
    area_t *area = area_apart((uintptr_t)at);
    const bool found =
        area != NULL && area->type == cudaMemoryTypeDevice && area->begin == (uintptr_t)at;
    if (found) {
        area_set(at, area->end - area->begin - (area->allocation != NULL), NULL);
        fake_spans_take_out(&apart, (uintptr_t)area->real, area);
    }
    if (found && area->allocation == NULL) {
        fake_addresses_give_back(at, area->end - area->begin);
    }
    pthread_mutex_unlock(&lock);
    if (found) {
        area_free(area);
    }
    return found;
}

/* A file, so that other processes can map it. */
cudaError_t cudaMalloc(void **at, size_t bytes)
{
    cudaError_t error = fake_answer(__func__);
    fake_context_wait(FAKE_WAITS_ALLOC, __func__);
    int fd = error == cudaSuccess ? memfd_create("device", MFD_CLOEXEC) : -1;
    *at = NULL;
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0) {
        *at = fake_memory_map(fd, 0, bytes, fake_device());
    }
    if (*at == NULL) {
        return error == cudaSuccess ? cudaErrorMemoryAllocation : error;
    }
    /* Nobody may count on zeros; slots are mostly never used, and would take time. */
    memset(fake_memory_real(*at), 0xd5, bytes < FAKE_GRANULE ? bytes : FAKE_GRANULE);
    atomic_fetch_add(&fake_cuda.allocated, 1);
    return cudaSuccess;
}

/* Waits for everything on the device, as CUDA does: what is freed may be in use. */
cudaError_t cudaFree(void *at)
{
    const bool all = (fake_cuda.strict.waits & FAKE_WAITS_FREE) != 0;
    cudaError_t error = at == NULL ? cudaSuccess
                        : all      ? fake_memory_unsafe(__func__)
                                   : cudaDeviceSynchronize();
    if (at == NULL || error != cudaSuccess) {
        return error;
    }
    fake_context_wait(FAKE_WAITS_FREE, __func__);
    if (!fake_memory_unmap(at)) {
        return cudaErrorInvalidValue;
    }
    atomic_fetch_sub(&fake_cuda.allocated, 1);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *most)
{
    *free_bytes = fake_cuda.free_bytes;
    *most = fake_cuda.all_bytes;
    return fake_answer(__func__);
}
