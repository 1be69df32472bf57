/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Combinations with NEON. C has no store past the caches here, so both tables hold usual stores. */
#include <arm_neon.h>

#define VEC_BYTES 16
#define VEC_PLAIN combine_neon
#define VEC_STREAM combine_neon_stream
#include "vector.h"

COMBINE_INLINE v_u32 vec_widen16(v_half x)
{
    return (v_u32)vmovl_u16((uint16x4_t)x);
}

COMBINE_INLINE v_u32 vec_widen8(v_quarter x)
{
    u32 bits;
    memcpy(&bits, &x, sizeof bits);
    return (v_u32)vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(bits))));
}

COMBINE_INLINE v_half vec_narrow16(v_u32 x)
{
    return (v_half)vmovn_u32((uint32x4_t)x);
}

COMBINE_INLINE v_quarter vec_narrow8(v_u32 x)
{
    uint16x4_t words = vmovn_u32((uint32x4_t)x);
    uint8x8_t bytes = vmovn_u16(vcombine_u16(words, words));
    v_quarter result;
    memcpy(&result, &bytes, sizeof result);
    return result;
}

COMBINE_INLINE v_f32 fp16_vdecode(v_half x)
{
    return (v_f32)vcvt_f32_f16((float16x4_t)x);
}

COMBINE_INLINE v_half fp16_vencode(v_f32 x)
{
    return (v_half)vcvt_f16_f32((float32x4_t)x);
}

COMBINE_INLINE void vec_stream(void *dst, const void *value, size_t bytes)
{
    memcpy(dst, value, bytes);
}

COMBINE_INLINE void vec_fence(void)
{
}

#include "combine_vector.h"
