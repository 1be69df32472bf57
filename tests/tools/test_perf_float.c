/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Conversions that the checks of weft perf rely on. */
#include <math.h>

#include "tests/support/unit.h"
#include "tools/perf_float.h"

static void every_finite_value_comes_back(weft_dtype_t dtype, uint64_t values)
{
    for (uint64_t bits = 0; bits < values; bits++) {
        double value = perf_float_decode(dtype, bits);
        if (isfinite(value)) {
            assert_int_equal(perf_float_encode(dtype, value), bits);
        }
    }
}

static void small_types_come_back(void **state)
{
    (void)state;
    every_finite_value_comes_back(WEFT_FP16, 1 << 16);
    every_finite_value_comes_back(WEFT_BF16, 1 << 16);
    every_finite_value_comes_back(WEFT_FP8_E4M3, 1 << 8);
    every_finite_value_comes_back(WEFT_FP8_E5M2, 1 << 8);
}

static void known_values_have_known_bits(void **state)
{
    (void)state;
    assert_int_equal(perf_float_encode(WEFT_FP16, 65504), 0x7bff);
    assert_int_equal(perf_float_encode(WEFT_BF16, -1), 0xbf80);
    assert_int_equal(perf_float_encode(WEFT_FP8_E4M3, 448), 0x7e);
    assert_int_equal(perf_float_encode(WEFT_FP8_E5M2, 57344), 0x7b);
    assert_true(isnan(perf_float_decode(WEFT_FP8_E4M3, 0x7f)));
    assert_true(isinf(perf_float_decode(WEFT_FP8_E5M2, 0x7c)));
    assert_true(perf_float_decode(WEFT_FP8_E4M3, 1) == ldexp(1, -9));
}

static void ties_go_to_even(void **state)
{
    (void)state;
    assert_int_equal(perf_float_encode(WEFT_FP16, 2049), perf_float_encode(WEFT_FP16, 2048));
    assert_int_equal(perf_float_encode(WEFT_FP16, 2051), perf_float_encode(WEFT_FP16, 2052));
}

static void distance_counts_values_across_zero(void **state)
{
    (void)state;
    uint64_t up = perf_float_encode(WEFT_FP16, ldexp(1, -24));
    uint64_t down = perf_float_encode(WEFT_FP16, -ldexp(1, -24));
    assert_int_equal(perf_float_distance(WEFT_FP16, up, down), 2);
    assert_int_equal(perf_float_distance(WEFT_FP16, up, 0x7c00), UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_types_come_back),
        cmocka_unit_test(known_values_have_known_bits),
        cmocka_unit_test(ties_go_to_even),
        cmocka_unit_test(distance_counts_values_across_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
