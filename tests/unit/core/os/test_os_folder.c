/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files that are written whole or not at all, and processes that run. The calls of a file system
 * that makes no nameless files, and says only at the end that it has no room, as NFS does, are made
 * up. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/os/os_folder.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

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

enum { PATIENCE_S = 20 };

static int word[2]; /* a pipe: the child lives until its writing end is closed */

static void *live_on(void *arg)
{
    char byte;
    alarm(PATIENCE_S);
    _exit(read(word[0], &byte, 1) == 0 ? 0 : 1);
    return arg;
}

/* A process whose main thread ends, while another one goes on. */
static pid_t start_without_main(void)
{
    pthread_t thread;
    assert_int_equal(pipe(word), 0);
    pid_t child = fork();
    if (child == 0) {
        close(word[1]);
        if (pthread_create(&thread, NULL, live_on, NULL) != 0) {
            _exit(2);
        }
        pthread_exit(NULL);
    }
    assert_true(child > 0);
    close(word[0]);
    return child;
}

/* The kernel shows a main thread that has ended as it shows a process that nobody has waited
 * for. */
static bool main_has_ended(pid_t pid)
{
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        (void)!fread(text, 1, sizeof text - 1, file);
        fclose(file);
    }
    return strstr(text, ") Z ") != NULL;
}

static void a_process_runs_until_its_last_thread_ends(void **state)
{
    (void)state;
    siginfo_t end;
    pid_t child = start_without_main();
    uint32_t started = weft_os_process_started((int32_t)child);
    uint64_t until = weft_os_deadline(PATIENCE_S);
    while (!main_has_ended(child) && weft_os_clock_ns() < until) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    assert_true(main_has_ended(child));
    assert_true(weft_os_process_runs((int32_t)child, started));
    close(word[1]);
    /* Nobody has waited for it: its number stays. */
    assert_int_equal(waitid(P_PID, (id_t)child, &end, WEXITED | WNOWAIT), 0);
    assert_int_equal(end.si_status, 0);
    assert_false(weft_os_process_runs((int32_t)child, started));
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(weft_os_process_runs((int32_t)child, started));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_not_whole_at_its_end_is_none),
        cmocka_unit_test(a_process_runs_until_its_last_thread_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
