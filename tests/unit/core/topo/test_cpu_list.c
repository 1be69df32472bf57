/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sets of PUs and their text. */
#include <string.h>

#include "core/os/os.h"
#include "core/topo/cpu_list.h"
#include "tests/support/unit.h"

static weft_cpu_list_t list;

static void round_trip(const char *text, const char *expected, uint32_t count)
{
    char out[64];
    assert_true(weft_cpu_list_parse(text, &list));
    weft_cpu_list_print(&list, out, sizeof out);
    assert_string_equal(out, expected);
    assert_int_equal(weft_cpu_list_count(&list), count);
}

static void lists_are_read_and_written_as_linux_does(void **state)
{
    (void)state;
    round_trip("", "", 0);
    round_trip("\n", "", 0);
    round_trip("0-3,8,64-65\n", "0-3,8,64-65", 7);
    round_trip("5,4,3", "3-5", 3);
    round_trip("0,2,8191", "0,2,8191", 3);
    round_trip("8190-9000", "8190-8191", 2); /* more than a set holds is left out */
}

static void what_is_no_list_is_refused(void **state)
{
    (void)state;
    const char *const wrong[] = {"x", "1-", "-1", "3-2", "1;2", "1,,2", "1234567", "1 2"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(weft_cpu_list_parse(wrong[i], &list));
    }
}

static void a_text_without_room_says_that_there_is_more(void **state)
{
    char out[12];
    (void)state;
    assert_true(weft_cpu_list_parse("0,2,4,6,8,10,12,14", &list));
    weft_cpu_list_print(&list, out, sizeof out);
    assert_string_equal(out, "0,2,4,6...");
}

static void sets_are_walked_and_cut(void **state)
{
    weft_cpu_list_t other;
    (void)state;
    assert_true(weft_cpu_list_parse("1,63-64,700", &list));
    assert_int_equal(weft_cpu_list_next(&list, 0), 1);
    assert_int_equal(weft_cpu_list_next(&list, 2), 63);
    assert_int_equal(weft_cpu_list_next(&list, 65), 700);
    assert_int_equal(weft_cpu_list_next(&list, 701), WEFT_CPUS_MAX);
    assert_true(weft_cpu_list_parse("64-700", &other));
    weft_cpu_list_and(&list, &other);
    assert_int_equal(weft_cpu_list_count(&list), 2);
    assert_false(weft_cpu_list_has(&list, 63));
    assert_false(weft_cpu_list_has(&list, WEFT_CPUS_MAX));
}

static void the_threads_own_cpu_is_in_its_set(void **state)
{
    (void)state;
    weft_os_thread_use_cpu(weft_os_cpu_here());
    weft_cpu_list_of_thread(&list);
    assert_int_equal(weft_cpu_list_count(&list), 1);
    assert_true(weft_cpu_list_has(&list, weft_os_cpu_here()));
    weft_os_thread_use_all_cpus();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read_and_written_as_linux_does),
        cmocka_unit_test(what_is_no_list_is_refused),
        cmocka_unit_test(a_text_without_room_says_that_there_is_more),
        cmocka_unit_test(sets_are_walked_and_cut),
        cmocka_unit_test(the_threads_own_cpu_is_in_its_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
