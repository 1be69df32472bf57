/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A process that ends inside a group. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/comm/group.h"

/* Writes what a process says on stderr that opens and closes so many groups, and ends. */
static void hear_end(int opens, int closes, char text[1024])
{
    int ends[2];
    weft_group_t group;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        for (int i = 0; i < opens; i++) {
            weft_group_open();
        }
        for (int i = 0; i < closes; i++) {
            (void)weft_group_close(&group);
        }
        exit(0);
    }
    close(ends[1]);
    memset(text, 0, 1024);
    for (ssize_t got = 1, at = 0; got > 0 && at < 1023; at += got) {
        got = read(ends[0], text + at, (size_t)(1023 - at));
    }
    close(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void the_end_of_a_process_inside_a_group_is_told(void **state)
{
    char text[1024];
    (void)state;
    hear_end(2, 1, text);
    assert_non_null(strstr(text, "the process ends inside a group, whose 0 calls are dropped"));
    hear_end(2, 2, text);
    assert_null(strstr(text, "inside a group"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_a_process_inside_a_group_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
