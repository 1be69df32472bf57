/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Combinations with AVX2 and F16C. */
#include <immintrin.h>

#define VEC_BYTES 32
#define VEC_PLAIN combine_avx2
#define VEC_STREAM combine_avx2_stream
#include "vector.h"

static inline v_f32 fp16_vdecode(v_half x)
{
    return (v_f32)_mm256_cvtph_ps((__m128i)x);
}

static inline v_half fp16_vencode(v_f32 x)
{
    return (v_half)_mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT);
}

static inline void vec_stream(void *dst, const void *value, size_t bytes)
{
    if (bytes == 32) {
        _mm256_stream_si256(dst, _mm256_loadu_si256(value));
    } else if (bytes == 16) {
        _mm_stream_si128(dst, _mm_loadu_si128(value));
    } else {
        _mm_stream_si64(dst, _mm_cvtsi128_si64(_mm_loadl_epi64(value)));
    }
}

static inline void vec_fence(void)
{
    _mm_sfence();
}

#include "combine_vector.h"
