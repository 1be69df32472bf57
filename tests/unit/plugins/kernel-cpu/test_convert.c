/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The scalar conversions against the slow reference: every pattern of every small float, the middle
 * between all neighbours and what lies just beside it, and a sample of all fp32 patterns. */
#include <math.h>

#include "plugins/kernel-cpu/convert.h"
#include "tests/support/kernel_reference.h"
#include "tests/support/unit.h"

static float decode(weft_dtype_t dtype, uint32_t bits)
{
    switch (dtype) {
    case WEFT_FP16:
        return fp16_decode((u16)bits);
    case WEFT_BF16:
        return bf16_decode((u16)bits);
    case WEFT_FP8_E4M3:
        return fp8_e4m3_decode((u8)bits);
    default:
        return fp8_e5m2_decode((u8)bits);
    }
}

static uint32_t encode(weft_dtype_t dtype, float value)
{
    switch (dtype) {
    case WEFT_FP16:
        return fp16_encode(value);
    case WEFT_BF16:
        return bf16_encode(value);
    case WEFT_FP8_E4M3:
        return fp8_e4m3_encode(value);
    default:
        return fp8_e5m2_encode(value);
    }
}

static const weft_dtype_t small_types[] = {WEFT_FP16, WEFT_BF16, WEFT_FP8_E4M3, WEFT_FP8_E5M2};

static void check_encode(weft_dtype_t dtype, float value)
{
    uint64_t expected = reference_encode(dtype, (double)value);
    uint64_t found = encode(dtype, value);
    if (!reference_same(dtype, found, expected)) {
        fail_msg("%s: %a becomes %#llx in place of %#llx", reference_dtype_name(dtype),
                 (double)value, (unsigned long long)found, (unsigned long long)expected);
    }
}

static void every_pattern_decodes_to_its_value(void **state)
{
    (void)state;
    for (size_t t = 0; t < 4; t++) {
        uint32_t patterns = 1u << 8 * reference_size(small_types[t]);
        for (uint32_t bits = 0; bits < patterns; bits++) {
            float found = decode(small_types[t], bits);
            double expected = reference_decode(small_types[t], bits);
            if (isnan(expected)) {
                assert_true(isnan(found));
            } else {
                assert_true((double)found == expected);
                assert_int_equal(signbit(found) != 0, signbit(expected) != 0);
            }
        }
    }
}

static void every_pattern_survives_the_round_trip(void **state)
{
    (void)state;
    for (size_t t = 0; t < 4; t++) {
        uint32_t patterns = 1u << 8 * reference_size(small_types[t]);
        for (uint32_t bits = 0; bits < patterns; bits++) {
            uint64_t back = encode(small_types[t], decode(small_types[t], bits));
            assert_true(reference_same(small_types[t], back, bits));
        }
    }
}

static void halves_round_to_even_and_their_neighbours_to_the_nearest(void **state)
{
    (void)state;
    for (size_t t = 0; t < 4; t++) {
        uint32_t patterns = 1u << 8 * reference_size(small_types[t]);
        for (uint32_t bits = 0; bits + 1 < patterns; bits++) {
            double low = reference_decode(small_types[t], bits);
            double high = reference_decode(small_types[t], bits + 1);
            float middle = (float)((low + high) / 2);
            if (isfinite(middle)) {
                check_encode(small_types[t], middle);
                check_encode(small_types[t], nextafterf(middle, INFINITY));
                check_encode(small_types[t], nextafterf(middle, -INFINITY));
            }
        }
    }
}

static void a_sample_of_all_fp32_encodes_as_the_reference_says(void **state)
{
    (void)state;
    for (size_t t = 0; t < 4; t++) {
        for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4093) {
            check_encode(small_types[t], f32_of((u32)bits));
        }
    }
}

static void overflow_gives_infinity_or_the_nan_of_e4m3(void **state)
{
    (void)state;
    assert_int_equal(fp16_encode(65519.0f), 0x7bff);
    assert_int_equal(fp16_encode(65520.0f), 0x7c00);
    assert_int_equal(bf16_encode(3.4e38f), 0x7f80);
    assert_int_equal(fp8_e5m2_encode(61439.0f), 0x7b);
    assert_int_equal(fp8_e5m2_encode(61440.0f), 0x7c);
    assert_int_equal(fp8_e4m3_encode(464.0f), 0x7e);
    assert_int_equal(fp8_e4m3_encode(464.1f), 0x7f);
    assert_int_equal(fp8_e4m3_encode(-INFINITY), 0xff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pattern_decodes_to_its_value),
        cmocka_unit_test(every_pattern_survives_the_round_trip),
        cmocka_unit_test(halves_round_to_even_and_their_neighbours_to_the_nearest),
        cmocka_unit_test(a_sample_of_all_fp32_encodes_as_the_reference_says),
        cmocka_unit_test(overflow_gives_infinity_or_the_nan_of_e4m3),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
