/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Combinations with AVX2 and F16C. */
#include <immintrin.h>

#define VEC_BYTES 32
#define VEC_PLAIN combine_avx2
#define VEC_STREAM combine_avx2_stream
#include "vector.h"

COMBINE_INLINE v_u32 vec_widen16(v_half x)
{
    return (v_u32)_mm256_cvtepu16_epi32((__m128i)x);
}

COMBINE_INLINE v_u32 vec_widen8(v_quarter x)
{
    long long bits;
    memcpy(&bits, &x, sizeof bits);
    return (v_u32)_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(bits));
}

COMBINE_INLINE v_half vec_narrow16(v_u32 x)
{
    __m256i words = _mm256_packus_epi32((__m256i)x, (__m256i)x);
    return (v_half)_mm256_castsi256_si128(_mm256_permute4x64_epi64(words, 0x08));
}

COMBINE_INLINE v_quarter vec_narrow8(v_u32 x)
{
    __m128i words = (__m128i)vec_narrow16(x);
    __m128i bytes = _mm_packus_epi16(words, words);
    v_quarter result;
    memcpy(&result, &bytes, sizeof result);
    return result;
}

COMBINE_INLINE v_f32 fp16_vdecode(v_half x)
{
    return (v_f32)_mm256_cvtph_ps((__m128i)x);
}

COMBINE_INLINE v_half fp16_vencode(v_f32 x)
{
    return (v_half)_mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT);
}

COMBINE_INLINE void vec_stream(void *dst, const void *value, size_t bytes)
{
    if (bytes == 32) {
        _mm256_stream_si256(dst, _mm256_loadu_si256(value));
    } else if (bytes == 16) {
        _mm_stream_si128(dst, _mm_loadu_si128(value));
    } else {
        _mm_stream_si64(dst, _mm_cvtsi128_si64(_mm_loadl_epi64(value)));
    }
}

COMBINE_INLINE void vec_fence(void)
{
    _mm_sfence();
}

#include "combine_vector.h"
