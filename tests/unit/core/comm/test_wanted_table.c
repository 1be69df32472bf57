/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of links that peers want. */
#include "core/comm/wanted_table.h"
#include "tests/support/unit.h"

static weft_wanted_table_t table;

static void add(uint64_t comm_id, uint32_t peer, uint32_t number)
{
    weft_wanted_table_add(
        &table, &(weft_wanted_link_t){.comm_id = comm_id, .peer = peer, .number = number});
}

static void who_asks_again_is_noted_once(void **state)
{
    weft_wanted_link_t link;
    (void)state;
    add(1, 2, 3);
    add(1, 2, 4);
    add(1, 2, 3);
    add(2, 2, 3);
    assert_int_equal(weft_wanted_table_count(&table), 3);
    assert_true(weft_wanted_table_take(&table, &link) && link.comm_id == 1 && link.number == 3);
    assert_true(weft_wanted_table_take(&table, &link) && link.comm_id == 1 && link.number == 4);
    assert_true(weft_wanted_table_take(&table, &link) && link.comm_id == 2 && link.peer == 2);
    assert_false(weft_wanted_table_take(&table, &link));
}

static void what_does_not_fit_is_left_out(void **state)
{
    weft_wanted_link_t link;
    (void)state;
    for (uint32_t i = 0; i <= WEFT_WANTED_LINKS; i++) {
        add(1, i, 0);
    }
    for (uint32_t i = 0; i < WEFT_WANTED_LINKS; i++) {
        assert_true(weft_wanted_table_take(&table, &link) && link.peer == i);
    }
    assert_int_equal(weft_wanted_table_count(&table), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_asks_again_is_noted_once),
        cmocka_unit_test(what_does_not_fit_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
