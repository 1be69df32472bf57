/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spare blocks: used again, and not hoarded. */
#include <stdlib.h>

#include "core/comm/spares.h"
#include "tests/support/unit.h"

enum { BYTES = 64, MANY = 200 };

static void what_was_put_is_taken_again(void **state)
{
    weft_spares_t spares = {.first = NULL};
    (void)state;
    void *one = weft_spares_take(&spares, BYTES), *two = weft_spares_take(&spares, BYTES);
    assert_non_null(one);
    assert_ptr_not_equal(one, two);
    weft_spares_put(&spares, one);
    weft_spares_put(&spares, two);
    assert_int_equal(spares.count, 2);
    assert_ptr_equal(weft_spares_take(&spares, BYTES), two);
    assert_ptr_equal(weft_spares_take(&spares, BYTES), one);
    assert_int_equal(spares.count, 0);
    weft_spares_put(&spares, one);
    weft_spares_put(NULL, two); /* freed */
    weft_spares_fini(&spares);
    assert_null(spares.first);
}

static void no_more_blocks_are_kept_than_a_group_of_usual_size_needs(void **state)
{
    weft_spares_t spares = {.first = NULL};
    void *blocks[MANY];
    (void)state;
    for (uint32_t i = 0; i < MANY; i++) {
        blocks[i] = weft_spares_take(&spares, BYTES);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        weft_spares_put(&spares, blocks[i]);
    }
    assert_true(spares.count > 16 && spares.count < MANY);
    weft_spares_fini(&spares);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_taken_again),
        cmocka_unit_test(no_more_blocks_are_kept_than_a_group_of_usual_size_needs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
