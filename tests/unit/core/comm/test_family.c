/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The members of a family, and what they count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/error.h"
#include "core/comm/family.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_communicator_counts_its_calls_until_it_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
