/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit tests of net-socket: TCP waits a second at most before it sends again, and does not give up
 * earlier for it. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sock_backoff.h"
#include "tests/support/unit.h"

#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44
#endif

static int option_of(int fd, int option)
{
    int value = -1;
    socklen_t bytes = sizeof value;
    return getsockopt(fd, IPPROTO_TCP, option, &value, &bytes) == 0 ? value : -1;
}

/* Two connected sockets over the loopback. */
static void connect_pair(int ends[2])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &bytes), 0);
    assert_int_equal(connect(ends[0], (struct sockaddr *)&at, sizeof at), 0);
    ends[1] = accept(listener, NULL, NULL);
    assert_true(ends[1] >= 0);
    close(listener);
}

static void both_ends_wait_a_second_at_most(void **state)
{
    (void)state;
    int ends[2];
    connect_pair(ends);
    const int before = option_of(ends[0], TCP_RTO_MAX_MS);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sock_backoff_limit(ends[i]), before >= 0);
        assert_int_equal(option_of(ends[i], TCP_RTO_MAX_MS), before >= 0 ? SOCK_BACKOFF_MS : -1);
        /* An older system is left as it is. */
        assert_int_equal(option_of(ends[i], TCP_USER_TIMEOUT), before >= 0 ? SOCK_GIVE_UP_MS : 0);
        close(ends[i]);
    }
    if (before < 0) {
        print_message("SKIPPED: this system has no TCP_RTO_MAX_MS (Linux 6.15)\n");
        skip();
    }
}

static void a_socket_without_a_round_trip_is_left_alone(void **state)
{
    (void)state;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_false(sock_backoff_limit(fd));
    assert_int_equal(option_of(fd, TCP_USER_TIMEOUT), 0);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ends_wait_a_second_at_most),
        cmocka_unit_test(a_socket_without_a_round_trip_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
