/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit tests of the SDK's message headers. */
#include <string.h>

#include <weft/sdk/frame.h>

#include "tests/support/unit.h"

static uint8_t wire[WEFT_FRAME_BYTES];
static uint64_t bytes;
static char why[WEFT_FRAME_TEXT];

static void what_is_written_is_read(void **state)
{
    (void)state;
    weft_frame_write(wire, UINT32_MAX, UINT64_C(1) << 40);
    assert_true(weft_frame_read(wire, UINT32_MAX, UINT64_C(1) << 40, &bytes, why));
    assert_int_equal(bytes, UINT64_C(1) << 40);
    weft_frame_write(wire, 0, 0);
    assert_true(weft_frame_read(wire, 0, 0, &bytes, why));
    assert_int_equal(bytes, 0);
}

static void the_wire_form_is_fixed(void **state)
{
    (void)state;
    static const uint8_t expected[WEFT_FRAME_BYTES] = {'w', 'f', 'r', '1', 4, 3, 2, 1, 8, 7};
    weft_frame_write(wire, 0x01020304, 0x0708);
    assert_memory_equal(wire, expected, sizeof wire);
}

static void foreign_bytes_are_shown(void **state)
{
    (void)state;
    bytes = 99;
    assert_false(weft_frame_read((const uint8_t *)"GET / HTTP/1.1\r\n", 7, 100, &bytes, why));
    assert_string_equal(why, "found bytes 47 45 54 20, expected the header of message 7");
    assert_int_equal(bytes, 99);
}

static void a_message_out_of_turn_is_named(void **state)
{
    (void)state;
    weft_frame_write(wire, 9, 1);
    assert_false(weft_frame_read(wire, 8, 100, &bytes, why));
    assert_string_equal(why, "found message 9, expected message 8");
}

static void a_message_that_is_too_long_is_named(void **state)
{
    (void)state;
    weft_frame_write(wire, 8, 101);
    assert_false(weft_frame_read(wire, 8, 100, &bytes, why));
    assert_string_equal(why, "message 8 has 101 bytes, its receive has room for 100");
    /* The longest reason fits. */
    weft_frame_write(wire, UINT32_MAX, UINT64_MAX);
    assert_false(weft_frame_read(wire, UINT32_MAX, UINT64_MAX - 1, &bytes, why));
    assert_non_null(strstr(why, "room for 18446744073709551614"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(the_wire_form_is_fixed),
        cmocka_unit_test(foreign_bytes_are_shown),
        cmocka_unit_test(a_message_out_of_turn_is_named),
        cmocka_unit_test(a_message_that_is_too_long_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
