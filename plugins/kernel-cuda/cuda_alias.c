/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See cuda_alias.h. The kernel's device is current in all of it. */
#include "cuda_alias.h"

#include <sys/mman.h>
#include <unistd.h>

#include "cuda_kept.h"

#define CUDA_ALIAS_KEPT (UINT64_C(2) << 30) /* bytes that nobody uses and that are kept */

struct cuda_alias {
    cuda_alias_t *next;
    uint8_t *memory;
    uint64_t bytes;
    bool used;
};

/* Maps shared pages a second time: an old size of 0 asks for that. NULL: the pages are private, or
 * TSan watches, which does not know that two mappings are one memory. */
static uint8_t *cuda_alias_map(uintptr_t begin, uint64_t bytes)
{
#if defined(WEFT_TSAN) || defined(__SANITIZE_THREAD__)
    (void)begin;
    (void)bytes;
    return NULL;
#endif
    void *memory = mremap((void *)begin, 0, bytes, MREMAP_MAYMOVE);
    return memory != MAP_FAILED ? memory : NULL;
}

cudaError_t cuda_alias_add(weft_kernel_t *kernel, const void *at, uint64_t bytes,
                           ptrdiff_t *shift_p)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t begin = (uintptr_t)at / page * page;
    const uint64_t all = ((uintptr_t)at + bytes - begin + page - 1) / page * page;
    cuda_alias_t *alias = kernel->host->alloc(kernel->host, sizeof *alias, 0);
    uint8_t *memory = alias != NULL ? cuda_alias_map(begin, all) : NULL;
    *shift_p = 0;
    if (memory == NULL) {
        kernel->host->free(kernel->host, alias);
        return cudaSuccess;
    }
    cudaError_t error =
        cudaHostRegister(memory, all, cudaHostRegisterPortable | cudaHostRegisterMapped);
    if (error != cudaSuccess) {
        munmap(memory, all);
        kernel->host->free(kernel->host, alias);
        return error;
    }
    *alias = (cuda_alias_t){.memory = memory, .bytes = all, .used = true};
    pthread_mutex_lock(&kernel->lock);
    alias->next = kernel->aliases;
    kernel->aliases = alias;
    pthread_mutex_unlock(&kernel->lock);
    *shift_p = memory - (const uint8_t *)begin;
    return cudaSuccess;
}

/* Leaves aliases to the process: all, or those that nobody uses. */
static void cuda_alias_leave(weft_kernel_t *kernel, bool all)
{
    pthread_mutex_lock(&kernel->lock);
    for (cuda_alias_t **place = &kernel->aliases; *place != NULL;) {
        cuda_alias_t *alias = *place;
        if (alias->used && !all) {
            place = &alias->next;
            continue;
        }
        *place = alias->next;
        cuda_kept_put(kernel->device, CUDA_KEPT_ALIAS, alias->memory, alias->bytes);
        kernel->host->free(kernel->host, alias);
    }
    pthread_mutex_unlock(&kernel->lock);
}

void cuda_alias_drop(weft_kernel_t *kernel, const void *at, ptrdiff_t shift)
{
    const uint8_t *there = (const uint8_t *)at + shift;
    uint64_t unused = 0;
    pthread_mutex_lock(&kernel->lock);
    for (cuda_alias_t *alias = kernel->aliases; alias != NULL; alias = alias->next) {
        if ((uintptr_t)there - (uintptr_t)alias->memory < alias->bytes) {
            alias->used = false;
        }
        unused += alias->used ? 0 : alias->bytes;
    }
    pthread_mutex_unlock(&kernel->lock);
    if (unused > CUDA_ALIAS_KEPT) {
        cuda_alias_leave(kernel, false);
        cuda_kept_end(kernel);
    }
}

void cuda_alias_close(weft_kernel_t *kernel)
{
    cuda_alias_leave(kernel, true);
}
