/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OS seam: memory. */
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <string.h>
#include <sys/mman.h>

#include "core/os/os.h"

void *weft_os_alloc(size_t bytes, size_t align)
{
    if (bytes == 0) {
        bytes = 1;
    }
    if (align <= _Alignof(max_align_t)) {
        return calloc(1, bytes);
    }
    void *memory = NULL;
    if (posix_memalign(&memory, align, bytes) != 0) {
        return NULL;
    }
    return memset(memory, 0, bytes);
}

void weft_os_free(void *memory)
{
    free(memory);
}

void weft_os_trim(void)
{
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}

void *weft_os_sparse_pages(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

void *weft_os_shared_pages(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

void *weft_os_pages(size_t bytes)
{
    void *memory = weft_os_sparse_pages(bytes);
    if (memory != NULL && bytes >= (2u << 20)) {
        /* Only advice: large buffers then take 2 MiB pages where the kernel has them. */
        (void)madvise(memory, bytes, MADV_HUGEPAGE);
    }
    return memory;
}

void weft_os_pages_free(void *memory, size_t bytes)
{
    if (memory != NULL) {
        munmap(memory, bytes);
    }
}
