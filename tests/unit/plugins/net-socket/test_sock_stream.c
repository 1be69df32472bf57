/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit tests of net-socket's data path against hand-made bytes: every field of a header is
 * checked. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ends.h"
#include "sock_op.h"
#include "sock_poll.h"
#include "tests/support/unit.h"

typedef struct fixture {
    instance_t instance;
    weft_net_device_t device;
    weft_net_conn_t *conn;
    int peer;
} fixture_t;

static int set_up(void **state)
{
    fixture_t *f = calloc(1, sizeof *f);
    assert_non_null(f);
    instance_begin(&f->instance);
    device_begin(&f->instance, &f->device);
    f->conn = end_create(&f->device, 1);
    end_join(f->conn, &f->peer);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture_t *f = *state;
    sock_conn_close(f->conn);
    close(f->peer);
    device_end(&f->device);
    instance_end(&f->instance);
    free(f);
    return 0;
}

static void peer_says(fixture_t *f, uint32_t message, uint32_t length, uint64_t offset,
                      uint64_t total)
{
    sock_header_t wire = {htole32(message), htole32(length), htole64(offset), htole64(total)};
    assert_int_equal(send(f->peer, &wire, sizeof wire, MSG_NOSIGNAL), sizeof wire);
}

static void peer_sends(fixture_t *f, const char *bytes)
{
    assert_int_equal(send(f->peer, bytes, strlen(bytes), MSG_NOSIGNAL), strlen(bytes));
}

static uint32_t poll_one(fixture_t *f, weft_net_completion_t *completion)
{
    uint32_t count = 0;
    assert_int_equal(sock_poll(&f->device, completion, 1, &count), WEFT_OK);
    return count;
}

static void chunks_of_one_message_come_in_any_order(void **state)
{
    fixture_t *f = *state;
    char buffer[7] = "......";
    weft_net_completion_t done;
    end_post(f->conn, WEFT_NET_RECV, buffer, 6);
    peer_says(f, 0, 2, 4, 6);
    peer_sends(f, "ef");
    assert_int_equal(poll_one(f, &done), 0);
    peer_says(f, 0, 4, 0, 6);
    peer_sends(f, "ab");
    assert_int_equal(poll_one(f, &done), 0);
    peer_sends(f, "cd");
    assert_int_equal(poll_one(f, &done), 1);
    assert_int_equal(done.status, WEFT_OK);
    assert_int_equal(done.bytes, 6);
    assert_string_equal(buffer, "abcdef");
}

static void header_in_pieces_is_put_together(void **state)
{
    fixture_t *f = *state;
    char buffer[4] = "...";
    weft_net_completion_t done;
    sock_header_t wire = {0, htole32(3), 0, htole64(3)};
    end_post(f->conn, WEFT_NET_RECV, buffer, 3);
    for (size_t i = 0; i < sizeof wire; i++) {
        assert_int_equal(send(f->peer, (const char *)&wire + i, 1, MSG_NOSIGNAL), 1);
        assert_int_equal(poll_one(f, &done), 0);
    }
    peer_sends(f, "xyz");
    assert_int_equal(poll_one(f, &done), 1);
    assert_string_equal(buffer, "xyz");
}

static void bytes_wait_for_their_receive(void **state)
{
    fixture_t *f = *state;
    char first[2] = ".", second[2] = ".";
    weft_net_completion_t done;
    peer_says(f, 1, 1, 0, 1);
    peer_sends(f, "b");
    peer_says(f, 0, 1, 0, 1);
    peer_sends(f, "a");
    end_post(f->conn, WEFT_NET_RECV, first, 1);
    assert_int_equal(poll_one(f, &done), 0);
    end_post(f->conn, WEFT_NET_RECV, second, 1);
    assert_int_equal(poll_one(f, &done), 1);
    assert_ptr_equal(done.context, first);
    assert_int_equal(poll_one(f, &done), 1);
    assert_ptr_equal(done.context, second);
    assert_string_equal(first, "a");
    assert_string_equal(second, "b");
}

static void bad_headers_end_the_connection(void **state)
{
    (void)state;
    static const sock_header_t bad[] = {
        {0, 5, 0, 4},                   /* chunk longer than the message */
        {0, 2, 3, 4},                   /* chunk past the end */
        {0, 4, UINT64_MAX, 4},          /* offset that wraps */
        {0, 0, 0, 4},                   /* nothing of something */
        {0, 4, 0, UINT64_MAX},          /* longer than the room */
        {0, 9, 0, 9},                   /* longer than the room by one */
        {UINT32_MAX, 1, 0, 1},          /* a number of the past */
        {UINT32_MAX / 2 + 99, 1, 0, 1}, /* a number of nowhere */
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        void *inner;
        set_up(&inner);
        fixture_t *f = inner;
        char buffer[9] = "--------";
        weft_net_completion_t done;
        end_post(f->conn, WEFT_NET_RECV, buffer, 8);
        peer_says(f, bad[i].message, bad[i].length, bad[i].offset, bad[i].total);
        peer_sends(f, "01234567");
        assert_int_equal(poll_one(f, &done), 1);
        assert_int_equal(done.status, WEFT_ERR_PROTO);
        assert_string_equal(buffer, "--------");
        assert_true(f->instance.fake.error[0] != '\0');
        tear_down(&inner);
    }
}

static void chunk_that_disagrees_about_the_length_is_refused(void **state)
{
    fixture_t *f = *state;
    char buffer[8];
    weft_net_completion_t done;
    end_post(f->conn, WEFT_NET_RECV, buffer, 8);
    peer_says(f, 0, 1, 0, 4);
    peer_sends(f, "a");
    peer_says(f, 0, 1, 1, 5);
    peer_sends(f, "b");
    assert_int_equal(poll_one(f, &done), 1);
    assert_int_equal(done.status, WEFT_ERR_PROTO);
}

static void more_bytes_than_the_message_has_are_refused(void **state)
{
    fixture_t *f = *state;
    char buffer[8];
    weft_net_completion_t done;
    end_post(f->conn, WEFT_NET_RECV, buffer, 8);
    peer_says(f, 0, 3, 0, 4);
    peer_sends(f, "abc");
    peer_says(f, 0, 2, 2, 4);
    peer_sends(f, "cd");
    assert_int_equal(poll_one(f, &done), 1);
    assert_int_equal(done.status, WEFT_ERR_PROTO);
}

static void message_numbers_wrap(void **state)
{
    fixture_t *f = *state;
    weft_net_completion_t done;
    weft_op_queue_t *queue = &f->conn->ops.recv;
    queue->head = queue->tail = queue->next = UINT32_MAX;
    char first[2] = ".", second[2] = ".";
    end_post(f->conn, WEFT_NET_RECV, first, 1);
    end_post(f->conn, WEFT_NET_RECV, second, 1);
    peer_says(f, UINT32_MAX, 1, 0, 1);
    peer_sends(f, "a");
    peer_says(f, 0, 1, 0, 1);
    peer_sends(f, "b");
    assert_int_equal(poll_one(f, &done), 1);
    assert_int_equal(poll_one(f, &done), 1);
    assert_string_equal(first, "a");
    assert_string_equal(second, "b");
}

static void idle_connection_is_not_read(void **state)
{
    fixture_t *f = *state;
    weft_net_completion_t done;
    peer_says(f, 0, 1, 0, 1);
    peer_sends(f, "a");
    assert_int_equal(poll_one(f, &done), 0);
    assert_int_equal(f->conn->streams[0].stage_end, 0);
}

static bool has_bytes(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

/* Posts one message of `bytes` bytes on a connection of two streams and returns which carries
 * it. */
static uint32_t stream_that_carries(fixture_t *f, uint32_t connector, uint64_t bytes)
{
    static uint8_t buffer[SOCK_SMALL + 1];
    int peer[2];
    weft_net_conn_t *conn = end_create(&f->device, 2);
    conn->info.connector = connector;
    end_join(conn, peer);
    end_post(conn, WEFT_NET_SEND, buffer, bytes);
    bool first = has_bytes(peer[0]), second = has_bytes(peer[1]);
    assert_true(first != second);
    sock_conn_close(conn);
    close(peer[0]);
    close(peer[1]);
    return second;
}

static void large_messages_have_a_stream_of_their_direction(void **state)
{
    fixture_t *f = *state;
    for (uint32_t connector = 0; connector < 2; connector++) {
        assert_int_equal(stream_that_carries(f, connector, SOCK_SMALL), 0);
        assert_int_equal(stream_that_carries(f, connector, SOCK_SMALL + 1), connector);
    }
}

/* A peer that leaves closes both sockets; a loss can hold up what it sent on the first one. */
static void bytes_behind_the_end_of_another_stream_come(void **state)
{
    fixture_t *f = *state;
    weft_net_conn_t *single = f->conn, *conn = end_create(&f->device, 2);
    char buffer[3] = "..";
    int there[2];
    weft_net_completion_t done;
    end_join(conn, there);
    f->conn = conn;
    end_post(f->conn, WEFT_NET_RECV, buffer, 2);
    close(there[1]);
    assert_int_equal(poll_one(f, &done), 0);
    assert_int_equal(sock_conn_check(conn), WEFT_OK);
    usleep(100000);
    assert_int_equal(poll_one(f, &done), 0);
    sock_header_t wire = {0, htole32(2), 0, htole64(2)};
    assert_int_equal(send(there[0], &wire, sizeof wire, MSG_NOSIGNAL), sizeof wire);
    assert_int_equal(send(there[0], "ab", 2, MSG_NOSIGNAL), 2);
    assert_int_equal(poll_one(f, &done), 1);
    assert_int_equal(done.status, WEFT_OK);
    assert_string_equal(buffer, "ab");
    close(there[0]);
    assert_int_equal(sock_conn_check(conn), WEFT_ERR_PEER_DEAD);
    sock_conn_close(conn);
    f->conn = single;
}

/* The simulation found such a connection blamed on the peer. */
static void a_lack_of_memory_is_not_the_peers_fault(void **state)
{
    fixture_t *f = *state;
    assert_int_equal(sock_conn_lost(f->conn, ENOBUFS), WEFT_ERR_RESOURCE);
    assert_int_equal(sock_conn_lost(f->conn, ENOMEM), WEFT_ERR_RESOURCE);
    assert_int_equal(sock_conn_lost(f->conn, ECONNRESET), WEFT_ERR_LINK);
    assert_int_equal(sock_conn_lost(f->conn, EPIPE), WEFT_ERR_PEER_DEAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(chunks_of_one_message_come_in_any_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(header_in_pieces_is_put_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bytes_wait_for_their_receive, set_up, tear_down),
        cmocka_unit_test(bad_headers_end_the_connection),
        cmocka_unit_test_setup_teardown(chunk_that_disagrees_about_the_length_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(more_bytes_than_the_message_has_are_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(message_numbers_wrap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(idle_connection_is_not_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bytes_behind_the_end_of_another_stream_come, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(large_messages_have_a_stream_of_their_direction, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_lack_of_memory_is_not_the_peers_fault, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
