/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finding a rank of the family in a communicator, whether its ranks keep their order or not. */
#include "core/comm/identity.h"
#include "tests/support/unit.h"

#define FAMILY 40u

static void expect_all(const uint32_t *ranks, uint32_t nranks, bool ordered)
{
    weft_comm_identity_t self = {
        .nranks = nranks, .family_rank = (uint32_t *)ranks, .ordered = ordered};
    for (uint32_t wanted = 0; wanted < FAMILY; wanted++) {
        uint32_t expected = 0;
        while (expected < nranks && ranks[expected] != wanted) {
            expected++;
        }
        assert_int_equal(weft_identity_find(&self, wanted), expected);
    }
}

static void ranks_in_order_are_found_and_others_are_no_members(void **unused)
{
    (void)unused;
    uint32_t ranks[FAMILY];
    for (uint32_t step = 1; step < 7; step++) {
        for (uint32_t first = 0; first < step; first++) {
            uint32_t nranks = 0;
            for (uint32_t rank = first; rank < FAMILY; rank += step) {
                ranks[nranks++] = rank;
            }
            expect_all(ranks, nranks, true);
            expect_all(ranks, nranks, false);
        }
    }
}

static void ranks_in_another_order_are_found(void **unused)
{
    (void)unused;
    static const uint32_t ranks[] = {7, 3, 39, 0, 12, 5};
    expect_all(ranks, 6, false);
    expect_all(ranks, 1, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_in_order_are_found_and_others_are_no_members),
        cmocka_unit_test(ranks_in_another_order_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
