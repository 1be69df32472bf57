/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A process that ends inside a group. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/weft.h>

#include "tests/support/unit.h"

/* A process of one rank that notes a call, and ends behind so many ends of its two groups. A child
 * that it forks meanwhile ends, too. */
static void end_inside_a_group(int notes, int ends)
{
    weft_comm_t *comm = NULL;
    float one = 1, sum;
    bool good = weft_comm_init_launcher(&comm, NULL) == WEFT_OK && weft_group_start() == WEFT_OK &&
                weft_group_start() == WEFT_OK;
    for (int i = 0; i < notes; i++) {
        good = good && weft_all_reduce(&one, &sum, 1, WEFT_FP32, WEFT_SUM, comm, NULL) == WEFT_OK;
    }
    fflush(stderr);
    const pid_t child = fork();
    if (child == 0) {
        fprintf(stderr, "the child ends");
        exit(0);
    }
    good = good && waitpid(child, NULL, 0) == child;
    fprintf(stderr, ", its parent ends");
    for (int i = 0; i < ends; i++) {
        good = good && weft_group_end() == WEFT_OK;
    }
    exit(good ? 0 : 1);
}

/* Writes what such a process says on stderr. */
static void hear_end(int notes, int ends, char text[1024])
{
    int fds[2], how = 0;
    assert_int_equal(pipe(fds), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(fds[1], 2);
        end_inside_a_group(notes, ends);
    }
    close(fds[1]);
    memset(text, 0, 1024);
    for (ssize_t got = 1, at = 0; got > 0 && at < 1023; at += got) {
        got = read(fds[0], text + at, (size_t)(1023 - at));
    }
    close(fds[0]);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
}

static void the_end_of_a_process_inside_a_group_is_told(void **state)
{
    char text[1024];
    (void)state;
    hear_end(1, 1, text);
    assert_non_null(strstr(text, "the child ends, its parent ends"));
    assert_non_null(strstr(text, "the process ends inside a group, whose 1 call is dropped"));
    hear_end(2, 0, text);
    assert_non_null(strstr(text, "the process ends inside a group, whose 2 calls are dropped"));
    hear_end(0, 0, text);
    assert_null(strstr(text, "inside a group"));
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
