/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists of missing ranks: what is added is listed, who is too far behind is counted. */
#include "core/boot/missing.h"
#include "tests/support/unit.h"

static void ranks_are_listed_in_ascending_order(void **unused)
{
    (void)unused;
    static const uint32_t added[] = {70000, 70001, 70008, 70000 + WEFT_MISSING_SPAN - 1};
    uint32_t ranks[4] = {0};
    weft_missing_t missing = {.count = 0};
    assert_int_equal(weft_missing_list(&missing, ranks, 4), 0);
    for (uint32_t i = 0; i < 4; i++) {
        weft_missing_add(&missing, added[i]);
    }
    assert_int_equal(missing.count, 4);
    assert_int_equal(weft_missing_list(&missing, ranks, 4), 4);
    assert_memory_equal(ranks, added, sizeof added);
}

static void no_more_are_written_than_there_is_room_for(void **unused)
{
    (void)unused;
    uint32_t ranks[3] = {7, 7, 7};
    weft_missing_t missing = {.count = 0};
    for (uint32_t r = 0; r < 3; r++) {
        weft_missing_add(&missing, 2 * r);
    }
    assert_int_equal(weft_missing_list(&missing, ranks, 2), 3);
    assert_true(ranks[0] == 0 && ranks[1] == 2 && ranks[2] == 7);
    assert_int_equal(weft_missing_list(&missing, NULL, 0), 3);
}

static void who_is_too_far_behind_is_counted_and_not_listed(void **unused)
{
    (void)unused;
    uint32_t ranks[2];
    weft_missing_t missing = {.count = 0};
    weft_missing_add(&missing, 1);
    weft_missing_add(&missing, 1 + WEFT_MISSING_SPAN);
    assert_int_equal(missing.count, 2);
    assert_int_equal(weft_missing_list(&missing, ranks, 2), 1);
    assert_int_equal(ranks[0], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_listed_in_ascending_order),
        cmocka_unit_test(no_more_are_written_than_there_is_room_for),
        cmocka_unit_test(who_is_too_far_behind_is_counted_and_not_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
