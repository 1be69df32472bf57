/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who may go on where a majority is asked for. */
#include "core/comm/voters.h"
#include "tests/support/unit.h"

enum { MOST = 10 };

static bool group_goes_on(uint32_t group, uint32_t of)
{
    uint32_t left = 0;
    for (uint32_t r = 0; r < of; r++) {
        left += group >> r & 1;
    }
    return weft_voters_are_majority(left, of, (group & 1) != 0);
}

/* Each pair of groups that have no rank in common, whether or not others are dead. */
static void of_two_groups_one_goes_on_at_most(void **state)
{
    (void)state;
    for (uint32_t of = 1; of <= MOST; of++) {
        uint32_t all = (1u << of) - 1;
        for (uint32_t one = 1; one <= all; one++) {
            if (!group_goes_on(one, of)) {
                continue;
            }
            uint32_t rest = all & ~one;
            for (uint32_t other = rest; other > 0; other = (other - 1) & rest) {
                assert_false(group_goes_on(other, of));
            }
        }
    }
}

/* All, all but one where there are more than two, and rank 0 of two. */
static void few_losses_do_not_end_a_job(void **state)
{
    (void)state;
    for (uint32_t of = 1; of <= MOST; of++) {
        uint32_t all = (1u << of) - 1;
        assert_true(group_goes_on(all, of));
        for (uint32_t r = 0; of > 2 && r < of; r++) {
            assert_true(group_goes_on(all & ~(1u << r), of));
        }
    }
    assert_true(group_goes_on(1, 2));
    assert_false(group_goes_on(2, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_two_groups_one_goes_on_at_most),
        cmocka_unit_test(few_losses_do_not_end_a_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
