/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin kernel-apart, for tests: a kernel whose memory the host cannot touch, as a GPU's. Its
 * allocations are mapped twice: where the user has them nobody may load or store, and what the plugin
 * computes on is the other mapping. A host that follows a pointer into the device's memory crashes. */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <weft/plugin/memory.h>
#include <weft/plugin/plugin.h>

#include "plugins/kernel-cuda/device/combine.h"

#define AREAS 4096

typedef struct area {
    uint8_t *seen; /* the user's address; NULL: free */
    uint8_t *real;
    uint64_t bytes;
} area_t;

/* A combine function gets no instance, and any of several ranks in this process may be asked: like the
 * addresses of a GPU, these are the process's. */
static struct {
    pthread_mutex_t lock;
    area_t areas[AREAS];
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct weft_kernel {
    const weft_host_t *host;
};

/* Where the bytes of a pointer really are: itself, if it is the host's. */
static void *real_of(const void *memory)
{
    uint8_t *found = (uint8_t *)(uintptr_t)memory;
    pthread_mutex_lock(&all.lock);
    for (uint32_t i = 0; i < AREAS; i++) {
        const area_t *a = &all.areas[i];
        if (a->seen != NULL && found >= a->seen && found < a->seen + a->bytes) {
            found = a->real + (found - a->seen);
            break;
        }
    }
    pthread_mutex_unlock(&all.lock);
    return found;
}

static bool map_twice(area_t *area, uint64_t bytes)
{
    int fd = memfd_create("kernel-apart", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0) {
        return false;
    }
    void *seen = mmap(NULL, bytes, PROT_NONE, MAP_SHARED, fd, 0);
    void *real = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    *area = (area_t){.seen = seen, .real = real, .bytes = bytes};
    return seen != MAP_FAILED && real != MAP_FAILED;
}

static weft_status_t apart_alloc(weft_kernel_t *kernel, uint64_t bytes, void **memory_p)
{
    weft_status_t status = WEFT_ERR_RESOURCE;
    pthread_mutex_lock(&all.lock);
    for (uint32_t i = 0; i < AREAS && status != WEFT_OK; i++) {
        if (all.areas[i].seen == NULL && map_twice(&all.areas[i], bytes)) {
            *memory_p = all.areas[i].seen;
            status = WEFT_OK;
        }
    }
    pthread_mutex_unlock(&all.lock);
    return status == WEFT_OK ? status
                             : kernel->host->set_error(kernel->host, status, 0, "no area is left");
}

static void apart_free(weft_kernel_t *kernel, void *memory)
{
    (void)kernel;
    pthread_mutex_lock(&all.lock);
    for (uint32_t i = 0; i < AREAS; i++) {
        area_t *a = &all.areas[i];
        if (a->seen == memory) {
            munmap(a->seen, a->bytes);
            munmap(a->real, a->bytes);
            *a = (area_t){.seen = NULL};
            break;
        }
    }
    pthread_mutex_unlock(&all.lock);
}

static weft_status_t apart_copy(weft_kernel_t *kernel, void *dst, const void *src, uint64_t bytes)
{
    (void)kernel;
    memmove(real_of(dst), real_of(src), bytes);
    return WEFT_OK;
}

static weft_status_t apart_reaches(weft_kernel_t *kernel, const void *memory, uint64_t bytes)
{
    (void)bytes;
    return real_of(memory) != memory ? WEFT_OK
                                     : kernel->host->set_error(kernel->host, WEFT_ERR_ARG, 0,
                                                               "%p is host memory", memory);
}

static void combine(uint32_t dtype, uint32_t op, const weft_combine_t *c)
{
    weft_combine_t there = *c;
    for (uint32_t i = 0; i < c->nsrc; i++) {
        there.src[i] = real_of(c->src[i]);
    }
    for (uint32_t i = 0; i < c->ndst; i++) {
        there.dst[i] = real_of(c->dst[i]);
    }
    cuda_combine(dtype, op, &there, 0, 1);
}

#define EACH_OP(X, d) X(d, SUM) X(d, PROD) X(d, MIN) X(d, MAX) X(d, AVG) X(d, PREMULSUM)
#define FUNCTION(d, o)                                                                             \
    static void combine_##d##_##o(const weft_combine_t *c)                                         \
    {                                                                                              \
        combine(WEFT_##d, WEFT_##o, c);                                                            \
    }
#define FUNCTIONS(value, d, bytes, text) EACH_OP(FUNCTION, d)
WEFT_DTYPE_MAP(FUNCTIONS)

static weft_status_t apart_select(weft_kernel_t *kernel, weft_dtype_t dtype, weft_op_t op,
                                  weft_combine_fn_t *fn_p)
{
#define ENTRY(d, o) [WEFT_##d][WEFT_##o] = combine_##d##_##o,
#define ENTRIES(value, d, bytes, text) EACH_OP(ENTRY, d)
    static const weft_combine_fn_t functions[WEFT_DTYPE_COUNT][WEFT_OP_COUNT] = {
        WEFT_DTYPE_MAP(ENTRIES)};
    (void)kernel;
    *fn_p = functions[dtype][op];
    return *fn_p != NULL ? WEFT_OK : WEFT_ERR_UNSUPPORTED;
}

static weft_status_t apart_create(const weft_host_t *host, const void *config,
                                  weft_kernel_t **kernel_p)
{
    (void)config;
    weft_kernel_t *kernel = host->alloc(host, sizeof *kernel, 0);
    if (kernel == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    kernel->host = host;
    *kernel_p = kernel;
    return WEFT_OK;
}

static void apart_destroy(weft_kernel_t *kernel)
{
    if (kernel != NULL) {
        kernel->host->free(kernel->host, kernel);
    }
}

static weft_status_t apart_props(weft_kernel_t *kernel, weft_kernel_props_t *props)
{
    (void)kernel;
    *props = (weft_kernel_props_t){.size = props->size,
                                   .memory_kind = WEFT_MEMORY_CUDA,
                                   .variant = "apart",
                                   .bandwidth = UINT64_C(1000000000)};
    return WEFT_OK;
}

static const void *apart_extension(weft_kernel_t *kernel, const char *name)
{
    static const weft_kernel_memory_t memory = {.size = sizeof memory,
                                                .alloc = apart_alloc,
                                                .free = apart_free,
                                                .copy = apart_copy,
                                                .reaches = apart_reaches};
    (void)kernel;
    return strcmp(name, WEFT_KERNEL_MEMORY) == 0 ? &memory : NULL;
}

static const weft_kernel_ops_t apart_ops = {.size = sizeof apart_ops,
                                            .create = apart_create,
                                            .destroy = apart_destroy,
                                            .props = apart_props,
                                            .select = apart_select,
                                            .get_extension = apart_extension};

WEFT_EXPORT const weft_plugin_t *weft_plugin_entry(void)
{
    static const weft_plugin_t plugin = {.magic = WEFT_PLUGIN_MAGIC,
                                         .abi_major = WEFT_ABI_KERNEL_MAJOR,
                                         .abi_minor = WEFT_ABI_KERNEL_MINOR,
                                         .size = sizeof(weft_plugin_t),
                                         .kind = WEFT_KIND_KERNEL,
                                         .name = "kernel-apart",
                                         .version = "1",
                                         .help = "memory that the host cannot touch",
                                         .ops = &apart_ops};
    return &plugin;
}
