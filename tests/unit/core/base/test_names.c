/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of data types and operators, and which of them go together. */
#include <stdbool.h>
#include <stdlib.h>

#include <weft/weft.h>

#include "tests/support/unit.h"

static void operators_have_names(void **state)
{
    (void)state;
    assert_string_equal(weft_op_name(WEFT_PREMULSUM), "mulsum");
    assert_string_equal(weft_op_name(WEFT_BAND), "band");
    assert_string_equal(weft_op_name(WEFT_BXOR), "bxor");
    assert_null(weft_op_name(WEFT_OP_COUNT));
}

static void bits_are_combined_of_integers_only(void **state)
{
    (void)state;
    for (int op = 0; op < WEFT_OP_COUNT; op++) {
        for (int dtype = 0; dtype < WEFT_DTYPE_COUNT; dtype++) {
            bool is_float = dtype >= WEFT_FP16;
            assert_int_equal(weft_op_has_dtype((weft_op_t)op, (weft_dtype_t)dtype),
                             op < WEFT_BAND || !is_float);
        }
    }
    assert_int_equal(weft_op_has_dtype(WEFT_OP_COUNT, WEFT_INT8), 0);
    assert_int_equal(weft_op_has_dtype(WEFT_OP_USER, WEFT_INT8), 0);
    assert_int_equal(weft_op_has_dtype(WEFT_SUM, WEFT_DTYPE_COUNT), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_have_names),
        cmocka_unit_test(bits_are_combined_of_integers_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
