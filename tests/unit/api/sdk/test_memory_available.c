/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Available memory, read from files as Linux writes them. */
#include <stdio.h>
#include <stdlib.h>

#include <weft/sdk/memory_available.h>

#include "tests/support/unit.h"

static char folder[] = "/tmp/weft-available-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static const char *const names[] = {"meminfo",
                                    "memory.max",
                                    "memory.current",
                                    "memory.stat",
                                    "memory.limit_in_bytes",
                                    "memory.usage_in_bytes"};

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int empty_folder(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)remove(path_of(names[i]));
    }
    return 0;
}

static int remove_folder(void **state)
{
    return empty_folder(state) != 0 ? -1 : remove(folder);
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void meminfo_is_in_kib(void **state)
{
    (void)state;
    assert_true(weft_memory_of_host(path_of("meminfo")) == WEFT_MEMORY_UNKNOWN);
    put("meminfo", "MemTotal:  100 kB\nMemFree:  10 kB\nMemAvailable:   60 kB\n");
    assert_int_equal(weft_memory_of_host(path_of("meminfo")), 60 * 1024);
}

static void pages_of_files_are_available(void **state)
{
    (void)state;
    put("memory.max", "1000\n");
    put("memory.current", "700\n");
    assert_int_equal(weft_memory_of_group(folder), 300);
    put("memory.stat", "anon 1\nfile 230\ninactive_file 200\nactive_file 30\n"
                       "total_active_file 400\nslab_reclaimable 5\nslab_unreclaimable 3\n");
    assert_int_equal(weft_memory_of_group(folder), 535);
    put("memory.stat", "inactive_file 500\nactive_file 300\n");
    assert_int_equal(weft_memory_of_group(folder), 1000);
    put("memory.stat", "inactive_file 200\n");
    put("memory.current", "1300\n");
    assert_int_equal(weft_memory_of_group(folder), 0);
}

static void a_group_without_a_limit_does_not_tell(void **state)
{
    (void)state;
    assert_true(weft_memory_of_group(folder) == WEFT_MEMORY_UNKNOWN);
    put("memory.max", "max\n");
    put("memory.current", "700\n");
    assert_true(weft_memory_of_group(folder) == WEFT_MEMORY_UNKNOWN);
}

static void the_first_version_has_other_names(void **state)
{
    (void)state;
    put("memory.limit_in_bytes", "4000\n");
    put("memory.usage_in_bytes", "1000\n");
    put("memory.stat", "inactive_file 7\nhierarchical_memory_limit 9223372036854771712\n"
                       "total_cache 500\ntotal_inactive_file 100\ntotal_active_file 300\n");
    assert_int_equal(weft_memory_of_group(folder), 3400);
}

static void this_process_can_take_something(void **state)
{
    (void)state;
    assert_true(weft_memory_available() > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(meminfo_is_in_kib, empty_folder),
        cmocka_unit_test_teardown(pages_of_files_are_available, empty_folder),
        cmocka_unit_test_teardown(a_group_without_a_limit_does_not_tell, empty_folder),
        cmocka_unit_test_teardown(the_first_version_has_other_names, empty_folder),
        cmocka_unit_test(this_process_can_take_something),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
