/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One combination by one block of threads, for every data type and operator of kernel.h. In the
 * common subset of C11 and CUDA C++. Every thread of the block calls cuda_combine(); each has its
 * own elements and reads them all before it stores, so a destination may be a source. No barrier is
 * inside. */
#ifndef KERNEL_CUDA_DEVICE_DEVICE_COMBINE_H
#define KERNEL_CUDA_DEVICE_DEVICE_COMBINE_H

#include <weft/plugin/kernel.h>

#include "arith.h"

#define CUDA_VECTOR 16u /* bytes of the widest access */

#if defined(__CUDACC__)
typedef uint4 cuda_vector_t;
#define CUDA_VECTOR_ZERO                                                                           \
    {                                                                                              \
        0, 0, 0, 0                                                                                 \
    }
#else
typedef struct cuda_vector {
    uint32_t word[4];
} cuda_vector_t;
#define CUDA_VECTOR_ZERO                                                                           \
    {                                                                                              \
        {                                                                                          \
            0, 0, 0, 0                                                                             \
        }                                                                                          \
    }
#endif

/* How a combination is cut: `head` elements before all operands are aligned to a vector, then
 * `vectors`, then what is left. Operands that are never aligned at once are all head. */
typedef struct cuda_work {
    uint64_t head;
    uint64_t vectors;
    uint32_t op;
    uint32_t pre_mask;
    uint32_t divides;
    uint32_t nranks;
    const void *scalar;
} cuda_work_t;

/* The bits in which the addresses of the operands differ; 0 in the low ones means that they reach
 * alignment together. */
static WEFT_DEVICE uint32_t cuda_skew(const weft_combine_t *c)
{
    const uintptr_t first = (uintptr_t)c->dst[0];
    uintptr_t skew = 0;
    for (uint32_t d = 1; d < c->ndst; d++) {
        skew |= first ^ (uintptr_t)c->dst[d];
    }
    for (uint32_t s = 0; s < c->nsrc; s++) {
        skew |= first ^ (uintptr_t)c->src[s];
    }
    return (uint32_t)(skew & (CUDA_VECTOR - 1));
}

static WEFT_DEVICE void cuda_work_cut(cuda_work_t *work, const weft_combine_t *c, uint32_t elem)
{
    work->head = (0 - (uintptr_t)c->dst[0]) % CUDA_VECTOR / elem;
    if (cuda_skew(c) != 0 || work->head > c->count) {
        work->head = c->count;
    }
    work->vectors = (c->count - work->head) / (CUDA_VECTOR / elem);
}

static WEFT_DEVICE cuda_work_t cuda_work_of(uint32_t op, const weft_combine_t *c)
{
    cuda_work_t work;
    work.head = c->count;
    work.vectors = 0;
    work.op = op;
    work.pre_mask = op == WEFT_PREMULSUM ? c->pre_mask : 0;
    work.divides = op == WEFT_AVG && (c->flags & WEFT_COMBINE_FINAL) != 0 ? 1 : 0;
    work.nranks = c->nranks;
    work.scalar = c->scalar;
    return work;
}

static WEFT_DEVICE cuda_vector_t cuda_vector_load(const void *from)
{
#if defined(__CUDACC__)
    return *(const uint4 *)from;
#else
    cuda_vector_t vector;
    memcpy(&vector, from, sizeof vector);
    return vector;
#endif
}

static WEFT_DEVICE void cuda_vector_store(char *to, cuda_vector_t vector)
{
#if defined(__CUDACC__)
    *(uint4 *)to = vector;
#else
    memcpy(to, &vector, sizeof vector);
#endif
}

/* Where the aligned middle of a combination goes. The first destination, mostly the only one, is
 * known without a look at the combination: to the compiler every store may have changed that. */
typedef struct cuda_target {
    const weft_combine_t *c;
    char *first;
    uint64_t skip, vectors; /* bytes in front of the middle, vectors of it */
    uint32_t ndst;
} cuda_target_t;

static WEFT_DEVICE cuda_target_t cuda_target_of(const weft_combine_t *c, uint64_t skip,
                                                uint64_t vectors)
{
    cuda_target_t target;
    target.c = c;
    target.first = (char *)c->dst[0] + skip;
    target.skip = skip;
    target.vectors = vectors;
    target.ndst = c->ndst;
    return target;
}

/* Stores vector v, if there is one, to every destination. There is at least one. */
static WEFT_DEVICE void cuda_target_store(const cuda_target_t *target, uint64_t v,
                                          cuda_vector_t vector)
{
    if (v >= target->vectors) {
        return;
    }
    cuda_vector_store(target->first + v * CUDA_VECTOR, vector);
    WEFT_ROLLED
    for (uint32_t d = 1; d < target->ndst; d++) {
        cuda_vector_store((char *)target->c->dst[d] + target->skip + v * CUDA_VECTOR, vector);
    }
}

/* Copies words of one width: bytes from `from`, a multiple of it, up to the last whole word. */
#define CUDA_COPY_WORDS(type)                                                                      \
    static WEFT_DEVICE void cuda_copy_##type(const weft_combine_t *c, uint64_t from, uint64_t n,   \
                                             uint32_t thread, uint32_t threads)                    \
    {                                                                                              \
        const type *src = (const type *)((const char *)c->src[0] + from);                          \
        for (uint64_t i = thread; i < n; i += threads) {                                           \
            const type word = src[i];                                                              \
            for (uint32_t d = 0; d < c->ndst; d++) {                                               \
                ((type *)((char *)c->dst[d] + from))[i] = word;                                    \
            }                                                                                      \
        }                                                                                          \
    }
CUDA_COPY_WORDS(uint8_t)
CUDA_COPY_WORDS(uint16_t)
CUDA_COPY_WORDS(uint32_t)
CUDA_COPY_WORDS(uint64_t)
#undef CUDA_COPY_WORDS

#define CUDA_COPY_BATCH 4u

static WEFT_DEVICE void cuda_copy_vectors(const weft_combine_t *c, uint64_t from, uint64_t vectors,
                                          uint32_t thread, uint32_t threads)
{
    const uint64_t step = (uint64_t)threads * CUDA_COPY_BATCH;
    const cuda_target_t target = cuda_target_of(c, from, vectors);
    const char *src = (const char *)c->src[0] + from;
    cuda_vector_t batch[CUDA_COPY_BATCH] = {CUDA_VECTOR_ZERO};

    for (uint64_t v = thread; v < vectors; v += step) {
        WEFT_UNROLL
        for (uint32_t b = 0; b < CUDA_COPY_BATCH; b++) {
            const uint64_t at = v + (uint64_t)b * threads;
            if (at < vectors) {
                batch[b] = cuda_vector_load(src + at * CUDA_VECTOR);
            }
        }
        WEFT_UNROLL
        for (uint32_t b = 0; b < CUDA_COPY_BATCH; b++) {
            cuda_target_store(&target, v + (uint64_t)b * threads, batch[b]);
        }
    }
}

/* The only source to all destinations, in the widest words for which all are aligned at once. */
static WEFT_DEVICE_CALL void cuda_copy(const weft_combine_t *c, uint64_t bytes, uint32_t thread,
                                       uint32_t threads)
{
    const uint32_t skew = cuda_skew(c) | CUDA_VECTOR;
    const uint32_t width = skew & (0 - skew);
    /* Its logarithm: a division would be a call on a device. */
    const uint32_t shift = width == 16 ? 4 : width == 8 ? 3 : width == 4 ? 2 : width - 1;
    uint64_t head = (0 - (uintptr_t)c->dst[0]) & (width - 1);
    head = head < bytes ? head : bytes;
    const uint64_t words = (bytes - head) >> shift, tail = head + (words << shift);

    cuda_copy_uint8_t(c, 0, head, thread, threads);
    switch (width) {
    case 1:
        cuda_copy_uint8_t(c, head, words, thread, threads);
        break;
    case 2:
        cuda_copy_uint16_t(c, head, words, thread, threads);
        break;
    case 4:
        cuda_copy_uint32_t(c, head, words, thread, threads);
        break;
    case 8:
        cuda_copy_uint64_t(c, head, words, thread, threads);
        break;
    default:
        cuda_copy_vectors(c, head, words, thread, threads);
        break;
    }
    cuda_copy_uint8_t(c, tail, bytes - tail, thread, threads);
}

#include "device_each_dtype.inc"

/* Bytes of an element. */
static WEFT_DEVICE uint32_t cuda_element(uint32_t dtype)
{
    switch (dtype) {
    case WEFT_INT8:
    case WEFT_UINT8:
    case WEFT_FP8_E4M3:
    case WEFT_FP8_E5M2:
        return 1;
    case WEFT_INT16:
    case WEFT_UINT16:
    case WEFT_FP16:
    case WEFT_BF16:
        return 2;
    case WEFT_INT64:
    case WEFT_UINT64:
    case WEFT_FP64:
        return 8;
    default:
        return 4;
    }
}

/* The share of thread `thread` of `threads` in combination *c, which all of them see. dtype and op
 * are valid. Stores are ordered by the caller's barrier or fence. */
static WEFT_DEVICE void cuda_combine(uint32_t dtype, uint32_t op, const weft_combine_t *c,
                                     uint32_t thread, uint32_t threads)
{
    const int scaled = op == WEFT_PREMULSUM && c->pre_mask != 0;
    const int divided = op == WEFT_AVG && (c->flags & WEFT_COMBINE_FINAL) != 0;
    if (c->nsrc == 1 && !scaled && !divided) {
        cuda_copy(c, c->count * cuda_element(dtype), thread, threads);
        return;
    }
    switch (dtype) {
#define CASE(dtype, name)                                                                          \
    case WEFT_##dtype:                                                                             \
        cuda_##name##_combine(op, c, thread, threads);                                             \
        break;
        CUDA_ROWS(CASE)
#undef CASE
    default:
        break;
    }
}

#endif
