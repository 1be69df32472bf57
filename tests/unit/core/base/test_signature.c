/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Signatures: equal only if every field is, and the difference in words names the field and both
 * values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/signature.h"

static const weft_signature_t base = {
    .coll = WEFT_ALL_REDUCE, .dtype = WEFT_FP32, .count = 8, .sequence = 3, .plan = 77};

static void check(const weft_signature_t *other, const char *words)
{
    char text[256];
    assert_false(weft_signature_equal(&base, other));
    weft_signature_diff(&base, other, text, sizeof text);
    assert_string_equal(text, words);
}

static void each_field_that_differs_is_named_with_both_values(void **state)
{
    weft_signature_t s;
    (void)state;
    s = base, s.coll = WEFT_BROADCAST;
    check(&s, "collective all_reduce here, broadcast there");
    s = base, s.dtype = WEFT_INT8;
    check(&s, "data type float here, int8 there");
    s = base, s.op = WEFT_MAX;
    check(&s, "operator sum here, max there");
    s = base, s.root = 2;
    check(&s, "root 0 here, 2 there");
    s = base, s.count = UINT64_C(1) << 40;
    check(&s, "count 8 here, 1099511627776 there");
    s = base, s.sequence = 4;
    check(&s, "operation number 3 here, 4 there");
    s = base, s.plan = 78;
    check(&s,
          "plan 0000004d here, 0000004e there: the algorithm's plugin is of another build, or its "
          "plans are not a function of their arguments");
    s = base, s.coll = 99;
    check(&s, "collective all_reduce here, unknown there");
}

static void equal_signatures_have_no_difference(void **state)
{
    weft_signature_t same = base;
    char text[8] = "x";
    (void)state;
    assert_true(weft_signature_equal(&base, &same));
    weft_signature_diff(&base, &same, text, sizeof text);
    assert_string_equal(text, "");
}

static void a_text_names_the_root_where_there_is_one(void **state)
{
    weft_signature_t s = base;
    char text[64];
    (void)state;
    weft_signature_text(&s, text, sizeof text);
    assert_string_equal(text, "all_reduce of 8 float");
    s.coll = WEFT_BROADCAST, s.root = 2;
    weft_signature_text(&s, text, sizeof text);
    assert_string_equal(text, "broadcast of 8 float, root 2");
    s.coll = 99;
    weft_signature_text(&s, text, sizeof text);
    assert_string_equal(text, "unknown of 8 float");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_field_that_differs_is_named_with_both_values),
        cmocka_unit_test(a_text_names_the_root_where_there_is_one),
        cmocka_unit_test(equal_signatures_have_no_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
