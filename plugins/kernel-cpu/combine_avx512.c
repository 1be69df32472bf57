/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Combinations with AVX-512 (F, BW, DQ, VL). */
#include <immintrin.h>

#define VEC_BYTES 64
#define VEC_PLAIN combine_avx512
#define VEC_STREAM combine_avx512_stream
#include "vector.h"

COMBINE_INLINE v_u32 vec_widen16(v_half x)
{
    return (v_u32)_mm512_cvtepu16_epi32((__m256i)x);
}

COMBINE_INLINE v_u32 vec_widen8(v_quarter x)
{
    return (v_u32)_mm512_cvtepu8_epi32((__m128i)x);
}

COMBINE_INLINE v_half vec_narrow16(v_u32 x)
{
    return (v_half)_mm512_cvtepi32_epi16((__m512i)x);
}

COMBINE_INLINE v_quarter vec_narrow8(v_u32 x)
{
    return (v_quarter)_mm512_cvtepi32_epi8((__m512i)x);
}

COMBINE_INLINE v_f32 fp16_vdecode(v_half x)
{
    return (v_f32)_mm512_cvtph_ps((__m256i)x);
}

COMBINE_INLINE v_half fp16_vencode(v_f32 x)
{
    return (v_half)_mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT);
}

COMBINE_INLINE void vec_stream(void *dst, const void *value, size_t bytes)
{
    if (bytes == 64) {
        _mm512_stream_si512(dst, _mm512_loadu_si512(value));
    } else if (bytes == 32) {
        _mm256_stream_si256(dst, _mm256_loadu_si256(value));
    } else {
        _mm_stream_si128(dst, _mm_loadu_si128(value));
    }
}

COMBINE_INLINE void vec_fence(void)
{
    _mm_sfence();
}

#include "combine_vector.h"
