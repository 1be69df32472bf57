/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tables of functions, one for each instruction set. All tables give the same bits, except for
 * the payload of NaNs. combine_c.c is the reference. */
#ifndef KERNEL_CPU_COMBINE_H
#define KERNEL_CPU_COMBINE_H

#include <weft/plugin/kernel.h>

typedef weft_combine_fn_t combine_table_t[WEFT_DTYPE_COUNT][WEFT_OP_COUNT];

extern const combine_table_t combine_c;
#if defined(__x86_64__)
extern const combine_table_t combine_avx2, combine_avx2_stream;
extern const combine_table_t combine_avx512, combine_avx512_stream;
#endif
#if defined(__aarch64__)
extern const combine_table_t combine_neon, combine_neon_stream;
#endif

/* Copies `bytes` of the only source to all destinations. */
void combine_copy(const weft_combine_t *c, size_t bytes);

/* Calls `plain` for elements `first` … `last` − 1. */
void combine_range(const weft_combine_t *c, size_t first, size_t last, size_t elem,
                   weft_combine_fn_t plain);

/* Bytes before the first destination of the mask is aligned to `align`. */
size_t combine_head(const weft_combine_t *c, uint32_t mask, size_t align);

/* Keeps the bits of the destinations that are aligned at `offset`. */
uint32_t combine_aligned(const weft_combine_t *c, uint32_t mask, size_t offset, size_t align);

/* Names made of the macros of each_dtype.inc: TYPED(run) is fp32_run and so on. */
#define GLUE2(a, b) a##_##b
#define GLUE(a, b) GLUE2(a, b)
#define TYPED(suffix) GLUE(NAME, suffix)

/* One row per data type; X(dtype, name, bytes) with the names of each_dtype.inc. */
#define COMBINE_INTEGERS(X)                                                                        \
    X(INT8, int8, 1)                                                                               \
    X(UINT8, uint8, 1)                                                                             \
    X(INT16, int16, 2)                                                                             \
    X(UINT16, uint16, 2)                                                                           \
    X(INT32, int32, 4)                                                                             \
    X(UINT32, uint32, 4)                                                                           \
    X(INT64, int64, 8)                                                                             \
    X(UINT64, uint64, 8)
#define COMBINE_FLOATS(X)                                                                          \
    X(FP16, fp16, 2)                                                                               \
    X(FP32, fp32, 4)                                                                               \
    X(FP64, fp64, 8)                                                                               \
    X(BF16, bf16, 2)                                                                               \
    X(FP8_E4M3, fp8_e4m3, 1)                                                                       \
    X(FP8_E5M2, fp8_e5m2, 1)
#define COMBINE_ROWS(X) COMBINE_INTEGERS(X) COMBINE_FLOATS(X)

/* The sizes of integers; X(bytes). Their bits are combined as so many bytes. */
#define COMBINE_SIZES(X) X(1) X(2) X(4) X(8)

/* The same combination of bytes. */
static inline weft_combine_t combine_as_bytes(const weft_combine_t *c, size_t elem)
{
    weft_combine_t bytes = *c;
    bytes.count *= elem;
    return bytes;
}

#endif
