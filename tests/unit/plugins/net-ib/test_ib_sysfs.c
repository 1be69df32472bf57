/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit tests of what the kernel tells of adapters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ib_sysfs.h"
#include "tests/support/unit.h"

static char folder[] = "/tmp/weft-sysfs-XXXXXX";

/* Writes a file, and the folders on the way to it. */
static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *at = path + strlen(folder) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void the_rate_of_a_port_is_read(void **state)
{
    static const char *const bad[] = {"", "fast", "-4 Gb/sec", "12 apples", "1e30 Gb/sec"};
    (void)state;
    put("ports/1/rate", "800 Gb/sec (4X XDR)\n");
    put("ports/2/rate", "2.5 Gb/sec (1X SDR)\n");
    assert_int_equal(ib_sysfs_rate(folder, 1), UINT64_C(100000000000));
    assert_int_equal(ib_sysfs_rate(folder, 2), UINT64_C(312500000));
    assert_int_equal(ib_sysfs_rate(folder, 3), 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        put("ports/1/rate", bad[i]);
        assert_int_equal(ib_sysfs_rate(folder, 1), 0);
    }
}

static void adapters_without_a_driver_are_named(void **state)
{
    static const char *const known[] = {"mlx5_0", "rxe0"};
    char names[32];
    (void)state;
    ib_sysfs_others(folder, known, 2, names, sizeof names);
    assert_string_equal(names, "");
    put("abi_version", "6\n");
    put("uverbs0/ibdev", "mlx5_0\n");
    put("uverbs1/ibdev", "bnxt_re0\n");
    ib_sysfs_others(folder, known, 2, names, sizeof names);
    assert_string_equal(names, "bnxt_re0");
    ib_sysfs_others(folder, known, 0, names, sizeof names);
    assert_int_equal(strlen(names), strlen("mlx5_0, bnxt_re0"));
    ib_sysfs_others(folder, known, 0, names, 10); /* room for one of them */
    assert_null(strchr(names, ','));
    ib_sysfs_others("/no/such/folder", known, 2, names, sizeof names);
    assert_string_equal(names, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rate_of_a_port_is_read),
        cmocka_unit_test(adapters_without_a_driver_are_named),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
