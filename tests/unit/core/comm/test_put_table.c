/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a put tells its target, and how a rank finds windows by their number. */
#include <stdlib.h>

#include "core/comm/put_signature.h"
#include "core/comm/window_table.h"
#include "tests/support/unit.h"

static void a_put_says_where_it_goes(void **state)
{
    static const uint64_t offsets[] = {0,
                                       1,
                                       UINT64_C(0xffffffff),
                                       UINT64_C(0x100000000),
                                       UINT64_C(0x123456789abc),
                                       WEFT_PUT_OFFSET_MOST};
    (void)state;
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        const weft_args_t put = {.count = 5 + i,
                                 .dtype = WEFT_UINT64,
                                 .target = UINT32_MAX - (uint32_t)i,
                                 .offset = offsets[i]};
        const weft_signature_t signature = weft_put_signature(&put, 7);
        const weft_args_t arrival = weft_put_arrival(&signature, 3);
        const weft_signature_t again = weft_put_signature(&arrival, 7);
        assert_int_equal(arrival.root, 3);
        assert_int_equal(arrival.count, 8 * (5 + i));
        assert_int_equal(arrival.target, put.target);
        assert_int_equal(arrival.offset, offsets[i]);
        assert_int_equal(signature.greets, 0);
        assert_true(weft_signature_equal(&signature, &again));
    }
}

static void who_is_listened_to_stands_in_the_list_once(void **state)
{
    weft_puts_t *puts = NULL;
    (void)state;
    assert_int_equal(weft_puts_create(4, &puts), WEFT_OK);
    weft_puts_listen_to(puts, 2);
    weft_puts_listen_to(puts, 0);
    weft_puts_listen_to(puts, 2);
    assert_int_equal(puts->nlistening, 2);
    assert_int_equal(puts->listening[0], 2);
    assert_int_equal(puts->listening[1], 0);
    weft_puts_destroy(puts);
    weft_puts_destroy(NULL);
}

static void windows_are_found_by_the_order_in_which_they_came(void **state)
{
    static weft_family_t family;
    const weft_comm_identity_t self = {.nranks = 1, .family = &family};
    static char memory[64];
    weft_window_table_t table = {.local = NULL};
    weft_window_t *window[3];
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(weft_window_create_local(&table, memory + i, 8, &window[i]), WEFT_OK);
    }
    assert_ptr_equal(weft_window_numbered(&table, 1), window[0]);
    assert_ptr_equal(weft_window_numbered(&table, 3), window[2]);
    assert_null(weft_window_numbered(&table, 0));
    assert_null(weft_window_numbered(&table, 4));
    assert_true(weft_window_is_known(&table, window[1]));
    assert_false(weft_window_is_known(&table, NULL));
    assert_false(weft_window_is_known(&table, (weft_window_t *)(void *)memory));
    weft_window_free(&self, &table, window[1]);
    assert_null(weft_window_numbered(&table, 2)); /* its number is not given again */
    assert_int_equal(weft_window_create_local(&table, memory, 8, &window[1]), WEFT_OK);
    assert_ptr_equal(weft_window_numbered(&table, 4), window[1]);
    weft_window_table_fini(&self, &table);
}

/* A number that came again would be that of another window, perhaps of one that is still there. */
static void there_are_no_more_windows_than_numbers(void **state)
{
    static weft_family_t family;
    const weft_comm_identity_t self = {.nranks = 1, .family = &family};
    static char memory[8];
    weft_window_table_t table = {.registered = UINT32_MAX - 2};
    weft_window_t *window[2], *none = NULL;
    (void)state;
    assert_int_equal(weft_window_create_local(&table, memory, 8, &window[0]), WEFT_OK);
    assert_int_equal(weft_window_create(&self, &table, memory, 8, &window[1]), WEFT_OK);
    assert_ptr_equal(weft_window_numbered(&table, UINT32_MAX), window[1]);
    assert_int_equal(weft_window_create_local(&table, memory, 8, &none), WEFT_ERR_RESOURCE);
    assert_int_equal(weft_window_create(&self, &table, memory, 8, &none), WEFT_ERR_RESOURCE);
    assert_null(none);
    assert_ptr_equal(weft_window_numbered(&table, UINT32_MAX), window[1]);
    weft_window_table_fini(&self, &table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_put_says_where_it_goes),
        cmocka_unit_test(who_is_listened_to_stands_in_the_list_once),
        cmocka_unit_test(windows_are_found_by_the_order_in_which_they_came),
        cmocka_unit_test(there_are_no_more_windows_than_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
