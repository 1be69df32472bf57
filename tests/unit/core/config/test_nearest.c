/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Suggestions for mistyped names. */
#include <locale.h>
#include <string.h>

#include "core/config/nearest.h"
#include "tests/support/unit.h"

static const char *hint_for(const char *wanted, const char *const *names, size_t count)
{
    static char text[128];
    weft_nearest_t nearest;
    weft_nearest_start(&nearest, wanted);
    for (size_t i = 0; i < count; i++) {
        weft_nearest_offer(&nearest, names[i], strlen(names[i]));
    }
    weft_nearest_hint(&nearest, "<", ">", text, sizeof text);
    return text;
}

static const char *const names[] = {"init_timeout", "connect_timeout", "log", "algo", "net"};
#define HINT(wanted) hint_for(wanted, names, sizeof names / sizeof names[0])

static void swapped_letters_count_once(void **state)
{
    (void)state;
    assert_string_equal(HINT("init_timeuot"), ", did you mean <init_timeout>?");
    assert_string_equal(HINT("lgo"), ", did you mean <log>?");
}

static void missing_and_extra_letters_are_found(void **state)
{
    (void)state;
    assert_string_equal(HINT("conect_timeout"), ", did you mean <connect_timeout>?");
    assert_string_equal(HINT("nett"), ", did you mean <net>?");
}

static void far_names_are_not_suggested(void **state)
{
    (void)state;
    assert_string_equal(HINT("bandwidth"), "");
    assert_string_equal(HINT("x"), "");
}

static void of_three_letters_one_may_be_wrong(void **state)
{
    (void)state;
    assert_string_equal(HINT("not"), ", did you mean <net>?");
    assert_string_equal(HINT("lag"), ", did you mean <log>?");
    assert_string_equal(HINT("foo"), "");
}

static void capitals_make_no_difference(void **state)
{
    (void)state;
    assert_string_equal(HINT("LOG"), ", did you mean <log>?");
    assert_string_equal(HINT("Init_Timeuot"), ", did you mean <init_timeout>?");
}

/* There strcasecmp() takes i and I for two letters. */
static void a_turkish_locale_makes_no_difference(void **state)
{
    (void)state;
    if (setlocale(LC_ALL, "tr_TR.utf8") == NULL) {
        skip();
    }
    assert_string_equal(HINT("INIT_TIMEOUT"), ", did you mean <init_timeout>?");
    assert_string_equal(HINT("INIT"), ", did you mean <init_timeout>?");
    setlocale(LC_ALL, "C");
}

static void a_word_left_out_is_found(void **state)
{
    static const char *const with_words[] = {"algo-ring", "net-shm", "algo-flat", "CORE_LOG",
                                             "WEFT_CORE_CHECK"};
    (void)state;
#define WORD(wanted) hint_for(wanted, with_words, sizeof with_words / sizeof with_words[0])
    assert_string_equal(WORD("shm"), ", did you mean <net-shm>?");
    assert_string_equal(WORD("ring"), ", did you mean <algo-ring>?");
    assert_string_equal(WORD("LOG"), ", did you mean <CORE_LOG>?");
    assert_string_equal(WORD("WEFT_CHECK"), ", did you mean <WEFT_CORE_CHECK>?");
    assert_string_equal(WORD("WEFT_CORE"), ", did you mean <WEFT_CORE_CHECK>?");
    assert_string_equal(WORD("ing"), "");
    assert_string_equal(WORD(""), "");
#undef WORD
}

static void long_names_do_no_harm(void **state)
{
    char wanted[500];
    (void)state;
    memset(wanted, 'a', sizeof wanted - 1);
    wanted[sizeof wanted - 1] = '\0';
    assert_string_equal(HINT(wanted), "");
    const char *const lengthy[] = {wanted};
    assert_string_equal(hint_for("a", lengthy, 1), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(swapped_letters_count_once),
        cmocka_unit_test(missing_and_extra_letters_are_found),
        cmocka_unit_test(far_names_are_not_suggested),
        cmocka_unit_test(of_three_letters_one_may_be_wrong),
        cmocka_unit_test(capitals_make_no_difference),
        cmocka_unit_test(a_turkish_locale_makes_no_difference),
        cmocka_unit_test(a_word_left_out_is_found),
        cmocka_unit_test(long_names_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
