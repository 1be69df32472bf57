/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the acceptor of the SDK says of those who did not pass, and how often. */
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "acceptor_fixture.h"
#include "tests/support/unit.h"

static uint32_t count_lines(acceptor_fixture_t *f)
{
    uint32_t lines = 0;
    for (const char *at = f->fake.log; (at = strstr(at, "did not authenticate")) != NULL; at++) {
        lines++;
    }
    return lines;
}

static void rubbish(acceptor_fixture_t *f, uint32_t count)
{
    uint8_t bytes[WEFT_AUTH_HELLO] = "GET / HTTP/1.1";
    for (uint32_t i = 0; i < count; i++) {
        int fd = dial(f);
        assert_int_equal(send(fd, bytes, sizeof bytes, 0), sizeof bytes);
        poll(NULL, 0, 1);
        nobody_passes(f);
        close(fd);
    }
}

static void who_ends_before_the_first_byte_is_no_stranger(void **state)
{
    acceptor_fixture_t *f = *state;
    for (int i = 0; i < 3; i++) {
        close(dial(f));
        poll(NULL, 0, 1);
        nobody_passes(f);
    }
    now_ns += WEFT_ACCEPTOR_LOG_INTERVAL_NS;
    nobody_passes(f);
    assert_int_equal(count_lines(f), 0);
    assert_non_null(strstr(f->fake.log, "closed 2 connections that ended before they said a word"));
}

static void who_ends_after_some_bytes_is_a_stranger(void **state)
{
    acceptor_fixture_t *f = *state;
    int fd = dial(f);
    assert_int_equal(send(fd, "GET", 3, 0), 3);
    close(fd);
    poll(NULL, 0, 1);
    nobody_passes(f);
    assert_int_equal(count_lines(f), 1);
}

static void who_is_late_after_a_good_hello_is_no_stranger(void **state)
{
    acceptor_fixture_t *f = *state;
    weft_handshake_t handshake;
    uint8_t label[WEFT_AUTH_LABEL] = "stopped";
    int fd = dial(f);
    weft_handshake_begin(&f->fake.host, &handshake, label);
    assert_int_equal(weft_handshake_connect(&f->fake.host, &handshake, fd), WEFT_IN_PROGRESS);
    poll(NULL, 0, 1);
    nobody_passes(f);
    now_ns += WEFT_ACCEPTOR_PATIENCE_NS;
    nobody_passes(f);
    assert_int_equal(f->acceptor.pending, 0);
    assert_int_equal(count_lines(f), 0);
    assert_non_null(strstr(f->fake.log, "closed 1 connection that said a good hello and no more"));
    close(fd);
}

static void who_makes_room_is_no_stranger(void **state)
{
    acceptor_fixture_t *f = *state;
    int fds[3];
    f->acceptor.places = 1;
    for (int i = 0; i < 3; i++) {
        fds[i] = dial(f);
        poll(NULL, 0, 1);
        nobody_passes(f);
    }
    now_ns += WEFT_ACCEPTOR_LOG_INTERVAL_NS;
    nobody_passes(f);
    assert_non_null(strstr(f->fake.log, "closed 1 connection that made room for others"));
    assert_int_equal(count_lines(f), 1); /* the last one, which said nothing in its time */
    for (int i = 0; i < 3; i++) {
        close(fds[i]);
    }
}

static void the_log_gets_one_line_per_interval(void **state)
{
    acceptor_fixture_t *f = *state;
    rubbish(f, 10);
    assert_int_equal(count_lines(f), 1);
    now_ns += WEFT_ACCEPTOR_LOG_INTERVAL_NS;
    nobody_passes(f);
    assert_int_equal(count_lines(f), 2);
    assert_non_null(strstr(f->fake.log, "closed 1 connection that did not"));
    assert_non_null(strstr(f->fake.log, "closed 9 connections that did not"));
    now_ns += WEFT_ACCEPTOR_LOG_INTERVAL_NS;
    nobody_passes(f);
    assert_int_equal(count_lines(f), 2);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, acceptor_setup, acceptor_teardown)
    const struct CMUnitTest tests[] = {
        CASE(who_ends_before_the_first_byte_is_no_stranger),
        CASE(who_ends_after_some_bytes_is_a_stranger),
        CASE(who_is_late_after_a_good_hello_is_no_stranger),
        CASE(who_makes_room_is_no_stranger),
        CASE(the_log_gets_one_line_per_interval),
    };
    alarm(50);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
