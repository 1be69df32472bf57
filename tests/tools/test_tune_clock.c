/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a rank adds to its clock to have that of rank 0. */
#include "tests/support/unit.h"
#include "tools/tune_clock.h"

static void a_clock_ahead_is_set_back(void **state)
{
    (void)state;
    const tune_ping_t ping = {.sent = 5000, .there = 1010, .back = 5020};
    assert_int_equal(tune_clock_offset(&ping, 1), -4000);
}

static void a_clock_behind_is_set_forward(void **state)
{
    (void)state;
    const tune_ping_t ping = {.sent = 1000, .there = 900010, .back = 1020};
    assert_int_equal(tune_clock_offset(&ping, 1), 899000);
}

/* One ping was fast on its way there, another one on its way back. */
static void the_fastest_of_each_way_count(void **state)
{
    (void)state;
    const tune_ping_t pings[] = {{.sent = 1000, .there = 1510, .back = 9000},
                                 {.sent = 20000, .there = 27000, .back = 26510},
                                 {.sent = 30000, .there = 31000, .back = 31000}};
    assert_int_equal(tune_clock_offset(pings, 3), 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clock_ahead_is_set_back),
        cmocka_unit_test(a_clock_behind_is_set_forward),
        cmocka_unit_test(the_fastest_of_each_way_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
