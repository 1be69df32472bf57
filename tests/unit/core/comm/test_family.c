/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The members of a family, and what they count. */
#include "core/comm/family.h"
#include "tests/support/unit.h"

static weft_family_t family;

static uint64_t attempt(weft_family_member_t *member, uint64_t key)
{
    uint64_t number = UINT64_MAX;
    assert_int_equal(weft_family_count_attempt(&family, member, key, &number), WEFT_OK);
    return number;
}

static void a_communicator_counts_its_calls_until_it_goes(void **state)
{
    weft_family_member_t one = {.comm_id = 1}, two = {.comm_id = 2};
    (void)state;
    for (uint64_t i = 0; i < 5; i++) {
        for (uint64_t key = 70; key < 80; key++) {
            assert_int_equal(attempt(&one, key), i);
        }
    }
    assert_int_equal(attempt(&two, 70), 0);
    weft_family_remove(&family, &one);
    assert_null(one.attempts);
    assert_int_equal(attempt(&two, 70), 1);
    weft_family_remove(&family, &two);
    assert_null(two.attempts);
}

/* A call that came to nothing has its number again, where the communicator is still there. */
static void a_count_is_taken_back(void **state)
{
    weft_family_member_t one = {.comm_id = 1};
    (void)state;
    family.members.first = &one;
    assert_int_equal(attempt(&one, 70), 0);
    assert_int_equal(attempt(&one, 70), 1);
    assert_int_equal(attempt(&one, 71), 0);
    weft_family_discount_attempt(&family, 1, 70);
    weft_family_discount_attempt(&family, 2, 70);
    weft_family_discount_attempt(&family, 1, 72);
    assert_int_equal(attempt(&one, 70), 1);
    assert_int_equal(attempt(&one, 71), 1);
    weft_family_remove(&family, &one);
    weft_family_discount_attempt(&family, 1, 70);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_communicator_counts_its_calls_until_it_goes),
        cmocka_unit_test(a_count_is_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
