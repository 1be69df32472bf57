/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies: every byte, and no other, whichever way is taken. */
#include "core/base/copy.h"
#include "tests/support/unit.h"

enum { MOST = 2 * WEFT_COPY_STRING_MOST, EDGE = 64 };

static uint8_t from[MOST + 2 * EDGE], to[MOST + 2 * EDGE];

static void copy_and_look(uint64_t bytes, uint32_t shift)
{
    memset(to, 0xee, sizeof to);
    weft_copy(to + EDGE + shift, from + EDGE, bytes);
    assert_memory_equal(to + EDGE + shift, from + EDGE, bytes);
    for (uint32_t i = 0; i < EDGE + shift; i++) {
        assert_int_equal(to[i], 0xee);
    }
    for (uint64_t i = EDGE + shift + bytes; i < sizeof to; i++) {
        assert_int_equal(to[i], 0xee);
    }
}

static void copies_are_whole(void **state)
{
    static const uint64_t sizes[] = {0,
                                     1,
                                     63,
                                     WEFT_COPY_STRING_LEAST - 1,
                                     WEFT_COPY_STRING_LEAST,
                                     WEFT_COPY_STRING_LEAST + 1,
                                     2000,
                                     4096,
                                     WEFT_COPY_STRING_MOST,
                                     WEFT_COPY_STRING_MOST + 1,
                                     MOST};
    const bool known = weft_copy_by_string;
    (void)state;
    for (uint32_t i = 0; i < sizeof from; i++) {
        from[i] = (uint8_t)(i * 7 + i / 251);
    }
    for (uint32_t way = 0; way < 2; way++) {
        weft_copy_by_string = way != 0;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            for (uint32_t shift = 0; shift < EDGE; shift += 7) {
                copy_and_look(sizes[i], shift);
            }
        }
    }
    weft_copy_by_string = known;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(copies_are_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
