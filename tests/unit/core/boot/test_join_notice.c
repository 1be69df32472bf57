/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whom the root says it waits for, and when. */
#include <string.h>

#include "core/boot/join_notice.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

#define S WEFT_NS_PER_S

static weft_root_table_t table;
static char text[WEFT_JOIN_NOTICE_BYTES];

static int table_make(void **state)
{
    (void)state;
    int watch;
    weft_join_request_t first;
    if (weft_os_watch_open(&watch) != WEFT_OK ||
        weft_join_request_make(&first, 0, 8, NULL, 0) != WEFT_OK) {
        return 1;
    }
    weft_root_table_init(&table, watch, 7);
    return weft_root_table_make(&table, &first) != WEFT_OK;
}

static int table_free(void **state)
{
    (void)state;
    weft_os_close(table.watch);
    weft_root_table_fini(&table);
    return 0;
}

static void come(uint32_t rank)
{
    table.seats[rank].arrived = true;
    table.arrived++;
}

static void late_ranks_are_named_ever_more_rarely(void **state)
{
    (void)state;
    weft_join_notice_t notice = {.pause = 0};
    for (uint32_t rank = 0; rank < 8; rank++) {
        if (rank != 2 && rank != 5 && rank != 6) {
            come(rank);
        }
    }
    assert_true(weft_join_notice(&notice, &table, false, 10 * S, text) == 12 * S);
    assert_string_equal(text, "");
    assert_true(weft_join_notice(&notice, &table, false, 11 * S, text) == 12 * S);
    assert_string_equal(text, "");
    assert_true(weft_join_notice(&notice, &table, false, 12 * S, text) == 16 * S);
    assert_string_equal(text, "waiting for ranks 2, 5-6 (5 of 8 joined)");
    assert_true(weft_join_notice(&notice, &table, false, 13 * S, text) == 16 * S);
    assert_string_equal(text, "");
    assert_true(weft_join_notice(&notice, &table, false, 16 * S, text) == 24 * S);
    assert_string_not_equal(text, "");
}

static void nothing_is_said_while_ranks_come(void **state)
{
    (void)state;
    weft_join_notice_t notice = {.pause = 0};
    for (uint32_t rank = 0; rank < 7; rank++) {
        come(rank);
        uint64_t now = (10 + rank) * S;
        assert_true(weft_join_notice(&notice, &table, false, now, text) == now + 2 * S);
        assert_string_equal(text, "");
    }
    (void)weft_join_notice(&notice, &table, false, 18 * S, text);
    assert_string_equal(text, "waiting for rank 7 (7 of 8 joined)");
}

static void who_does_not_connect_is_named_after_the_welcome(void **state)
{
    (void)state;
    weft_join_notice_t notice = {.pause = 0};
    for (uint32_t rank = 0; rank < 8; rank++) {
        come(rank);
        table.seats[rank].ready = rank != 3;
        table.ready += rank != 3;
    }
    (void)weft_join_notice(&notice, &table, true, 1 * S, text);
    (void)weft_join_notice(&notice, &table, true, 3 * S, text);
    assert_string_equal(text, "waiting for rank 3 to connect to neighbours (7 of 8 have)");
    table.ready = 8;
    assert_true(weft_join_notice(&notice, &table, true, 9 * S, text) == WEFT_NEVER);
    assert_string_equal(text, "");
}

static void a_failed_join_waits_for_nobody(void **state)
{
    (void)state;
    weft_join_notice_t notice = {.pause = 0};
    come(0);
    (void)weft_join_notice(&notice, &table, false, 1 * S, text);
    weft_root_fail(&table, WEFT_ERR_CONFIG, NULL, "too bad");
    assert_true(weft_join_notice(&notice, &table, false, 9 * S, text) == WEFT_NEVER);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(late_ranks_are_named_ever_more_rarely, table_make,
                                        table_free),
        cmocka_unit_test_setup_teardown(nothing_is_said_while_ranks_come, table_make, table_free),
        cmocka_unit_test_setup_teardown(who_does_not_connect_is_named_after_the_welcome, table_make,
                                        table_free),
        cmocka_unit_test_setup_teardown(a_failed_join_waits_for_nobody, table_make, table_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
