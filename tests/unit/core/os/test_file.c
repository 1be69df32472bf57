/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared objects that are cut off, descriptors that a program has closed, and the name of the host. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/os/os.h"

#define WHOLE ((size_t)64 << 20)

/* Loads the first `most` bytes of a plugin. */
static void *load_part(size_t most, char *why, size_t bytes)
{
    char path[] = "/tmp/weft-part-XXXXXX", *whole = NULL;
    size_t length = 0;
    int cause, fd = mkstemp(path);
    assert_int_equal(
        weft_os_read_file(WEFT_PLUGIN_DIR "/algo-ring.so", WHOLE, &whole, &length, &cause),
        WEFT_OK);
    length = most < length ? most : length;
    assert_int_equal(write(fd, whole, length), length);
    close(fd);
    weft_os_free(whole);
    void *object = weft_os_dl_open(path, why, bytes);
    unlink(path);
    return object;
}

static void a_shared_object_that_is_cut_off_is_refused(void **state)
{
    (void)state;
    static const size_t parts[] = {5000, 9000, 70};
    char why[300] = "";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        assert_null(load_part(parts[i], why, sizeof why));
        if (strstr(why, "cut off") == NULL) {
            fail_msg("%zu bytes: %s", parts[i], why);
        }
    }
    assert_null(load_part(10, why, sizeof why)); /* the words of the system */
    assert_null(strstr(why, "cut off"));
    void *object = load_part(WHOLE, why, sizeof why);
    assert_non_null(object);
    weft_os_dl_close(object);
}

/* In a process of its own. Returns what is wrong, as an exit code. */
static int close_and_open(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        close(fd);
    }
    weft_os_open_standard();
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        struct stat info;
        if (fstat(fd, &info) != 0 || !S_ISCHR(info.st_mode)) {
            return 1 + fd;
        }
    }
    const int before = dup(0);
    weft_os_open_standard(); /* nothing is closed: nothing stays open */
    const int after = dup(0);
    return before > STDERR_FILENO && after == before + 1 ? 0 : 10;
}

static void closed_standard_descriptors_are_opened(void **state)
{
    int code = -1;
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        _exit(close_and_open());
    }
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
}

static void the_name_of_the_host_is_cut_where_it_does_not_fit(void **state)
{
    (void)state;
    char all[256] = "", name[256], cut[2];
    assert_int_equal(gethostname(all, sizeof all), 0);
    weft_os_host_name(name, sizeof name);
    assert_string_equal(name, all);
    /* "unknown", of a name that is known, would be another. */
    weft_os_host_name(cut, sizeof cut);
    assert_int_equal(cut[0], all[0]);
    assert_int_equal(cut[1], '\0');
    memset(name, 'x', sizeof name);
    weft_os_host_name(name, strlen(all) + 1);
    assert_string_equal(name, all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shared_object_that_is_cut_off_is_refused),
        cmocka_unit_test(closed_standard_descriptors_are_opened),
        cmocka_unit_test(the_name_of_the_host_is_cut_where_it_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
