/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting for descriptors, whatever the limit of open files is. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/os/os_socket.h"
#include "tests/support/accepted.h"
#include "tests/support/unit.h"

static struct rlimit limit_set(rlim_t soft)
{
    struct rlimit before, now;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    now = before;
    now.rlim_cur = soft;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
    return before;
}

/* What is asked for, of a descriptor that was opened before the limit was lowered below it. */
static void limited_poll(int fd, short events, int expected, short revents)
{
    struct pollfd entries[] = {{.fd = -1, .events = POLLIN}, {.fd = fd, .events = events}};
    struct rlimit before = limit_set(0);
    int ready = weft_os_poll(entries, 2, weft_os_clock_ns() + WEFT_NS_PER_S / 100);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(ready, expected);
    assert_int_equal(entries[0].revents, 0);
    assert_int_equal(entries[1].revents, revents);
}

static void descriptors_are_waited_for_when_the_limit_is_lowered_below_them(void **unused)
{
    (void)unused;
    const int numbers[] = {40, 64, 1500};
    struct rlimit before = limit_set(2000);
    for (int i = 0; i < 3; i++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        int far = fcntl(ends[0], F_DUPFD_CLOEXEC, numbers[i]);
        assert_true(far >= numbers[i]);
        limited_poll(far, POLLIN, 0, 0);
        limited_poll(ends[1], POLLIN | POLLOUT, 1, POLLOUT);
        assert_int_equal(write(ends[1], "x", 1), 1);
        limited_poll(far, POLLIN, 1, POLLIN);
        assert_int_equal(read(far, (char[1]){0}, 1), 1);
        close(ends[1]);
        limited_poll(far, POLLIN, 1, POLLIN); /* its end */
        close(ends[0]);
        close(far);
        limited_poll(far, POLLIN, 1, POLLNVAL);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void the_soft_limit_is_raised_when_that_suffices(void **unused)
{
    (void)unused;
    struct rlimit now, before = limit_set(64);
    assert_int_equal(weft_os_files_reserve(10, "a small thing"), WEFT_OK);
    getrlimit(RLIMIT_NOFILE, &now);
    assert_int_equal(now.rlim_cur, 64);
    assert_int_equal(weft_os_files_reserve(100, "a large thing"), WEFT_OK);
    getrlimit(RLIMIT_NOFILE, &now);
    assert_int_equal(now.rlim_cur, before.rlim_max);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void a_hard_limit_that_is_too_low_is_named_with_what_is_needed(void **unused)
{
    (void)unused;
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(weft_os_files_reserve((uint32_t)limit.rlim_max, "the join"),
                     WEFT_ERR_RESOURCE);
    const char *text = weft_error_record()->text;
    assert_non_null(strstr(text, "the join needs more open files than RLIMIT_NOFILE allows"));
    assert_non_null(strstr(text, "are needed"));
}

static void a_watch_gives_out_the_tags_of_those_that_are_ready(void **unused)
{
    (void)unused;
    int watch, first, second;
    uint64_t tags[4];
    assert_int_equal(weft_os_watch_open(&watch), WEFT_OK);
    assert_int_equal(weft_os_wake_open(&first), WEFT_OK);
    assert_int_equal(weft_os_wake_open(&second), WEFT_OK);
    assert_int_equal(weft_os_watch_add(watch, first, 7), WEFT_OK);
    assert_int_equal(weft_os_watch_add(watch, second, UINT64_C(9) << 32), WEFT_OK);
    assert_int_equal(weft_os_watch_wait(watch, tags, 4, 0), 0);
    weft_os_wake(second);
    assert_int_equal(weft_os_watch_wait(watch, tags, 4, WEFT_NEVER), 1);
    assert_true(tags[0] == UINT64_C(9) << 32);
    weft_os_wake(first);
    assert_int_equal(weft_os_watch_wait(watch, tags, 4, WEFT_NEVER), 2);
    assert_int_equal(weft_os_watch_wait(watch, tags, 1, WEFT_NEVER), 1);
    weft_os_watch_remove(watch, second);
    assert_int_equal(weft_os_watch_wait(watch, tags, 4, WEFT_NEVER), 1);
    assert_true(tags[0] == 7);
    uint64_t start = weft_os_clock_ns();
    weft_os_wake_clear(first);
    assert_int_equal(weft_os_watch_wait(watch, tags, 4, start + 20 * WEFT_NS_PER_MS), 0);
    assert_true(weft_os_clock_ns() >= start + 20 * WEFT_NS_PER_MS);
    weft_os_close(first);
    weft_os_close(second);
    weft_os_close(watch);
}

static void a_connection_says_where_it_comes_from(void **unused)
{
    (void)unused;
    int listener, fd;
    uint16_t port = 0;
    weft_os_addr_t to = {.family = 4, .bytes = {127, 0, 0, 1}}, own;
    assert_int_equal(weft_os_listen(4, &listener, &port), WEFT_OK);
    to.port = port;
    assert_int_equal(weft_os_connect(&to, &fd), WEFT_OK);
    assert_true(weft_os_own_addr(fd, &own));
    assert_true(own.port != 0 && own.port != port);
    own.port = port;
    assert_memory_equal(&own, &to, sizeof own);
    weft_os_close(fd);
    weft_os_close(listener);
    assert_false(weft_os_own_addr(fd, &own));
}

/* A child that lives until the returned descriptor is closed. */
static pid_t start_child(int *end_p)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(ends[0]);
    *end_p = ends[1];
    return child;
}

static void end_child(pid_t child, int end)
{
    int status = 1;
    close(end);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* A process that ends closes its descriptors, and says nothing before. */
static void a_child_does_not_hold_up_the_end_of_a_control_connection(void **unused)
{
    (void)unused;
    int listener, near, far, end, error;
    uint16_t port = 0;
    char byte;
    weft_os_addr_t addr = {.family = 4, .bytes = {127, 0, 0, 1}};
    assert_int_equal(weft_os_listen(4, &listener, &port), WEFT_OK);
    addr.port = port;
    assert_int_equal(weft_os_connect(&addr, &near), WEFT_OK);
    struct pollfd entry = {.fd = listener, .events = POLLIN};
    assert_int_equal(weft_os_poll(&entry, 1, WEFT_NEVER), 1);
    far = accepted(listener);
    assert_true(far >= 0);
    weft_os_tune_control(near);
    pid_t child = start_child(&end);
    assert_true(weft_os_send(near, "x", 1, &error) == 1); /* this process still has it */
    weft_os_close(near);
    entry = (struct pollfd){.fd = far, .events = POLLIN};
    for (ssize_t got = 1; got != 0;) {
        assert_int_equal(weft_os_poll(&entry, 1, weft_os_clock_ns() + 10 * WEFT_NS_PER_S), 1);
        got = weft_os_recv(far, &byte, 1, &error);
        assert_true(got >= 0);
    }
    end_child(child, end);
    weft_os_close(far);
    weft_os_close(listener);
}

/* While it connects, and shakes hands, it is none yet. */
static void a_child_keeps_nothing_that_connects(void **unused)
{
    (void)unused;
    int listener, fd, status = -1;
    uint16_t port = 0;
    weft_os_addr_t addr = {.family = 4, .bytes = {127, 0, 0, 1}};
    assert_int_equal(weft_os_listen(4, &listener, &port), WEFT_OK);
    addr.port = port;
    assert_int_equal(weft_os_connect(&addr, &fd), WEFT_OK);
    pid_t child = fork();
    if (child == 0) {
        _exit(fcntl(fd, F_GETFD) == -1 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    weft_os_close(fd);
    weft_os_close(listener);
}

/* Numbers are used again, by the program too. */
static void a_child_keeps_what_took_the_number_of_a_closed_connection(void **unused)
{
    (void)unused;
    int status = 1, fd;
    assert_int_equal(weft_os_wake_open(&fd), WEFT_OK);
    weft_os_tune_control(fd);
    weft_os_close(fd);
    int other = dup(STDERR_FILENO);
    assert_int_equal(other, fd);
    pid_t child = fork();
    if (child == 0) {
        _exit(fcntl(other, F_GETFD) >= 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(other);
}

/* As the system does now and then where nobody listens: the end that connects has the same port. */
static void a_socket_is_not_its_own_peer(void **unused)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), listener = -1;
    uint16_t port;
    (void)unused;
    assert_int_equal(bind(fd, (struct sockaddr *)&at, bytes), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &bytes), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, bytes), 0);
    assert_int_equal(weft_os_connect_result(fd), ECONNREFUSED);
    close(fd);
    port = ntohs(at.sin_port); /* is free at once */
    assert_int_equal(weft_os_listen(1, &listener, &port), WEFT_OK);
    close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_socket_is_not_its_own_peer),
        cmocka_unit_test(descriptors_are_waited_for_when_the_limit_is_lowered_below_them),
        cmocka_unit_test(the_soft_limit_is_raised_when_that_suffices),
        cmocka_unit_test(a_hard_limit_that_is_too_low_is_named_with_what_is_needed),
        cmocka_unit_test(a_watch_gives_out_the_tags_of_those_that_are_ready),
        cmocka_unit_test(a_connection_says_where_it_comes_from),
        cmocka_unit_test(a_child_does_not_hold_up_the_end_of_a_control_connection),
        cmocka_unit_test(a_child_keeps_nothing_that_connects),
        cmocka_unit_test(a_child_keeps_what_took_the_number_of_a_closed_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
