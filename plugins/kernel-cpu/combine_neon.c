/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Combinations with NEON. C has no store past the caches here, so both tables hold usual stores. */
#include <arm_neon.h>

#define VEC_BYTES 16
#define VEC_PLAIN combine_neon
#define VEC_STREAM combine_neon_stream
#include "vector.h"

static inline v_f32 fp16_vdecode(v_half x)
{
    return (v_f32)vcvt_f32_f16((float16x4_t)x);
}

static inline v_half fp16_vencode(v_f32 x)
{
    return (v_half)vcvt_f16_f32((float32x4_t)x);
}

static inline void vec_stream(void *dst, const void *value, size_t bytes)
{
    memcpy(dst, value, bytes);
}

static inline void vec_fence(void)
{
}

#include "combine_vector.h"
