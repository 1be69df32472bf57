/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Texts of options: what is accepted, as which value, and what is refused with which words. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/config/option.h"
#include "core/config/option_table.h"
#include "tests/support/unit.h"

typedef struct all_types {
    bool b;
    int64_t i;
    uint64_t z;
    double d, r;
    const char *s;
    int64_t c;
} all_types_t;

#define AT(f) offsetof(all_types_t, f)

static const weft_option_t table[] = {
    {"b", WEFT_OPT_BOOL, AT(b), "no", "bool", NULL, 0, 0, 0, 0},
    {"i", WEFT_OPT_INT, AT(i), "1", "int", NULL, 0, 0, 0, 0},
    {"z", WEFT_OPT_SIZE, AT(z), "4K", "size", NULL, 0, 0, 0, 0},
    {"d", WEFT_OPT_DURATION, AT(d), "1s", "duration", NULL, 0, 0, 0, 0},
    {"r", WEFT_OPT_REAL, AT(r), "0.5", "real", NULL, 0, 0, 0, 0},
    {"s", WEFT_OPT_STRING, AT(s), "", "string", NULL, 0, 0, 0, 0},
    {"c", WEFT_OPT_CHOICE, AT(c), "spin", "choice", "auto|spin|yield|sleep", 0, 0, 0, 0},
    {"ri", WEFT_OPT_INT, AT(i), "1", "int in a range", NULL, -8, 64, 0, 0},
    {"rz", WEFT_OPT_SIZE, AT(z), "4K", "size in a range", NULL, 1024, 1 << 20, 0, 0},
    {"rd", WEFT_OPT_DURATION, AT(d), "1s", "duration in a range", NULL, 1e-3, 120, 0, 0},
    {NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0},
};

static const weft_option_t *option(const char *name)
{
    const weft_option_t *o = table;
    while (strcmp(o->name, name) != 0) {
        o++;
    }
    return o;
}

/* What was read, in shortest form; NULL if refused. */
static const char *canon(const char *name, const char *text)
{
    static char shown[64];
    char why[400];
    all_types_t out = {.c = 0};
    if (!weft_option_parse(option(name), text, &out, why, sizeof why)) {
        return NULL;
    }
    weft_option_format(option(name), &out, shown, sizeof shown);
    return shown;
}

static void accepted_texts_have_one_shortest_form(void **state)
{
    static const char *const cases[][3] = {
        {"b", "yes", "yes"},
        {"b", "on", "yes"},
        {"b", "true", "yes"},
        {"b", "1", "yes"},
        {"b", "no", "no"},
        {"b", "off", "no"},
        {"b", "false", "no"},
        {"b", "0", "no"},
        {"i", "0", "0"},
        {"i", "-17", "-17"},
        {"i", "+5", "5"},
        {"i", "0x1F", "31"},
        {"i", "010", "10"},
        {"i", "9223372036854775807", "9223372036854775807"},
        {"i", "-9223372036854775808", "-9223372036854775808"},
        {"z", "0", "0"},
        {"z", "1000", "1000"},
        {"z", "65536", "64K"},
        {"z", "64K", "64K"},
        {"z", "64k", "64K"},
        {"z", "1024K", "1M"},
        {"z", "1536M", "1536M"},
        {"z", "2048M", "2G"},
        {"z", "18446744073709551615", "18446744073709551615"},
        {"d", "2", "2s"},
        {"d", "2s", "2s"},
        {"d", "0.5", "500ms"},
        {"d", "500ms", "500ms"},
        {"d", "1us", "1us"},
        {"d", "100us", "100us"},
        {"d", "7ns", "7ns"},
        {"d", "0.0000000000000000405002", "4.05002e-17s"}, /* not the nearest to any number of ns */
        {"d", "2min", "120s"},
        {"d", "1.5min", "90s"},
        {"d", "0", "0s"},
        {"d", "1e-3", "1ms"},
        {"d", ".25", "250ms"},
        {"r", "0.1", "0.1"},
        {"r", "-2e3", "-2000"},
        {"r", "1e300", "1e+300"},
        {"s", "", ""},
        {"s", "a b", "a b"},
        {"c", "auto", "auto"},
        {"c", "sleep", "sleep"},
        {"ri", "64", "64"},
        {"ri", "-8", "-8"},
        {"rz", "1K", "1K"},
        {"rz", "1M", "1M"},
        {"rd", "1ms", "1ms"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *shown = canon(cases[i][0], cases[i][1]);
        if (shown == NULL || strcmp(shown, cases[i][2]) != 0) {
            fail_msg("%s = %s gave %s, not %s", cases[i][0], cases[i][1],
                     shown != NULL ? shown : "an error", cases[i][2]);
        }
        assert_string_equal(canon(cases[i][0], cases[i][2]), cases[i][2]);
    }
}

static void refused_texts_say_what_is_allowed(void **state)
{
    static const char *const cases[][3] = {
        {"b", "", "yes or no"},
        {"b", "maybe", "yes or no"},
        {"b", "Yes", "yes or no"},
        {"i", "", "whole number"},
        {"i", "1.5", "whole number"},
        {"i", "12abc", "whole number"},
        {"i", "0x", "whole number"},
        {"i", "--1", "whole number"},
        {"i", "1 2", "whole number"},
        {"i", "9223372036854775808", "out of range"},
        {"i", "-9223372036854775809", "out of range"},
        {"i", "99999999999999999999999", "out of range"},
        {"z", "-1", "number of bytes"},
        {"z", "1T", "number of bytes"},
        {"z", "1KB", "number of bytes"},
        {"z", "1.5M", "number of bytes"},
        {"z", "0x10", "number of bytes"},
        {"z", "18446744073709551616", "out of range"},
        {"z", "17179869184G", "out of range"},
        {"d", "fast", "ns, us, ms, s or min"},
        {"d", "1h", "ns, us, ms, s or min"},
        {"d", "1 s", "ns, us, ms, s or min"},
        {"d", "1,5", "ns, us, ms, s or min"},
        {"d", "nan", "ns, us, ms, s or min"},
        {"d", "inf", "ns, us, ms, s or min"},
        {"d", "1e999", "out of range"},
        {"r", "0x1p3", "a number"},
        {"r", ".", "a number"},
        {"r", "1e", "a number"},
        {"c", "", "one of: auto, spin, yield, sleep"},
        {"c", "spn", "did you mean spin?"},
        {"c", "Auto", "one of: auto, spin, yield, sleep"},
        {"c", "auto|spin", "one of: auto, spin, yield, sleep"},
        {"ri", "65", "-8 to 64"},
        {"ri", "-9", "-8 to 64"},
        {"ri", "x", "-8 to 64"},
        {"rz", "1023", "1K to 1M"},
        {"rz", "2M", "1K to 1M"},
        {"rd", "0", "1ms to 120s"},
        {"rd", "3min", "1ms to 120s"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char why[400] = "";
        all_types_t out, before;
        memset(&out, 0x5a, sizeof out);
        memcpy(&before, &out, sizeof out);
        if (weft_option_parse(option(cases[i][0]), cases[i][1], &out, why, sizeof why)) {
            fail_msg("%s = %s was accepted", cases[i][0], cases[i][1]);
        }
        if (strstr(why, cases[i][2]) == NULL) {
            fail_msg("%s = %s: \"%s\" lacks \"%s\"", cases[i][0], cases[i][1], why, cases[i][2]);
        }
        assert_memory_equal(&out, &before, sizeof out);
    }
}

static void numbers_do_not_follow_the_locale(void **state)
{
    (void)state;
    /* Where this locale is not installed the test still checks the plain one. */
    setlocale(LC_ALL, "de_DE.UTF-8");
    assert_string_equal(canon("d", "0.5"), "500ms");
    assert_string_equal(canon("r", "2.25"), "2.25");
    assert_null(canon("r", "2,25"));
    setlocale(LC_ALL, "C");
}

static void sound_table_is_accepted(void **state)
{
    char why[400];
    (void)state;
    assert_true(weft_option_table_check(table, sizeof(all_types_t), why, sizeof why));
}

static void mistakes_in_a_table_are_told(void **state)
{
    static const struct {
        weft_option_t option;
        const char *why;
    } cases[] = {
        {{"Upper", WEFT_OPT_INT, 0, "1", "h", NULL, 0, 0, 0, 0}, "option name"},
        {{"", WEFT_OPT_INT, 0, "1", "h", NULL, 0, 0, 0, 0}, "option name"},
        {{"a-b", WEFT_OPT_INT, 0, "1", "h", NULL, 0, 0, 0, 0}, "option name"},
        {{"k", 0, 0, "1", "h", NULL, 0, 0, 0, 0}, "type 0"},
        {{"k", WEFT_OPT_INT, 0, "1", "h", NULL, 2, 1, 0, 0}, "range 2 to 1 of option k"},
        {{"k", WEFT_OPT_SIZE, 0, "1", "h", NULL, -1, 1, 0, 0}, "expected 0 <= min"},
        {{"k", WEFT_OPT_SIZE, 0, "1", "h", NULL, 0, 1e30, 0, 0}, "max <= 2^63"},
        {{"k", WEFT_OPT_DURATION, 0, "1", "h", NULL, -1, 1, 0, 0}, "expected 0 <= min"},
        {{"k", WEFT_OPT_REAL, 0, "1", "h", NULL, NAN, 1, 0, 0}, "expected min <= max"},
        {{"k", 8, 0, "1", "h", NULL, 0, 0, 0, 0}, "type 8"},
        {{"k", WEFT_OPT_INT, 16, "1", "h", NULL, 0, 0, 0, 0}, "config_size 16"},
        {{"k", WEFT_OPT_INT, UINT32_MAX, "1", "h", NULL, 0, 0, 0, 0}, "config_size 16"},
        {{"k", WEFT_OPT_INT, 4, "1", "h", NULL, 0, 0, 0, 0}, "multiple of 8"},
        {{"k", WEFT_OPT_INT, 0, NULL, "h", NULL, 0, 0, 0, 0}, "no default"},
        {{"k", WEFT_OPT_INT, 0, "1", NULL, NULL, 0, 0, 0, 0}, "no help"},
        {{"k", WEFT_OPT_INT, 0, "x", "h", NULL, 0, 0, 0, 0}, "default \"x\""},
        {{"k", WEFT_OPT_INT, 0, "5", "h", NULL, 6, 9, 0, 0}, "expected 6 to 9"},
        {{"k", WEFT_OPT_CHOICE, 0, "a", "h", NULL, 0, 0, 0, 0}, "no choices"},
        {{"k", WEFT_OPT_INT, 0, "1", "h", NULL, 0, 0, WEFT_OPTION_ALGO, 0}, "expected a STRING"},
        {{"k", WEFT_OPT_CHOICE, 0, "c", "h", "a|b", 0, 0, 0, 0}, "one of: a, b"},
        {{"Old", 0, 0, "k", "0.3", NULL, 0, 0, WEFT_OPTION_ALIAS, 0}, "option name"},
        {{"k", 0, 0, "k", "0.3", NULL, 0, 0, WEFT_OPTION_ALIAS, 0}, "alias k is for \"k\""},
        {{"k", 0, 0, NULL, "0.3", NULL, 0, 0, WEFT_OPTION_ALIAS, 0}, "no new name"},
        {{"k", 0, 0, "k", NULL, NULL, 0, 0, WEFT_OPTION_ALIAS, 0}, "no version"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char why[400] = "";
        const weft_option_t bad[] = {cases[i].option, {NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0}};
        assert_false(weft_option_table_check(bad, 16, why, sizeof why));
        if (strstr(why, cases[i].why) == NULL) {
            fail_msg("case %zu: \"%s\" lacks \"%s\"", i, why, cases[i].why);
        }
    }
}

static void option_given_twice_in_a_table_is_told(void **state)
{
    char why[400] = "";
    const weft_option_t bad[] = {
        table[0], table[1], table[0], {NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0}};
    (void)state;
    assert_false(weft_option_table_check(bad, sizeof(all_types_t), why, sizeof why));
    assert_non_null(strstr(why, "option b twice"));
}

static void table_without_end_is_told(void **state)
{
    static weft_option_t endless[WEFT_OPTION_TABLE_MAX + 2];
    static char texts[WEFT_OPTION_TABLE_MAX + 2][8];
    char why[400] = "";
    (void)state;
    for (unsigned i = 0; i < WEFT_OPTION_TABLE_MAX + 2; i++) {
        snprintf(texts[i], sizeof texts[i], "k%u", i);
        endless[i] = table[1];
        endless[i].name = texts[i];
    }
    assert_false(weft_option_table_check(endless, sizeof(all_types_t), why, sizeof why));
    assert_non_null(strstr(why, "without end"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepted_texts_have_one_shortest_form),
        cmocka_unit_test(refused_texts_say_what_is_allowed),
        cmocka_unit_test(numbers_do_not_follow_the_locale),
        cmocka_unit_test(sound_table_is_accepted),
        cmocka_unit_test(mistakes_in_a_table_are_told),
        cmocka_unit_test(option_given_twice_in_a_table_is_told),
        cmocka_unit_test(table_without_end_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
