/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slots of a job. */
#include "core/comm/slots.h"
#include "tests/support/unit.h"

static void is(weft_slots_t slots, uint32_t count, uint64_t bytes)
{
    assert_int_equal(slots.count, count);
    assert_int_equal(slots.bytes, bytes);
}

static void transports_ask_and_get_a_power_of_two(void **state)
{
    const weft_exec_settings_t exec = {.slots = 0};
    (void)state;
    is(weft_slots_choose(&exec, (weft_slots_t){8, 524288}, 1), 8, 524288);
    is(weft_slots_choose(&exec, (weft_slots_t){5, 100}, 1), 8, 128);
    is(weft_slots_choose(&exec, (weft_slots_t){1, 64}, 0), 2, 64);
    is(weft_slots_choose(&exec, (weft_slots_t){1000, 64}, 1), WEFT_SLOTS_MOST, 64);
}

static void deep_plans_get_slots_for_two_slices_in_the_same_memory(void **state)
{
    const weft_exec_settings_t exec = {.slots = 0};
    (void)state;
    is(weft_slots_choose(&exec, (weft_slots_t){8, 524288}, 8), 16, 262144);
    is(weft_slots_choose(&exec, (weft_slots_t){8, 524288}, 3), 8, 524288);
    is(weft_slots_choose(&exec, (weft_slots_t){8, 32768}, 32), 64, 16384);
}

static void settings_count_more(void **state)
{
    const weft_exec_settings_t exec = {.slots = 4, .slot_bytes = 4096};
    (void)state;
    is(weft_slots_choose(&exec, (weft_slots_t){8, 524288}, 8), 4, 4096);
}

static uint32_t headers(uint32_t slots, uint64_t small_bytes, uint32_t nranks)
{
    return weft_slots_shape((weft_slots_t){slots, 65536}, small_bytes, nranks).headers;
}

static void few_ranks_have_more_headers_than_slots(void **state)
{
    (void)state;
    assert_int_equal(headers(4, 1024, 2), 32);
    assert_int_equal(headers(4, 1024, 16), 32);
    assert_int_equal(headers(4, 1024, 17), 16);
    assert_int_equal(headers(4, 1024, 64), 8);
    assert_int_equal(headers(4, 1024, 65), 4);
    assert_int_equal(headers(4, 1024, UINT32_MAX), 4);
    assert_int_equal(headers(64, 1024, 2), 64);
}

static void slots_of_devices_have_a_header_each(void **state)
{
    (void)state;
    assert_int_equal(headers(4, 0, 2), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transports_ask_and_get_a_power_of_two),
        cmocka_unit_test(deep_plans_get_slots_for_two_slices_in_the_same_memory),
        cmocka_unit_test(settings_count_more),
        cmocka_unit_test(few_ranks_have_more_headers_than_slots),
        cmocka_unit_test(slots_of_devices_have_a_header_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
