/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The stream-ordered allocator: pools of memory. cudaMallocAsync() uses the device's current pool,
 * which is the application's to limit (fake_cuda.pool_full), and which no other process opens.
 * Allocations in graphs are not modelled.
 *
 * A pool that was made for other processes has a file that stands for it, and each of its
 * allocations has one too, with a page behind it that counts the processes that imported it. As
 * with CUDA: its owner exports the pool before any pointer of it, must not free what others still
 * have, and they get an address each, once for several imports, which the first free ends. They may
 * access it from its own device only, and allocate nothing. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cuda/fake.h"

enum { PAGE = 4096, NAME = 64 };
static const uint64_t import_most = UINT64_C(5248)
                                    << 20; /* a longer one crashes who imports it (driver 580) */

struct CUmemPoolHandle_st {
    uint32_t users; /* its handle and its allocations */
    int device;
    uint64_t threshold; /* bytes that it keeps when a stream is synchronised */
    uint32_t types;     /* of handles that other processes open */
    uint32_t access;    /* bits of the devices that may access what is allocated */
    int fd;             /* of the file that stands for it, or −1 */
    bool exported, imported;
};

/* What an exporter says of a pointer. */
typedef struct pointer {
    int pid, fd, device;
    uint32_t zero;
    uint64_t bytes;
    ino_t pool;
} pointer_t;

_Static_assert(sizeof(pointer_t) <= sizeof(struct cudaMemPoolPtrExportData), "fits");

static cudaMemPool_t pool_new(int device, uint32_t types, int fd)
{
    cudaMemPool_t pool = calloc(1, sizeof *pool);
    *pool = (struct CUmemPoolHandle_st){
        .users = 1, .device = device, .types = types, .access = 1u << device, .fd = fd};
    atomic_fetch_add(&fake_cuda.pools, 1);
    return pool;
}

void fake_pool_drop(cudaMemPool_t pool)
{
    if (__atomic_sub_fetch(&pool->users, 1, __ATOMIC_ACQ_REL) == 0) {
        if (pool->fd >= 0) {
            close(pool->fd);
        }
        free(pool);
        atomic_fetch_sub(&fake_cuda.pools, 1);
    }
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props)
{
    char name[NAME];
    cudaError_t error =
        fake_cuda.no_pools ? fake_told(cudaErrorNotSupported) : fake_memory_unsafe(__func__);
    if (error != cudaSuccess || props->allocType != cudaMemAllocationTypePinned ||
        props->location.type != cudaMemLocationTypeDevice || props->location.id < 0 ||
        props->location.id >= fake_cuda.devices) {
        return error != cudaSuccess ? error : fake_told(cudaErrorInvalidValue);
    }
    snprintf(name, sizeof name, "pool-of-device-%d", props->location.id);
    const uint32_t types = (uint32_t)props->handleTypes;
    *pool = pool_new(props->location.id, types, types != 0 ? memfd_create(name, MFD_CLOEXEC) : -1);
    return cudaSuccess;
}

/* What is not freed yet goes back when it is. */
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    cudaError_t error = fake_memory_unsafe(__func__);
    if (error == cudaSuccess) {
        fake_context_wait(FAKE_WAITS_FREE, __func__);
        fake_pool_drop(pool);
    }
    return error;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr which, void *value)
{
    if (which != cudaMemPoolAttrReleaseThreshold) {
        return fake_told(cudaErrorInvalidValue);
    }
    pool->threshold = *(const uint64_t *)value;
    return fake_answer(__func__);
}

/* Of what is allocated, and of what will be. */
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *who,
                                 size_t count)
{
    cudaError_t error = fake_answer(__func__);
    for (size_t i = 0; i < count && error == cudaSuccess; i++) {
        const int device = who[i].location.id;
        if (device != pool->device && fake_cuda.no_peers) {
            return fake_told(cudaErrorInvalidDevice);
        }
        pool->access |= 1u << device;
        fake_memory_pool_grant(pool, device);
    }
    return error;
}

/* Allocations ---------------------------------------------------------------------------------- */

/* Memory of its own, or a file with a page behind it if other processes may open it. */
static void *pools_map(size_t bytes, int device, const struct CUmemPoolHandle_st *pool)
{
    if (pool == NULL || pool->fd < 0) {
        void *real = fake_memory_private(bytes);
        void *at = real != NULL ? fake_memory_apart(real, bytes, device, -1) : NULL;
        if (at == NULL) {
            free(real);
        }
        return at;
    }
    const int fd = memfd_create("pooled", MFD_CLOEXEC);
    const uint64_t whole = (bytes + PAGE - 1) / PAGE * PAGE;
    void *at = fd >= 0 && ftruncate(fd, (off_t)(whole + PAGE)) == 0
                   ? fake_memory_map(fd, 0, bytes, device)
                   : NULL;
    if (at == NULL && fd >= 0) {
        close(fd);
    }
    return at;
}

/* At once: earlier than a device would, which nobody sees who keeps the order of the stream. */
static cudaError_t pools_alloc(void **at, size_t bytes, int device, cudaStream_t stream,
                               cudaMemPool_t pool, const char *call)
{
    cudaError_t error =
        fake_stream_captured(stream) ? cudaErrorNotSupported : fake_memory_unsafe(call);
    fake_context_wait(FAKE_WAITS_ALLOC, call);
    *at = error == cudaSuccess ? pools_map(bytes, device, pool) : NULL;
    if (*at == NULL) {
        return error == cudaSuccess ? cudaErrorMemoryAllocation : error;
    }
    __atomic_add_fetch(&pool->users, 1, __ATOMIC_RELAXED);
    fake_memory_pool_set(*at, pool, pool->access);
    atomic_fetch_add(&fake_cuda.allocated, 1);
    return cudaSuccess;
}

/* The pool of a device that nobody has to make, and nobody destroys. */
static cudaMemPool_t pools_default(int device)
{
    static struct CUmemPoolHandle_st pools[FAKE_DEVICES];
    cudaMemPool_t pool = &pools[device];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (pool->users == 0) {
        *pool = (struct CUmemPoolHandle_st){
            .users = 1, .device = device, .access = 1u << device, .fd = -1};
    }
    pthread_mutex_unlock(&lock);
    return pool;
}

cudaError_t cudaMallocAsync(void **at, size_t bytes, cudaStream_t stream)
{
    const int device = fake_device();
    return fake_cuda.pool_full || fake_cuda.no_pools
               ? fake_told(fake_cuda.no_pools ? cudaErrorNotSupported : cudaErrorMemoryAllocation)
               : pools_alloc(at, bytes, device, stream, pools_default(device), __func__);
}

/* A pool that keeps nothing unmaps what is freed whenever a stream is synchronised, and maps it
 * again. */
cudaError_t cudaMallocFromPoolAsync(void **at, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream)
{
    if (pool->imported) {
        return fake_told(cudaErrorInvalidValue);
    }
    atomic_fetch_add(&fake_cuda.remaps, pool->threshold < bytes);
    return pools_alloc(at, bytes, pool->device, stream, pool, __func__);
}

/* Processes that have the allocation of that file imported, with `more` of them. */
static uint32_t pools_importers(int fd, uint32_t more)
{
    struct stat file;
    if (fstat(fd, &file) != 0) {
        return 0;
    }
    uint32_t *word = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, file.st_size - PAGE);
    if (word == MAP_FAILED) {
        return 0;
    }
    const uint32_t importers = __atomic_add_fetch(word, more, __ATOMIC_ACQ_REL);
    munmap(word, PAGE);
    return importers;
}

static void pools_check_free(const void *at)
{
    int fd = -1;
    uint64_t offset, bytes;
    const struct CUmemPoolHandle_st *pool = fake_memory_pool(at);
    if (pool == NULL || !fake_memory_fd(at, &fd, &offset, &bytes)) {
        return;
    }
    if (pool->imported) {
        pools_importers(fd, -1u);
    } else if (pools_importers(fd, 0) != 0) {
        fprintf(stderr, "fake_cuda: memory at %p is freed that other processes have imported\n",
                at);
        abort();
    }
}

static void free_work(const void *arg)
{
    void *const *at = arg;
    pools_check_free(*at);
    if (!fake_memory_unmap(*at)) {
        fprintf(stderr, "fake_cuda: memory at %p is freed twice\n", *at);
        abort();
    }
}

/* Kernels before it in the stream still have to find it. */
cudaError_t cudaFreeAsync(void *at, cudaStream_t stream)
{
    struct cudaPointerAttributes where;
    cudaError_t error = fake_answer(__func__);
    cudaPointerGetAttributes(&where, at);
    if (error != cudaSuccess || fake_stream_captured(stream)) {
        return error != cudaSuccess ? error : cudaErrorNotSupported;
    }
    if (where.type != cudaMemoryTypeDevice) {
        return cudaErrorInvalidValue;
    }
    const struct CUmemPoolHandle_st *pool = fake_memory_pool(at);
    atomic_fetch_sub(pool != NULL && pool->imported ? &fake_cuda.imported : &fake_cuda.allocated,
                     1);
    return fake_put(stream, free_work, &at, sizeof at);
}

/* Other processes ------------------------------------------------------------------------------ */

static ino_t pool_number(const struct CUmemPoolHandle_st *pool)
{
    struct stat file;
    return pool->fd >= 0 && fstat(pool->fd, &file) == 0 ? file.st_ino : 0;
}

cudaError_t cudaMemPoolExportToShareableHandle(void *handle, cudaMemPool_t pool,
                                               enum cudaMemAllocationHandleType type,
                                               unsigned flags)
{
    cudaError_t error = fake_answer(__func__);
    if (error != cudaSuccess || flags != 0 || pool->imported ||
        (pool->types & (uint32_t)type) == 0) {
        return error != cudaSuccess ? error : fake_told(cudaErrorInvalidValue);
    }
    pool->exported = true;
    return fake_fabric_export(handle, pool->fd, (uint32_t)type) ? cudaSuccess
                                                                : fake_told(cudaErrorNotPermitted);
}

cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t *pool, void *handle,
                                                 enum cudaMemAllocationHandleType type,
                                                 unsigned flags)
{
    char link[NAME], name[NAME] = "";
    int device = -1;
    cudaError_t error = fake_answer(__func__);
    const int fd =
        error == cudaSuccess && flags == 0 ? fake_fabric_import(handle, (uint32_t)type) : -1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (fd < 0 || readlink(link, name, sizeof name - 1) < 0 ||
        sscanf(name, "/memfd:pool-of-device-%d", &device) != 1) {
        close(fd);
        return error != cudaSuccess ? error : fake_told(cudaErrorInvalidValue);
    }
    *pool = pool_new(device, 0, fd);
    (*pool)->imported = true;
    return cudaSuccess;
}

cudaError_t cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData *data, void *at)
{
    pointer_t mine = {.pid = getpid()};
    uint64_t offset;
    cudaError_t error = fake_answer(__func__);
    const struct CUmemPoolHandle_st *pool = fake_memory_pool(at);
    if (error != cudaSuccess || pool == NULL || !pool->exported ||
        !fake_memory_fd(at, &mine.fd, &offset, &mine.bytes)) {
        return error != cudaSuccess ? error : fake_told(cudaErrorInvalidValue);
    }
    mine.device = pool->device;
    mine.pool = pool_number(pool);
    memset(data, 0, sizeof *data);
    memcpy(data, &mine, sizeof mine);
    return cudaSuccess;
}

/* The address at which this process has the allocation of that file already, or NULL. */
typedef struct known {
    struct known *next;
    ino_t file;
    void *at;
} known_t;

static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;
static known_t *known;

/* Under its lock. What was freed is unknown again. */
static void *known_find(ino_t file)
{
    void *at = NULL;
    for (known_t **link = &known; *link != NULL;) {
        known_t *k = *link;
        if (fake_memory_pool(k->at) == NULL) {
            *link = k->next;
            free(k);
            continue;
        }
        at = k->file == file ? k->at : at;
        link = &k->next;
    }
    return at;
}

static void *pointer_map(const pointer_t *theirs, cudaMemPool_t pool)
{
    char path[NAME];
    struct stat file;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", theirs->pid, theirs->fd);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &file) != 0) {
        return NULL;
    }
    void *at = known_find(file.st_ino);
    if (at != NULL) {
        close(fd);
        return at;
    }
    at = fake_memory_map(fd, 0, theirs->bytes, theirs->device);
    known_t *k = calloc(1, sizeof *k);
    *k = (known_t){.next = known, .file = file.st_ino, .at = at};
    known = k;
    __atomic_add_fetch(&pool->users, 1, __ATOMIC_RELAXED);
    fake_memory_pool_set(at, pool, pool->access);
    pools_importers(fd, 1);
    atomic_fetch_add(&fake_cuda.imported, 1);
    return at;
}

cudaError_t cudaMemPoolImportPointer(void **at, cudaMemPool_t pool,
                                     struct cudaMemPoolPtrExportData *data)
{
    pointer_t theirs;
    memcpy(&theirs, data, sizeof theirs);
    cudaError_t error = fake_answer(__func__);
    if (error != cudaSuccess || !pool->imported || theirs.pid == getpid() ||
        theirs.pool != pool_number(pool)) {
        return error != cudaSuccess ? error : fake_told(cudaErrorInvalidValue);
    }
    if (theirs.bytes > import_most) {
        fprintf(stderr, "fake_cuda: the driver crashes\n");
        abort();
    }
    pthread_mutex_lock(&known_lock);
    *at = pointer_map(&theirs, pool);
    pthread_mutex_unlock(&known_lock);
    return *at != NULL ? cudaSuccess : fake_told(cudaErrorInvalidValue);
}
