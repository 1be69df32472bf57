/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Combinations with AVX-512 (F, BW, DQ, VL). */
#include <immintrin.h>

#define VEC_BYTES 64
#define VEC_PLAIN combine_avx512
#define VEC_STREAM combine_avx512_stream
#include "vector.h"

static inline v_f32 fp16_vdecode(v_half x)
{
    return (v_f32)_mm512_cvtph_ps((__m256i)x);
}

static inline v_half fp16_vencode(v_f32 x)
{
    return (v_half)_mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT);
}

static inline void vec_stream(void *dst, const void *value, size_t bytes)
{
    if (bytes == 64) {
        _mm512_stream_si512(dst, _mm512_loadu_si512(value));
    } else if (bytes == 32) {
        _mm256_stream_si256(dst, _mm256_loadu_si256(value));
    } else {
        _mm_stream_si128(dst, _mm_loadu_si128(value));
    }
}

static inline void vec_fence(void)
{
    _mm_sfence();
}

#include "combine_vector.h"
