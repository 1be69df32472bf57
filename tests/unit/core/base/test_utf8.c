/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Characters, cuts between them, and what a terminal does not get. */
#include <string.h>

#include "core/base/utf8.h"
#include "tests/support/unit.h"

static size_t bytes_of(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    return weft_utf8_bytes(p, p + strlen(text));
}

static void characters_have_one_to_four_bytes(void **state)
{
    (void)state;
    assert_int_equal(bytes_of("a"), 1);
    assert_int_equal(bytes_of("\xc3\xa9"), 2);
    assert_int_equal(bytes_of("\xe2\x82\xac"), 3);
    assert_int_equal(bytes_of("\xf0\x9f\x98\x80"), 4);
}

static void what_is_no_character_has_none(void **state)
{
    (void)state;
    assert_int_equal(bytes_of("\xe9t"), 0);            /* Latin-1 */
    assert_int_equal(bytes_of("\xa9"), 0);             /* the rest of one */
    assert_int_equal(bytes_of("\xe2\x82"), 0);         /* cut */
    assert_int_equal(bytes_of("\xc0\x80"), 0);         /* longer than it must be */
    assert_int_equal(bytes_of("\xed\xa0\x80"), 0);     /* a surrogate */
    assert_int_equal(bytes_of("\xf4\x90\x80\x80"), 0); /* beyond Unicode */
    assert_int_equal(bytes_of("\xf8\x88\x80\x80\x80"), 0);
}

static void copies_are_cut_between_characters(void **state)
{
    (void)state;
    char to[6];
    weft_utf8_copy(to, sizeof to, "abc");
    assert_string_equal(to, "abc");
    weft_utf8_copy(to, sizeof to, "abcdefg");
    assert_string_equal(to, "abcde");
    weft_utf8_copy(to, sizeof to, "abcd\xc3\xa9");
    assert_string_equal(to, "abcd");
    weft_utf8_copy(to, sizeof to, "abc\xc3\xa9");
    assert_string_equal(to, "abc\xc3\xa9");
    weft_utf8_copy(to, sizeof to, "ab\xf0\x9f\x98\x80");
    assert_string_equal(to, "ab");
}

static void terminals_get_no_controls(void **state)
{
    (void)state;
    char text[] = "a\x1b[2J\n\x7f\xc2\x9b"
                  "31m\xc3\xa9\xff\xe2\x82";
    weft_utf8_clean(text);
    assert_string_equal(text, "a?[2J ???31m\xc3\xa9???");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_have_one_to_four_bytes),
        cmocka_unit_test(what_is_no_character_has_none),
        cmocka_unit_test(copies_are_cut_between_characters),
        cmocka_unit_test(terminals_get_no_controls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
