/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Quotas of CPU time, read from files as Linux writes them. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/base/error.h"
#include "core/os/os_quota.h"
#include "tests/support/unit.h"

static char folder[] = "/tmp/weft-quota-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? mkdir(path_of("cpu"), 0700) : -1;
}

static int empty_folder(void **state)
{
    (void)state;
    (void)remove(path_of("cpu.max"));
    (void)remove(path_of("cpu/cpu.cfs_quota_us"));
    (void)remove(path_of("cpu/cpu.cfs_period_us"));
    return 0;
}

static int remove_folder(void **state)
{
    return empty_folder(state) != 0 || remove(path_of("cpu")) != 0 ? -1 : remove(folder);
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void expect(uint32_t cpus, const char *group)
{
    struct stat of = {.st_ino = 0};
    weft_error_clear(weft_error_record());
    weft_os_quota_t found = weft_os_quota_read(folder);
    assert_int_equal(weft_error_record()->status, WEFT_OK);
    assert_int_equal(found.cpus, cpus);
    if (cpus > 0) {
        assert_int_equal(stat(group, &of), 0);
    }
    assert_int_equal(found.group, of.st_ino);
}

static void version_2_has_one_file(void **state)
{
    (void)state;
    put("cpu.max", "200000 100000\n");
    expect(2, folder);
    put("cpu.max", "50000 100000\n");
    expect(1, folder);
    put("cpu.max", "9000000000000000000 1\n");
    expect(INT32_MAX, folder);
    put("cpu.max", "max 100000\n");
    expect(0, NULL);
    put("cpu.max", "100000 0\n");
    expect(0, NULL);
}

static void version_1_has_two(void **state)
{
    (void)state;
    put("cpu/cpu.cfs_quota_us", "150000\n");
    expect(0, NULL);
    put("cpu/cpu.cfs_period_us", "50000\n");
    expect(3, path_of("cpu"));
    put("cpu/cpu.cfs_quota_us", "-1\n");
    expect(0, NULL);
}

static void a_system_without_groups_has_no_quota(void **state)
{
    (void)state;
    expect(0, NULL);
    (void)weft_os_quota_here();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(version_2_has_one_file, empty_folder),
        cmocka_unit_test_teardown(version_1_has_two, empty_folder),
        cmocka_unit_test(a_system_without_groups_has_no_quota),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
