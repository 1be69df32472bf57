/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files that are written whole or not at all. The calls of a file system that makes no nameless files,
 * and says only at the end that it has no room, as NFS does, are made up. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/error.h"
#include "core/os/os_folder.h"
#include "tests/support/scratch.h"

static bool full;

int __real_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode)
{
    if ((flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return __real_open(path, flags, mode);
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    int result = __real_close(fd);
    if (full) {
        errno = EDQUOT;
        return -1;
    }
    return result;
}

static void a_file_that_is_not_whole_at_its_end_is_none(void **state)
{
    char folder[256], path[300], got[4];
    (void)state;
    snprintf(folder, sizeof folder, "%s", scratch_path("folder"));
    snprintf(path, sizeof path, "%s/file", folder);
    assert_int_equal(weft_os_folder_make(folder), WEFT_OK);
    full = true;
    assert_int_equal(weft_os_private_write(path, "abc", 4), WEFT_ERR_SYSTEM);
    full = false;
    assert_int_equal(weft_error_record()->os_errno, EDQUOT);
    assert_non_null(strstr(weft_error_record()->text, strerror(EDQUOT)));
    assert_int_equal(rmdir(folder), 0); /* nothing is left in it */
    assert_int_equal(weft_os_folder_make(folder), WEFT_OK);
    assert_int_equal(weft_os_private_write(path, "abc", 4), WEFT_OK);
    assert_true(weft_os_private_read(path, got, sizeof got));
    assert_string_equal(got, "abc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_not_whole_at_its_end_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
