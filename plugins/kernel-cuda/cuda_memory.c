/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See cuda_memory.h. The kernel's device is current in all of it. */
#include "cuda_memory.h"

#include <unistd.h>

#include "cuda_alias.h"
#include "cuda_errors.h"
#include "cuda_kept.h"
#include "cuda_pool.h"

#define WORDS 64u
#define WORD_BYTES 64u

/* A range of whole pages. It overlaps no other range and lives as long as it has users. */
struct cuda_range {
    cuda_range_t *next;
    uintptr_t begin, end;
    uint32_t users;
    bool foreign; /* the application had registered it */
};

struct cuda_block {
    cuda_block_t *next;
    void *memory;
    uint64_t bytes;
    bool used;
};

/* A page of the driver's, cut into lines of 64 bytes; bit l: line l is used. */
struct cuda_words {
    cuda_words_t *next;
    uint64_t *memory;
    uint64_t used;
};

/* Pages ---------------------------------------------------------------------------------------- */

static cuda_range_t cuda_memory_span_of(const void *at, uint64_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    return (cuda_range_t){.begin = (uintptr_t)at / page * page,
                          .end = ((uintptr_t)at + bytes + page - 1) / page * page};
}

/* The range with the lowest address that ends behind `from`, or NULL. */
static cuda_range_t *cuda_memory_range_after(weft_kernel_t *kernel, uintptr_t from)
{
    cuda_range_t *least = NULL;
    for (cuda_range_t *r = kernel->ranges; r != NULL; r = r->next) {
        if (r->end > from && (least == NULL || r->begin < least->begin)) {
            least = r;
        }
    }
    return least;
}

/* Sandboxes and virtual devices refuse it, and so does a low RLIMIT_MEMLOCK. The host can do
 * without. */
static weft_status_t cuda_memory_not_registered(const weft_kernel_t *kernel, cudaError_t error)
{
    if (error == cudaErrorNotSupported || error == cudaErrorOperatingSystem ||
        error == cudaErrorMemoryAllocation) {
        return kernel->host->set_error(kernel->host, WEFT_ERR_UNSUPPORTED, 0,
                                       "the system refuses to register the slots of a connection "
                                       "with CUDA device %d (%s); look at ulimit -l",
                                       kernel->device, cudaGetErrorName(error));
    }
    return cuda_failed(kernel, error, "registering the slots of a connection");
}

static weft_status_t cuda_memory_range_add(weft_kernel_t *kernel, uintptr_t begin, uintptr_t end)
{
    cuda_range_t *range = kernel->host->alloc(kernel->host, sizeof *range, 0);
    if (range == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    cudaError_t error = cudaHostRegister((void *)begin, end - begin,
                                         cudaHostRegisterPortable | cudaHostRegisterMapped);
    if (error != cudaSuccess && error != cudaErrorHostMemoryAlreadyRegistered) {
        kernel->host->free(kernel->host, range);
        return cuda_memory_not_registered(kernel, error);
    }
    *range = (cuda_range_t){.next = kernel->ranges,
                            .begin = begin,
                            .end = end,
                            .foreign = error == cudaErrorHostMemoryAlreadyRegistered};
    kernel->ranges = range;
    return WEFT_OK;
}

/* Registers what no range covers yet. */
static weft_status_t cuda_memory_span_cover(weft_kernel_t *kernel, cuda_range_t span)
{
    weft_status_t status = WEFT_OK;
    while (span.begin < span.end && status == WEFT_OK) {
        const cuda_range_t *range = cuda_memory_range_after(kernel, span.begin);
        uintptr_t end = range == NULL || range->begin > span.end ? span.end : range->begin;
        if (span.begin < end) {
            status = cuda_memory_range_add(kernel, span.begin, end);
        }
        span.begin = range == NULL || range->begin >= span.end ? span.end : range->end;
    }
    return status;
}

/* Ends ranges without users. */
static void cuda_memory_ranges_sweep(weft_kernel_t *kernel)
{
    cuda_range_t **at = &kernel->ranges;
    while (*at != NULL) {
        cuda_range_t *range = *at;
        if (range->users > 0) {
            at = &range->next;
            continue;
        }
        *at = range->next;
        cudaError_t error = range->foreign ? cudaSuccess : cudaHostUnregister((void *)range->begin);
        if (error != cudaSuccess) {
            kernel->host->log(kernel->host, WEFT_LOG_DEBUG, "slots stay registered: %s",
                              cudaGetErrorName(error));
        }
        kernel->host->free(kernel->host, range);
    }
}

static weft_status_t cuda_memory_register_in_place(weft_kernel_t *kernel, const void *at,
                                                   uint64_t bytes)
{
    const cuda_range_t span = cuda_memory_span_of(at, bytes);
    pthread_mutex_lock(&kernel->lock);
    weft_status_t status = cuda_memory_span_cover(kernel, span);
    for (cuda_range_t *r = kernel->ranges; status == WEFT_OK && r != NULL; r = r->next) {
        r->users += r->begin < span.end && span.begin < r->end;
    }
    if (status != WEFT_OK) {
        cuda_memory_ranges_sweep(kernel);
    }
    pthread_mutex_unlock(&kernel->lock);
    return status;
}

weft_status_t cuda_pages_register(weft_kernel_t *kernel, const void *at, uint64_t bytes,
                                  ptrdiff_t *shift_p)
{
    cudaError_t error = cuda_alias_add(kernel, at, bytes, shift_p);
    if (error != cudaSuccess) {
        return cuda_memory_not_registered(kernel, error);
    }
    return *shift_p != 0 ? WEFT_OK : cuda_memory_register_in_place(kernel, at, bytes);
}

void cuda_pages_unregister(weft_kernel_t *kernel, const void *at, uint64_t bytes, ptrdiff_t shift)
{
    if (shift != 0) {
        cuda_alias_drop(kernel, at, shift);
        return;
    }
    const cuda_range_t span = cuda_memory_span_of(at, bytes);
    pthread_mutex_lock(&kernel->lock);
    for (cuda_range_t *r = kernel->ranges; r != NULL; r = r->next) {
        r->users -= r->begin < span.end && span.begin < r->end;
    }
    cuda_memory_ranges_sweep(kernel);
    pthread_mutex_unlock(&kernel->lock);
}

/* Blocks --------------------------------------------------------------------------------------- */

static void *cuda_memory_block_alloc(weft_kernel_t *kernel, uint64_t bytes)
{
    for (cuda_block_t *b = kernel->blocks; b != NULL; b = b->next) {
        if (!b->used && b->bytes >= bytes) {
            b->used = true;
            return b->memory;
        }
    }
    cuda_block_t *block = kernel->host->alloc(kernel->host, sizeof *block, 0);
    if (block == NULL) {
        return NULL;
    }
    block->bytes = (bytes + 4095) / 4096 * 4096;
    block->memory = cuda_kept_take(kernel->device, CUDA_KEPT_HOST, &block->bytes);
    cudaError_t error = block->memory != NULL
                            ? cudaSuccess
                            : cudaHostAlloc(&block->memory, block->bytes,
                                            cudaHostAllocPortable | cudaHostAllocMapped);
    if (error != cudaSuccess) {
        kernel->host->free(kernel->host, block);
        (void)cuda_failed(kernel, error, "allocating page-locked memory");
        return NULL;
    }
    block->used = true;
    block->next = kernel->blocks;
    kernel->blocks = block;
    return block->memory;
}

static void cuda_memory_block_free(weft_kernel_t *kernel, void *memory)
{
    for (cuda_block_t *b = kernel->blocks; b != NULL; b = b->next) {
        b->used = b->used && b->memory != memory;
    }
}

void *cuda_mapped_alloc(weft_kernel_t *kernel, uint64_t bytes)
{
    pthread_mutex_lock(&kernel->lock);
    void *memory = cuda_memory_block_alloc(kernel, bytes);
    pthread_mutex_unlock(&kernel->lock);
    return memory;
}

void cuda_mapped_free(weft_kernel_t *kernel, void *memory)
{
    pthread_mutex_lock(&kernel->lock);
    cuda_memory_block_free(kernel, memory);
    pthread_mutex_unlock(&kernel->lock);
}

/* Words ---------------------------------------------------------------------------------------- */

static cuda_words_t *cuda_memory_words_add(weft_kernel_t *kernel)
{
    cuda_words_t *words = kernel->host->alloc(kernel->host, sizeof *words, 0);
    if (words == NULL) {
        return NULL;
    }
    words->memory = cuda_memory_block_alloc(kernel, WORDS * WORD_BYTES);
    if (words->memory == NULL) {
        kernel->host->free(kernel->host, words);
        return NULL;
    }
    words->next = kernel->words;
    kernel->words = words;
    return words;
}

static uint64_t *cuda_memory_word_alloc(weft_kernel_t *kernel)
{
    cuda_words_t *words = kernel->words;
    while (words != NULL && words->used == UINT64_MAX) {
        words = words->next;
    }
    words = words != NULL ? words : cuda_memory_words_add(kernel);
    if (words == NULL) {
        return NULL;
    }
    const uint32_t line = (uint32_t)__builtin_ctzll(~words->used);
    uint64_t *word = words->memory + line * (WORD_BYTES / sizeof *word);
    words->used |= UINT64_C(1) << line;
    *word = 0;
    return word;
}

uint64_t *cuda_word_alloc(weft_kernel_t *kernel)
{
    pthread_mutex_lock(&kernel->lock);
    uint64_t *word = cuda_memory_word_alloc(kernel);
    pthread_mutex_unlock(&kernel->lock);
    return word;
}

void cuda_word_free(weft_kernel_t *kernel, uint64_t *word)
{
    pthread_mutex_lock(&kernel->lock);
    for (cuda_words_t *words = kernel->words; words != NULL; words = words->next) {
        const uintptr_t offset = (uintptr_t)word - (uintptr_t)words->memory;
        if (offset < WORDS * WORD_BYTES) {
            words->used &= ~(UINT64_C(1) << offset / WORD_BYTES);
        }
    }
    pthread_mutex_unlock(&kernel->lock);
}

static void cuda_memory_words_close(weft_kernel_t *kernel)
{
    while (kernel->words != NULL) {
        cuda_words_t *words = kernel->words;
        kernel->words = words->next;
        if (words->used == 0) {
            cuda_memory_block_free(kernel, words->memory);
        }
        kernel->host->free(kernel->host, words);
    }
}

/* End ------------------------------------------------------------------------------------------ */

void cuda_memory_close(weft_kernel_t *kernel)
{
    cuda_pool_close(kernel);
    cuda_memory_words_close(kernel);
    for (cuda_range_t *r = kernel->ranges; r != NULL; r = r->next) {
        r->users = 0;
    }
    cuda_memory_ranges_sweep(kernel);
    cuda_alias_close(kernel);
    while (kernel->blocks != NULL) {
        cuda_block_t *block = kernel->blocks;
        kernel->blocks = block->next;
        /* A block of a run that could not be ended is still the device's. */
        if (!block->used) {
            cuda_kept_put(kernel->device, CUDA_KEPT_HOST, block->memory, block->bytes);
        }
        kernel->host->free(kernel->host, block);
    }
}
